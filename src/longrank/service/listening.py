"""Bind the server's socket, and check that it is safe to."""

from __future__ import annotations

import resource
import socket
from contextlib import suppress
from ipaddress import ip_address
from typing import Any, TypeAlias

from longrank.errors import InputError
from longrank.service.settings import ServiceSettings

_BACKLOG = 2048
_OTHER_FILES = 256  # index, models, log

_Address: TypeAlias = tuple[socket.AddressFamily, int, Any]  # family, protocol, address


def check_exposure(settings: ServiceSettings, *, insecure: bool) -> None:
    """Refuse to listen to other machines without a key.

    Raises:
        InputError: the address is not a loopback address, there is no key and not `insecure`; or the address is
            unknown.
    """
    address = _address(settings)[2][0]
    if settings.key is None and not insecure and not ip_address(address.partition("%")[0]).is_loopback:
        fix = "set LONGRANK_API_KEY, or add --insecure"
        raise InputError("without a key, other machines could use the server", got=settings.host, fix=fix)


def bind(settings: ServiceSettings) -> socket.socket:
    """Return a listening socket.

    Raises:
        InputError: the address is in use, belongs to another machine, or is not allowed.
    """
    family, protocol, address = _address(settings)
    # asyncio sets TCP_NODELAY only on sockets whose protocol is known to be TCP.
    listener = socket.socket(family, socket.SOCK_STREAM, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        where = f"{settings.host}:{settings.port}"
        raise InputError(f"cannot listen: {error.strerror}", got=where, fix="see --host and --port") from None
    listener.setblocking(False)
    return listener


def url_of(listener: socket.socket) -> str:
    """Return the URL of the server."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def allow_open_files(max_connections: int) -> None:
    """Raise this process's limit of open files as far as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = max_connections + _OTHER_FILES
    if hard != resource.RLIM_INFINITY:
        needed = min(needed, hard)
    if soft != resource.RLIM_INFINITY and soft < needed:
        with suppress(OSError, ValueError):  # a sandbox may forbid the call; macOS allows less than its limit says
            resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def _address(settings: ServiceSettings) -> _Address:
    """Return the address of the host's name; IPv4 addresses are preferred."""
    try:
        addresses = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        raise InputError("unknown host", got=settings.host, fix="see --host") from None
    family, _, protocol, _, address = min(addresses, key=lambda entry: entry[0] != socket.AF_INET)
    return family, protocol, address
