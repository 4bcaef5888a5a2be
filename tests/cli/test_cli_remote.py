"""Commands on ``s3://`` addresses."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import object_stores
from longrank.cli.main import main

ADDRESS = f"s3://{object_stores.BUCKET}/my.index"


@pytest.fixture(autouse=True)
def inputs(bucket: Any, own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(own_cache))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    for n, text in enumerate(["apple banana", "banana cherry", "cherry date", "date elder"]):
        (tmp_path / "docs" / f"{n}.txt").write_text(f"{text} fruit")
    (tmp_path / "queries.tsv").write_text("q1\tbanana\nq2\tcherry date\n")


def said(capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    captured = capsys.readouterr()
    return captured.out, captured.err


def test_commands_take_an_address_as_a_folder(capsys: pytest.CaptureFixture[str]) -> None:
    outputs = []
    for index in ("local", ADDRESS):
        assert main(["index", "docs", "-o", index, "--workers", "1"]) == 0
        assert main(["retrieve", index, "queries.tsv", "-o", "a.run"]) == 0
        assert (
            main(["rerank", index, "queries.tsv", "a.run", "-o", "b.run", "--pipeline", "lexical", "--workers", "1"])
            == 0
        )
        said(capsys)
        assert main(["search", index, "banana", "--pipeline", "lexical"]) == 0
        assert main(["check", index]) == 0
        outputs.append((Path("a.run").read_bytes(), Path("b.run").read_bytes(), said(capsys)[0].replace(index, "I")))
        Path("b.run.evidence").unlink()
    assert outputs[0] == outputs[1]


def test_an_index_follows_its_files_and_is_changed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sync", "docs", "-o", ADDRESS, "--workers", "1"]) == 0
    Path("docs/4.txt").write_text("fig")
    Path("docs/0.txt").unlink()
    said(capsys)
    assert main(["index", "--update", ADDRESS]) == 0
    assert "added\t1\ndeleted\t1\ndocuments\t4" in said(capsys)[0]
    Path("docs/5.txt").write_text("grape")
    assert main(["sync", "docs", "-o", ADDRESS]) == 0
    assert "1 new; documents: 1 added, 0 deleted, 5 in the index" in said(capsys)[0]
    Path("ids").write_text("zz\n")
    assert main(["index", "--delete", "ids", ADDRESS]) == 2
    assert f"{ADDRESS}: no such document in the index (got 'zz')" in said(capsys)[1]
    Path("ids").write_text("4.txt\n")
    assert main(["index", "--delete", "ids", ADDRESS]) == 0
    assert "documents\t4" in said(capsys)[0]


def test_a_folder_is_uploaded_and_what_is_there_is_not_sent_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["index", "docs", "-o", "local", "--workers", "1"]) == 0
    said(capsys)
    assert main(["index", "local", "-o", ADDRESS]) == 0
    assert said(capsys)[0].startswith(f"index\t{ADDRESS}\ndocuments\t4\n")
    assert main(["index", "local", "-o", ADDRESS]) == 0
    assert f"longrank: note: files that {ADDRESS} had already, which are not sent again: " in said(capsys)[1]
    assert main(["index", "local", "-o", ADDRESS, "--shards", "2"]) == 2
    assert "--shards is for a new index" in said(capsys)[1]
    assert main(["index", "local", "-o", ADDRESS, "--exclude", "x"]) == 2
    assert "--exclude is for a new index and for --add" in said(capsys)[1]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["search", "s3://nobody/x", "a"], "s3://nobody/x: there is no such bucket; make it, or correct the address"),
        (["check", ADDRESS], f"{ADDRESS}: no such index; build it: longrank index SOURCE -o {ADDRESS}"),
        (["serve", ADDRESS, "--writable"], "--writable needs an index in a local folder"),
        (["index", f"{ADDRESS}/docs", "-o", "x"], "documents are not read from object stores; copy them into a folder"),
        (["search", "s3://key:sesame@bucket/x", "a"], "write s3://BUCKET/NAME, without keys or passwords"),
    ],
)
def test_a_fault_is_one_line(
    arguments: list[str], line: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LONGRANK_API_KEY", "key")
    assert main(arguments) == 2
    error = said(capsys)[1]
    assert line in error
    assert (error.count("\n"), "sesame" in error) == (1, False)


def test_readers_see_the_old_index_when_an_upload_is_killed(
    bucket: Any, s3_port: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["index", "docs", "-o", ADDRESS, "--workers", "1"]) == 0
    before = _number_of_objects(bucket)
    Path("docs/9.txt").write_text("zebra " * 3000)
    assert main(["index", "docs", "-o", "local", "--workers", "1"]) == 0
    proxy = object_stores.Proxy(s3_port)
    proxy.sent, proxy.waits = 15_000, True
    environment = os.environ | {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{proxy.port}"}
    command = [sys.executable, "-m", "longrank", "index", "local", "-o", ADDRESS]
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as process:
        end = time.monotonic() + 120
        while proxy.sent and time.monotonic() < end:
            time.sleep(0.05)
        assert process.poll() is None
        process.send_signal(signal.SIGKILL)
    proxy.close()
    assert _number_of_objects(bucket) > before
    said(capsys)
    assert main(["search", ADDRESS, "zebra", "--pipeline", "bm25"]) == 0
    assert "9.txt" not in said(capsys)[0]
    assert main(["index", "local", "-o", ADDRESS]) == 0
    assert "which are not sent again" in said(capsys)[1]
    assert main(["search", ADDRESS, "zebra", "--pipeline", "bm25"]) == 0
    assert "9.txt" in said(capsys)[0]


def _number_of_objects(bucket: Any) -> int:
    return len(bucket.list_objects_v2(Bucket=object_stores.BUCKET)["Contents"])
