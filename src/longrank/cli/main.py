"""``longrank``: find and run a command; turn errors into one line and an exit code.

0 done; 1 failed at run time; 2 bad input or usage; 3 a damaged file; 130/143 interrupted.
"""

from __future__ import annotations

import errno
import re
import signal
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from importlib import import_module
from types import FrameType
from typing import Annotated, Any

import typer

from longrank.cli import console
from longrank.cli.completion import is_completing, typed_command
from longrank.cli.listing import ByTask, summaries
from longrank.cli.repeated import LastCounts
from longrank.errors import InputError, LongRankError, first_line, printable
from longrank.registries import suggestion
from longrank.storage.cache import use_cache_folder
from longrank.storage.transfers import use_progress

COMMANDS = {
    "demo": "longrank.cli.demo:demo",
    "doctor": "longrank.cli.doctor:doctor",
    "cache": "longrank.cli.doctor:cache",
    "index": "longrank.cli.index:index",
    "sync": "longrank.cli.sync:sync",
    "check": "longrank.cli.check:check",
    "expand": "longrank.cli.expand:expand",
    "pipelines": "longrank.cli.pipelines:pipelines",
    "search": "longrank.cli.search:search",
    "retrieve": "longrank.cli.retrieve:retrieve",
    "rerank": "longrank.cli.rerank:rerank",
    "compare": "longrank.cli.compare:compare",
    "aggregate": "longrank.cli.aggregate:aggregate",
    "calibrate": "longrank.cli.calibrate:calibrate",
    "fuse": "longrank.cli.fuse:fuse",
    "evaluate": "longrank.cli.evaluate:evaluate",
    "tune": "longrank.cli.tune:tune",
    "weigh": "longrank.cli.weigh:weigh",
    "create": "longrank.cli.create:create",
    "convert": "longrank.cli.convert:convert",
    "quantize": "longrank.cli.quantize:quantize",
    "train": "longrank.cli.train:train",
    "train-passages": "longrank.cli.train:train_passages",
    "publish": "longrank.cli.publish:publish",
    "rows": "longrank.cli.rows:rows",
    "weak-labels": "longrank.cli.weak_labels:weak_labels",
    "serve": "longrank.cli.serve:serve",
    "mcp": "longrank.cli.mcp:mcp",
    "bench": "longrank.cli.bench:bench",
    "analyze": "longrank.cli.analyze:analyze",
    "reproduce": "longrank.cli.reproduce:reproduce",
}
"""name -> "module:function"; imported when needed. `longrank.cli.listing.TASKS` groups them on the help page."""


_FIRST_SPEAKS = 10.0
"""Seconds that all but the first process of torchrun wait before they report wrong input: the first reports it for all,
and torchrun then ends the others. A process that outlives the wait met a fault of its own."""

_FAULTS_OF_NAMES = {errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EACCES, errno.ENAMETOOLONG, errno.ELOOP}


def _version(value: bool) -> None:
    if value:
        from importlib.metadata import version

        typer.echo(f"longrank {version('longrank')}")
        raise typer.Exit


def _group(
    debug: Annotated[bool, typer.Option("--debug", help="Show the Python traceback of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and stop.")
    ] = False,
) -> None:
    """Rank long documents by the passages that make them relevant, and show those passages.

    A first try: longrank demo
    """
    console.set_debug(debug)


def build_app(names: Sequence[str]) -> typer.Typer:
    """Return the application with the named commands only: one command loads one module."""
    app = _empty_app()
    for name in names:
        module, _, function = COMMANDS[name].partition(":")
        command = getattr(import_module(module), function)
        if isinstance(command, typer.Typer):
            for info in command.registered_commands:
                info.cls = LastCounts
            app.add_typer(command, name=name)
        else:
            app.command(name, cls=LastCounts)(command)
    return app


def _listing_app() -> typer.Typer:
    """Return the application for its own help page: all commands by name and summary, none of them imported."""
    app = _empty_app()
    for name, summary in summaries(COMMANDS).items():
        app.command(name, help=summary)(_not_to_be_called)
    return app


def _not_to_be_called() -> None:
    raise AssertionError


def _empty_app() -> typer.Typer:
    app = typer.Typer(
        name="longrank",
        cls=ByTask,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_group)
    return app


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code. A user's mistake never raises."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    console.set_debug("--debug" in arguments)
    arguments = [a for a in arguments if a != "--debug"]  # wherever it stands
    command = typed_command(COMMANDS) if is_completing() else next((a for a in arguments if a[:1] != "-"), None)
    if command is not None and command not in COMMANDS:
        return _fail(f"unknown command '{printable(command)}'; {suggestion(command, COMMANDS)}", 2)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _terminated)
    use_cache_folder(console.cache_folder())
    use_progress(console.progress)
    app = None
    try:
        app = build_app([command]) if command else _listing_app()
        result = app(args=arguments or ["--help"], standalone_mode=False, prog_name="longrank")
        if result == 130:  # the parser swallows the interrupt
            raise KeyboardInterrupt
        return result if isinstance(result, int) else 0
    except Exception as error:  # all errors end here
        return _report(error, app, arguments)
    except KeyboardInterrupt:
        afresh = " (it starts afresh)" if command == "index" else ""
        return _fail(f"interrupted; run the same command to go on{afresh}", 130)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 1
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # of a library in Rust, such as tokenizers
            raise
        return _report(RuntimeError(first_line(error)), app, arguments)


def _terminated(signum: int, frame: FrameType | None) -> None:
    raise SystemExit(143)


def _report(error: Exception, app: typer.Typer | None, arguments: Sequence[str]) -> int:
    if console.debug():
        traceback.print_exception(error)
    if isinstance(error, LongRankError):
        return _fail(str(_with_options(error, app, arguments)), error.exit_code)
    if hasattr(error, "format_message") and hasattr(error, "exit_code"):  # a usage error of the parser
        page = " ".join(["longrank", *_subcommands(getattr(error, "ctx", None))])
        return _fail(f"{error.format_message().rstrip('.')}; see {page} --help", int(error.exit_code))
    if type(error).__name__ in ("Abort", "BrokenPipeError"):
        return 1
    if isinstance(error, OSError) and error.strerror:
        place = f"{error.filename}: " if isinstance(error.filename, str) else ""
        return _fail(f"{place}{error.strerror}", 2 if error.errno in _FAULTS_OF_NAMES else 1)
    return _fail(f"{type(error).__name__}: {error} (--debug shows where)", 1)


def _with_options(error: Exception, app: typer.Typer | None, arguments: Sequence[str]) -> Exception:
    """Name the options of the command where a message names keywords of Python: ``choose_by`` is ``--choose-by``."""
    if app is None or not isinstance(error, InputError):
        return error
    command: Any = typer.main.get_command(app)
    for word in arguments:
        command = getattr(command, "commands", {}).get(word, command)
    options: dict[str, str] = {}
    for parameter in command.params:
        option = max(parameter.opts, key=len)
        options[option.strip("-").replace("-", "_")] = options[parameter.name] = option
    what, fix = (
        re.sub(r"`(\w+)`", lambda match: options.get(match[1], match[1]), text or "")
        for text in (error.what, error.fix)
    )
    return InputError(what, path=error.path, line=error.line, got=error.got, fix=fix or None)


def _subcommands(context: Any) -> list[str]:
    """Return the names of command and subcommand."""
    return [*_subcommands(context.parent), context.info_name] if context and context.parent else []


def _fail(message: str, code: int) -> int:
    if code == 2 and not console.is_first():
        time.sleep(_FIRST_SPEAKS)
    print(f"longrank: error: {printable(message)[:2000]}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
