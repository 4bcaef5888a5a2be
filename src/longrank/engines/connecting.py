"""Connect to a Ray cluster, or start one on this machine; whatever Ray raises then is one line."""

from __future__ import annotations

import logging
import re
import socket
from contextlib import suppress
from typing import Any

from longrank.errors import InputError, MissingExtra

_OBJECT_STORE = 1 << 30  # bytes, for a cluster of this machine alone; a few blocks for each actor are in it
_AS_THE_COMMAND = {"worker_niceness": 0}  # Ray adds 15: beside other work, actors would hardly get a core
_SECONDS_TO_ANSWER = 20.0  # of a cluster at an address; Ray alone would try for minutes
_MAX_LINE = 200  # characters of Ray's messages, of which some are pages
_HOST_AND_PORT = re.compile(r"\[?([^/\[\]]+)\]?:(\d{1,5})")
_VERSIONS = re.compile(r"^\s*(Ray|Python): (\S+)$", re.MULTILINE)


def imported() -> Any:
    """Return ray.

    Raises:
        MissingExtra: it is not installed.
    """
    try:
        import ray
    except ImportError:
        raise MissingExtra("--engine ray", "ray") from None
    return ray


def connect(ray: Any, address: str, n_cpus: float) -> None:
    """Connect to a cluster, or start a cluster of this machine, which ends with this process.

    Args:
        ray: the package.
        address: the cluster; "": a cluster of this machine.
        n_cpus: CPUs of a cluster of this machine.

    Raises:
        InputError: neither is possible; names the cause.
    """
    logging.getLogger("ray").setLevel(logging.ERROR)
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "error"}
    if address:
        _check_answers(address)
        options["address"] = address
    else:
        options |= {"address": "local", "num_cpus": int(n_cpus), "include_dashboard": False}
        options |= {"object_store_memory": _OBJECT_STORE, "_system_config": _AS_THE_COMMAND}
    try:
        ray.init(**options)
    except Exception as error:  # Ray raises bare exceptions, too, for example where a busy machine is too slow for it
        with suppress(Exception):
            ray.shutdown()  # ends what has started
        raise _refused(address, _cause(error)) from error


def _check_answers(address: str) -> None:
    """Ask for a connection to ``HOST:PORT``; other addresses are Ray's to judge.

    Raises:
        InputError: nobody listens there.
    """
    match = _HOST_AND_PORT.fullmatch(address)
    if match is None:
        return
    try:
        socket.create_connection((match[1], int(match[2])), timeout=_SECONDS_TO_ANSWER).close()
    except (OSError, OverflowError, ValueError) as error:  # ValueError: no name of a host
        cause = getattr(error, "strerror", None) or line_of(error)
        raise _refused(address, f"nobody answers there: {cause}") from error


def _refused(address: str, cause: str) -> InputError:
    if address:
        fix = "`ray status` must work here; docs/scale.md tells how to start a cluster"
        return InputError(f"cannot connect to a Ray cluster: {cause}", got=address, fix=fix)
    fix = "run the same again when this machine is less busy, or take --engine local --workers N"
    return InputError(f"cannot start a Ray cluster on this machine: {cause}", fix=fix)


def _cause(error: Exception) -> str:
    """Return the cause in a line."""
    versions = [f"{name} {version}" for name, version in _VERSIONS.findall(str(error))]
    if len(versions) == 4:
        return f"it has {' and '.join(versions[:2])}, this process {' and '.join(versions[2:])}"
    return line_of(error)


def line_of(error: Exception) -> str:
    """Return the last line of a message, which names the cause; at most 200 characters."""
    line = (str(error).strip() or type(error).__name__).splitlines()[-1].strip()
    return line if len(line) <= _MAX_LINE else f"{line[:_MAX_LINE]}..."
