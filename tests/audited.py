"""Run ``longrank`` commands under an audit hook: ``audited.py POLICY.json``.

The policy names folders that any command may write, addresses that all may connect to, and for each command its
arguments and the files and folders that it may read. Anything else that Python opens, changes, connects to or starts
ends the process with exit code 99 and a line that names it.
"""

from __future__ import annotations

import json
import os
import re
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGES = ("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.chmod", "os.chown", "os.link", "os.symlink")
_STARTS = ("subprocess.Popen", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system")
_NETWORK = ("socket.connect", "socket.bind", "socket.sendto", "socket.getaddrinfo", "socket.gethostbyname")
_SYSTEM = ("/proc", "/sys", "/dev/null", "/dev/urandom", "/usr", "/lib", "/lib64", "/etc", "/opt")


def _real(path: Any) -> str:
    return os.path.realpath(os.fsdecode(path))


class Watch:
    """The hook; `reads` may be changed between commands.

    Args:
        writes: files and folders that may be written, and read.
        package: folder of the package; it and its folders may hold compiled code, Numba's too.
        connects: ``HOST:PORT`` that may be connected to.
    """

    def __init__(self, writes: list[str], package: str, connects: Sequence[str] = ()) -> None:
        own = {sys.prefix, sys.base_prefix, *sysconfig.get_paths().values(), *filter(None, sys.path), package}
        self._connects = set(connects)
        self._writes = [_real(place) for place in writes]
        self._system = [*map(_real, own), *_SYSTEM, *self._writes]
        self._compiled = re.compile(rf"{re.escape(_real(package))}/(.*/)?__pycache__(/|$)")
        self.reads: list[str] = []
        sys.addaudithook(self._hook)

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            self._opened(*arguments)
        elif event in _CHANGES:
            both = event in {"os.rename", "os.link"}
            for path in arguments[: 2 if both else 1]:
                if isinstance(path, str | bytes | os.PathLike) and not self._may_write(_real(path)):
                    _refuse(f"{event} {_real(path)}")
        elif event.startswith((*_NETWORK, *_STARTS)) and not self._may_connect(event, arguments):
            _refuse(f"{event} {arguments[:2]!r}")

    def _may_connect(self, event: str, arguments: tuple[Any, ...]) -> bool:
        if event == "socket.bind" and self._connects:
            return arguments[1][:2] == ("::1", 0)  # urllib3 tries IPv6 when it is imported
        return event == "socket.connect" and ":".join(map(str, arguments[1][:2])) in self._connects

    def _opened(self, path: Any, mode: Any, flags: int) -> None:
        if isinstance(path, int) or path is None:
            return
        place = _real(path)
        if (flags & _WRITES or (isinstance(mode, str) and set(mode) & set("wax+"))) and not self._may_write(place):
            _refuse(f"writes {place}")
        if not _inside(place, [*self._system, *self.reads]) and not Path(place).is_dir():
            _refuse(f"reads {place}")

    def _may_write(self, place: str) -> bool:
        return _inside(place, [*self._writes, "/dev/null"]) or self._compiled.match(place) is not None


def _inside(path: str, places: list[str]) -> bool:
    return any(path == place or path.startswith(place.rstrip("/") + "/") for place in places)


def _refuse(what: str) -> None:
    os.write(2, f"audit: {what}\n".encode())
    os._exit(99)


def _run(path: Path) -> int:
    policy = json.loads(path.read_text(encoding="utf-8"))
    sys.modules["matplotlib"] = None  # type: ignore[assignment]  # it starts fc-list once to find fonts
    watch = Watch(policy["writes"], policy["package"], policy["connects"])
    from longrank.cli.main import main

    for command in policy["commands"]:
        watch.reads = [_real(place) for place in command["reads"]]
        if code := main(command["arguments"]):
            return code
    return 0


if __name__ == "__main__":
    sys.exit(_run(Path(sys.argv[1])))
