"""An index at gs:// and az:// is the index in a folder; servers of these interfaces stand in for Google and Azure."""

from __future__ import annotations

import os
import random
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import longrank
from longrank.errors import InputError
from longrank.formats.trec import write_run
from longrank.index import Index
from longrank.storage.cache import cache_folder
from longrank.verbs.check import check

WORDS = [f"w{n}" for n in range(40)]
AZURITE = shutil.which(os.environ.get("AZURITE", "azurite-blob"))
# The account and key that every Azurite has; they are published with it and open nothing else.
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
pytestmark = [
    pytest.mark.usefixtures("own_cache"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning"),
]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


@pytest.fixture
def google(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A bucket of a server with the interface of Google Cloud Storage."""
    gcsfs = pytest.importorskip("gcsfs", reason="needs gcsfs (make test-object-stores)")
    emulator = pytest.importorskip("gcp_storage_emulator.server", reason="needs gcp-storage-emulator")
    port = free_port()
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", f"http://127.0.0.1:{port}")
    monkeypatch.setenv("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")  # it would ask Google for the kind of bucket
    server = emulator.create_server("127.0.0.1", port, in_memory=True, default_bucket="bucket")
    server.start()
    gcsfs.GCSFileSystem.clear_instance_cache()
    yield "gs://bucket"
    server.stop()


@pytest.fixture
def azure(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A container of Azurite, the Azure project's own server for tests."""
    adlfs = pytest.importorskip("adlfs", reason="needs adlfs (make test-object-stores)")
    from azure.storage.blob import BlobServiceClient

    if AZURITE is None:
        pytest.skip("needs Azurite (npm install -g azurite, or its azurite-blob in AZURITE)")
    port = free_port()
    options = [
        "--blobPort",
        str(port),
        "--inMemoryPersistence",
        "--skipApiVersionCheck",
        "--silent",
        "--disableTelemetry",
    ]
    server = subprocess.Popen([AZURITE, *options])
    place = f"BlobEndpoint=http://127.0.0.1:{port}/devstoreaccount1"
    settings = f"DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey={KEY};{place};"
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", settings)
    try:
        until = time.monotonic() + 60
        while not answers(port):
            assert server.poll() is None
            assert time.monotonic() < until
            time.sleep(0.1)
        with BlobServiceClient.from_connection_string(settings) as client:
            client.create_container("bucket")
        adlfs.AzureBlobFileSystem.clear_instance_cache()
        yield "az://bucket"
    finally:
        server.terminate()
        server.wait()


def answers(port: int) -> bool:
    """Tell whether somebody listens."""
    try:
        socket.create_connection(("127.0.0.1", port), 5).close()
    except OSError:
        return False
    return True


@pytest.fixture(params=["google", "azure"])
def place(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(request.param))


def documents(seed: int, n: int = 60, first: int = 0) -> list[tuple[str, str]]:
    draw = random.Random(seed)
    return [(f"d{k}", " ".join(draw.choices(WORDS, k=draw.randint(1, 30)))) for k in range(first, first + n)]


def elsewhere() -> None:
    """Forget what this machine has fetched."""
    shutil.rmtree(cache_folder())


def run_bytes(index: Index | str, path: Path) -> bytes:
    write_run(longrank.retrieve(index, [" ".join(WORDS[n : n + 3]) for n in range(20)], k=30), path)
    return path.read_bytes()


def test_an_index_of_another_store_is_built_opened_changed_and_searched(place: str, tmp_path: Path) -> None:
    address = f"{place}/my.index"
    local, remote = (
        Index.build(documents(3), tmp_path / "local", shards=2),
        Index.build(documents(3), address, shards=2),
    )
    for change in (
        lambda index: index.add(documents(4, 20, 60)),
        lambda index: index.delete(["d3", "d61"]),
        lambda index: index.merge(),
    ):
        local, remote = change(local), change(remote)
        elsewhere()
        assert run_bytes(address, tmp_path / "b.run") == run_bytes(local, tmp_path / "a.run")
    assert check(address) == check(local)


def test_what_is_absent_in_another_store_is_one_line(place: str) -> None:
    with pytest.raises(InputError, match=r"^[ga][sz]://bucket/nothing: ") as caught:
        Index.open(f"{place}/nothing")
    assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match=r"^[ga][sz]://absent/my\.index: ") as caught:
        Index.build(documents(1), f"{place[:2]}://absent/my.index")
    assert "\n" not in str(caught.value)
