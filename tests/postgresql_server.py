"""A private PostgreSQL server for tests: a new cluster, run by a user without rights, reached by a socket."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

PASSWORD = "s3cret%word"


def _programs() -> Path | None:
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    found = shutil.which("initdb")
    folders += [Path(found).resolve().parent] if found else []
    return next((folder for folder in reversed(folders) if (folder / "pg_ctl").exists()), None)


def _user() -> str | None:
    """Return the user of the server: root may not run it."""
    names = {entry.pw_name for entry in pwd.getpwall()}
    return None if os.getuid() else next(name for name in ("postgres", "nobody") if name in names)


@contextmanager
def running() -> Iterator[str]:
    """Yield the address of a running server, without a password: ``postgresql://tester@/postgres?host=FOLDER``."""
    programs = _programs()
    if programs is None:
        pytest.skip("needs the programs of a PostgreSQL server (apt-get install postgresql)")
    user = _user()
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))
    (folder / "password").write_text(PASSWORD)
    if user:
        for path in (folder, folder / "password"):
            shutil.chown(path, user)

    def run(*command: str) -> None:
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "C"}
        subprocess.run(command, user=user, env=environment, cwd=folder, check=True, stdout=subprocess.DEVNULL)

    data, options = folder / "data", f"-k {folder} -c listen_addresses= -c fsync=off"
    control = (str(programs / "pg_ctl"), "-D", str(data), "-s", "-w")
    try:
        initdb = (str(programs / "initdb"), "-D", str(data), "-U", "tester", "-E", "UTF8", "--no-sync")
        run(*initdb, "--auth=scram-sha-256", f"--pwfile={folder / 'password'}")
        run(*control, "-l", str(folder / "log"), "-o", options, "start")
        try:
            yield f"postgresql://tester@/postgres?host={folder}"
        finally:
            run(*control, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder)
