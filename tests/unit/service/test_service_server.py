"""Start and shutdown of a server process."""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="needs the extra serve")

from http_server import Client, Running, application, request, running
from longrank.errors import InputError
from longrank.service.listening import bind, check_exposure, url_of
from longrank.service.server import _Server
from longrank.service.settings import ServiceSettings
from longrank.service.transport import Transport
from served import asked, head


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path, drain=60.0) as one:
        yield one


def ranking(until: Path) -> bytes:
    """Return a request that the server answers once the file `until` is there."""
    return request("POST", "/rerank", "Content-Type: application/json", f"X-Until: {until}", body=b"{}")


def wait_until_read(server: Running) -> None:
    """Wait until the server has read what was sent before: it reads in turn, and answers this request later."""
    assert server.get("/health").status == 200


def clients_in_flight(server: Running, stack: ExitStack, n: int, until: Path) -> list[Client]:
    """Connect, ask, and wait until the server works on all of them."""
    clients = [stack.enter_context(server.client()) for _ in range(n)]
    for client in clients:
        assert client.get("/health").status == 200  # the connection is taken
        client.send(ranking(until))
    wait_until_read(server)
    return clients


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_with_20_in_flight_loses_none_and_the_exit_code_is_0(
    server: Running, number: int, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        idle = stack.enter_context(server.client())
        assert idle.get("/health").status == 200
        clients = clients_in_flight(server, stack, 20, tmp_path / "go")
        server.stop(number)
        assert idle.is_closed()
        (tmp_path / "go").touch()
        answers = [client.answer() for client in clients]
        assert [answer.status for answer in answers] == [200] * 20
        assert all(client.is_closed() for client in clients)
        assert server.process.wait(60) == 0


def test_after_a_signal_nobody_new_is_taken_and_what_is_in_flight_goes_on(server: Running, tmp_path: Path) -> None:
    with ExitStack() as stack:
        idle = stack.enter_context(server.client())
        assert idle.get("/health").status == 200
        (busy,) = clients_in_flight(server, stack, 1, tmp_path / "go")
        server.stop()
        server.wait_until_refusing()
        assert idle.is_closed()
        assert server.process.poll() is None
        (tmp_path / "go").touch()
        assert busy.answer().status == 200
        assert server.process.wait(60) == 0


def test_a_body_that_is_on_its_way_when_the_signal_comes_is_read_and_answered(server: Running) -> None:
    with server.client() as client:
        client.send(request("POST", "/rerank", "Content-Type: application/json", "Content-Length: 4", body=b"{}"))
        wait_until_read(server)
        server.stop()
        server.wait_until_refusing()
        client.send(b"  ")
        assert client.answer().json["bytes"] == 4
        assert server.process.wait(60) == 0


def test_from_the_signal_on_ready_is_503_until_connections_are_closed(server: Running, tmp_path: Path) -> None:
    with ExitStack() as stack:
        clients_in_flight(server, stack, 1, tmp_path / "go")
        clients = [stack.enter_context(server.client()) for _ in range(5)]
        assert [client.get("/ready").status for client in clients] == [200] * 5
        server.stop()
        with suppress(EOFError, ConnectionError):
            while clients[0].get("/ready").status == 200:
                time.sleep(0.001)
        for client in clients[1:]:
            with suppress(EOFError, ConnectionError):
                assert client.get("/ready").status == 503
        (tmp_path / "go").touch()
    assert server.process.wait(60) == 0


def test_a_server_that_stops_says_that_it_is_not_ready() -> None:
    app = Transport(application(), ServiceSettings())

    async def ready() -> tuple[int, Any]:
        reply = await asked(app, head("GET", "/ready", None, {}), None, 0.0)
        return reply.status, reply.json.get("code")

    assert asyncio.run(ready())[0] == 200
    app.stop()
    assert asyncio.run(ready()) == (503, "stopping")


def test_an_end_that_waits_for_connections_is_given_up_at_a_second_signal() -> None:
    """uvicorn waits for them with Python 3.12 and later, whatever signal comes."""

    async def ended(forced: bool) -> list[str]:
        server, heard = _Server.__new__(_Server), list[str]()
        server.force_exit = False

        async def ending() -> None:
            try:
                await asyncio.sleep(3600 if forced else 0)
                heard.append("ended")
            except asyncio.CancelledError:
                heard.append("cancelled")
                raise

        asyncio.get_running_loop().call_later(0.2, setattr, server, "force_exit", forced)
        await asyncio.wait_for(server._until_forced(ending()), 60)
        return heard

    assert [asyncio.run(ended(forced)) for forced in (True, False)] == [["cancelled"], ["ended"]]


def test_a_second_signal_ends_what_is_in_flight_with_503(tmp_path: Path) -> None:
    with running(tmp_path, drain=3600.0) as server, ExitStack() as stack:
        clients = clients_in_flight(server, stack, 5, tmp_path / "never")
        server.stop()
        server.wait_until_refusing()
        server.stop()
        answers = [client.answer() for client in clients]
        assert [(answer.status, answer.json["code"]) for answer in answers] == [(503, "stopping")] * 5
        assert all(answer.headers["retry-after"] == "1" for answer in answers)
        assert server.process.wait(60) == 1


def test_after_the_time_to_drain_what_is_in_flight_is_ended_with_503(tmp_path: Path) -> None:
    with running(tmp_path, drain=0.5) as server, ExitStack() as stack:
        (client,) = clients_in_flight(server, stack, 1, tmp_path / "never")
        server.stop()
        assert (client.answer().status, server.process.wait(60)) == (503, 1)


def test_half_open_heads_do_not_delay_the_end(server: Running) -> None:
    with server.client() as client:
        client.send(b"GET /health HT")
        wait_until_read(server)
        server.stop()
        assert server.process.wait(60) == 0


def test_a_large_answer_is_sent_to_its_end_after_the_signal(server: Running) -> None:
    with server.client() as client:
        client.send(request("GET", "/large"))
        assert client.socket.recv(1, socket.MSG_PEEK)
        server.stop()
        server.wait_until_refusing()
        assert len(client.answer().body) == 8_000_000
    assert server.process.wait(60) == 0


START = """
import sys, time
from http_server import application
from longrank.errors import InputError
from longrank.service.server import serve
from longrank.service.settings import ServiceSettings
from longrank.service.transport import Transport

def load():
    time.sleep({seconds})
    if {fails}:
        raise InputError("this model is none")

settings = ServiceSettings(port={port})
try:
    code = serve(Transport(application(), settings), settings, load=load, say=lambda line: print(line, flush=True))
except InputError as error:
    print(f"failed: {{error}}", flush=True)
    code = 2
sys.exit(code)
"""


def start(tmp_path: Path, *, seconds: float = 0.0, fails: bool = False, port: int = 0) -> tuple[str, ...]:
    script = tmp_path / "start.py"
    folder = Path(__file__).parents[2]
    script.write_text(f"import sys\nsys.path.insert(0, {str(folder)!r})\n" + START.format(**locals()))
    return (sys.executable, str(script))


def test_health_answers_while_models_load_and_ready_is_said_after(tmp_path: Path) -> None:
    with running(tmp_path, *start(tmp_path, seconds=1.0)) as server:
        assert server.get("/health").status == 200
        assert server.process.stdout is not None
        assert server.process.stdout.readline() == "ready\n"


def test_a_signal_ends_the_server_while_models_load(tmp_path: Path) -> None:
    with running(tmp_path, *start(tmp_path, seconds=60.0)) as server:
        server.stop()
        assert server.process.wait(60) == 0


def test_a_model_that_cannot_be_loaded_ends_the_server_with_its_error(tmp_path: Path) -> None:
    with running(tmp_path, *start(tmp_path, fails=True)) as server:
        assert server.process.wait(60) == 2
        assert server.process.stdout is not None
        assert server.process.stdout.read() == "failed: this model is none\n"


def test_a_port_in_use_is_one_line(server: Running, tmp_path: Path) -> None:
    command = start(tmp_path, port=server.port)
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    line = f"failed: cannot listen: Address already in use (got '127.0.0.1:{server.port}'); see --host and --port\n"
    assert (done.returncode, done.stdout) == (2, line)


@pytest.mark.parametrize("host", ["203.0.113.7", "no-such-host.invalid", "\x00", "a" * 70 + ".example"])
def test_an_address_that_is_not_here_is_a_mistake_of_the_user(host: str) -> None:
    with pytest.raises(InputError):
        bind(ServiceSettings(host=host, port=0))


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "localhost"])
def test_this_machine_alone_needs_no_key(host: str) -> None:
    check_exposure(ServiceSettings(host=host), insecure=False)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "203.0.113.7"])
