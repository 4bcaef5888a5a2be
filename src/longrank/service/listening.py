"""The socket that a server listens on, and whether it is safe to."""

from __future__ import annotations

import resource
import socket
from contextlib import suppress
from ipaddress import ip_address
from typing import Any, TypeAlias

from longrank.errors import InputError
from longrank.service.settings import ServiceSettings

_BACKLOG = 2048
_OTHER_FILES = 256  # beside connections: the index, models, the log

_Address: TypeAlias = tuple[socket.AddressFamily, int, Any]  # family, protocol, where


def check_exposure(settings: ServiceSettings, *, insecure: bool) -> None:
    """Refuse to be reached from other machines by whoever likes.

    Raises:
        InputError: the address is no loopback address, there is no key, and nobody said `insecure`; or there is no
            such address.
    """
    address = _address(settings)[2][0]
    if settings.key is None and not insecure and not ip_address(address.partition("%")[0]).is_loopback:
        fix = "set LONGRANK_API_KEY, or say --insecure"
        raise InputError("without a key, other machines could use the server", got=settings.host, fix=fix)


def bind(settings: ServiceSettings) -> socket.socket:
    """Return a socket that listens.

    Raises:
        InputError: the address is in use, not this machine's, or not allowed.
    """
    family, protocol, address = _address(settings)
    # The protocol must be said: asyncio switches Nagle's delays off only where it knows that a socket is TCP's.
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
    """Return where clients find the server."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def allow_open_files(max_connections: int) -> None:
    """Let this process open as many files as it needs, as far as the system lets it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = max_connections + _OTHER_FILES
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError):  # a sandbox may forbid the call
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _address(settings: ServiceSettings) -> _Address:
    """Return the address of the host's name; an IPv4 one, if there are several."""
    try:
        found = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        raise InputError("no address is known of this host", got=settings.host, fix="see --host") from None
    found.sort(key=lambda one: one[0] != socket.AF_INET)
    return found[0][0], found[0][2], found[0][4]
