"""Fuzz readers with atheris, guided by coverage: ``make fuzz``.

    PYTHONPATH=tests python -m fuzz --seconds 60 [READER]... [--folder work/fuzz]

Each reader runs in a process of its own. Its corpus grows in the folder, and a file that lets another error escape is
kept there as ``crash-*``: add it to the tests of the reader, and mend the reader. PDF and office parsers run in a child
process, whose code is not seen, so their files are changed blindly.
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
from pathlib import Path


def fuzz(name: str, folder: Path, seconds: int) -> None:
    """Fuzz one reader in this process, which atheris ends."""
    import atheris

    with atheris.instrument_imports(include=["longrank"], exclude=compiled_modules()):
        from fuzz.targets import DECLARED, TARGETS, file_name
        from longrank.types import Notes
    from fuzz.seeds import seed

    corpus, read, path = folder / "corpus", TARGETS[name], folder / file_name(name)
    corpus.mkdir(parents=True, exist_ok=True)
    (corpus / "seed").write_bytes(seed("queries: tsv" if name == "queries" else name, folder))

    def one(content: bytes) -> None:
        path.write_bytes(content)
        with contextlib.suppress(*DECLARED):
            read(path, Notes())

    one((corpus / "seed").read_bytes())  # compiles what reads an index, before the clock of an execution starts

    options = [
        f"-max_total_time={seconds}",
        "-timeout=30",
        "-rss_limit_mb=2048",
        "-max_len=4096",
        "-verbosity=0",
        "-print_final_stats=1",
    ]
    atheris.Setup([sys.argv[0], *options, f"-artifact_prefix={folder}/", str(corpus)], one)
    atheris.Fuzz()


def compiled_modules() -> list[str]:
    """Return the modules with functions that Numba compiles, which it cannot if they are instrumented."""
    root = Path(__file__).parents[2] / "src"
    names = (path for path in root.rglob("*.py") if "longrank.index.compiling import" in path.read_text())
    return [".".join(path.relative_to(root).with_suffix("").parts) for path in names]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("readers", nargs="*", metavar="READER", help="names of tests/fuzz/targets.py; default: all")
    parser.add_argument("--seconds", type=int, default=60, help="for each reader")
    parser.add_argument("--folder", type=Path, default=Path("work/fuzz"))
    parser.add_argument("--here", action="store_true", help="fuzz the one reader in this process")
    args = parser.parse_args()
    if args.here:  # before anything imports the readers, which are to be instrumented
        fuzz(args.readers[0], args.folder, args.seconds)
    sys.exit(fuzz_each(args.readers, args.folder, args.seconds))


def fuzz_each(readers: list[str], folder: Path, seconds: int) -> str | int:
    """Fuzz readers one after the other; return an exit status that names those that failed."""
    from fuzz.targets import TARGETS

    if unknown := set(readers) - TARGETS.keys():
        return f"unknown readers: {', '.join(sorted(unknown))}; known: {', '.join(TARGETS)}"
    failed = []
    for name in readers or TARGETS:
        own = folder / name.replace(" ", "-").replace(":", "")
        command = [sys.executable, "-m", "fuzz", "--here", name, "--seconds", str(seconds), "--folder", str(own)]
        code = subprocess.run(command, check=False).returncode
        print(f"{name}: {'ok' if code == 0 else f'FAILED, see {own}'}", flush=True)
        failed += [name] * (code != 0)
    return f"failed: {', '.join(failed)}" if failed else 0


if __name__ == "__main__":
    main()