def test_other_machines_need_a_key_or_the_users_word(host: str) -> None:
    with pytest.raises(InputError, match="LONGRANK_API_KEY"):
        check_exposure(ServiceSettings(host=host), insecure=False)
    check_exposure(ServiceSettings(host=host), insecure=True)
    check_exposure(ServiceSettings(host=host, key="k"), insecure=False)


def test_the_url_has_the_port_that_was_given_and_brackets_around_an_ipv6_address() -> None:
    with bind(ServiceSettings(port=0)) as listener:
        assert url_of(listener) == f"http://127.0.0.1:{listener.getsockname()[1]}"
    if socket.has_ipv6:
        try:
            listener = bind(ServiceSettings(host="::1", port=0))
        except InputError:
            pytest.skip("no IPv6 here")
        with listener:
            assert url_of(listener).startswith("http://[::1]:")


def test_answers_are_sent_without_the_delays_of_nagle_s_algorithm() -> None:
    """asyncio sets TCP_NODELAY on connections whose protocol is known to be TCP, which they have of the listener."""
    with bind(ServiceSettings(port=0)) as listener, socket.create_connection(listener.getsockname()):
        listener.setblocking(True)
        connection, _ = listener.accept()
        with connection:
            assert connection.proto == socket.IPPROTO_TCP


def test_nobody_waits_for_another(server: Running, tmp_path: Path) -> None:
    with server.client() as slow:
        slow.send(ranking(tmp_path / "never"))
        assert server.get("/health").status == 200
