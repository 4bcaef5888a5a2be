"""Commands read, write, connect to and start only what SECURITY.md says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import audited
import longrank
import object_stores

_PACKAGE = str(Path(longrank.__file__).parent)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with documents, queries and judgments, a home, and the only folders that may be written."""
    for name in ("home", "tmp", "out", "in"):
        (tmp_path / name).mkdir()
    texts = ["apple banana", "banana cherry", "cherry apple date", "date elder"]
    rows = [{"doc_id": f"d{n}", "title": "", "text": f"{text} fruit"} for n, text in enumerate(texts)]
    (tmp_path / "in" / "docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "in" / "queries.tsv").write_text("q1\tbanana\nq2\tcherry\n")
    (tmp_path / "in" / "qrels.txt").write_text("q1 0 d0 1\nq2 0 d1 1\n")
    return tmp_path


def run(place: Path, *commands: tuple[str, list[str]], connects: Sequence[str] = (), **variables: str) -> None:
    """Run commands in one process; each may read the files and folders beside it, and write ``out`` and ``tmp``."""
    policy = {
        "writes": [str(place / "out"), str(place / "tmp")],
        "package": _PACKAGE,
        "connects": list(connects),
        "commands": [{"arguments": line.split(), "reads": reads} for line, reads in commands],
    }
    (place / "policy.json").write_text(json.dumps(policy))
    environment = os.environ | {"HOME": str(place / "home"), "XDG_CACHE_HOME": str(place / "home")}
    environment |= {"TMPDIR": str(place / "tmp"), "TORCHINDUCTOR_CACHE_DIR": str(place / "tmp")}
    environment |= {"HF_HUB_OFFLINE": "1", "PYTHONDONTWRITEBYTECODE": "1", "TOKENIZERS_PARALLELISM": "false"}
    environment |= variables
    script = [sys.executable, audited.__file__, str(place / "policy.json")]
    done = subprocess.run(script, capture_output=True, text=True, check=False, env=environment, cwd=place / "out")
    assert done.returncode == 0, done.stderr
    assert not list((place / "home").iterdir())


def test_the_core_commands_touch_their_inputs_and_outputs_alone(place: Path) -> None:
    documents, queries, qrels = (str(place / "in" / name) for name in ("docs.jsonl", "queries.tsv", "qrels.txt"))
    run(
        place,
        (f"index {documents} -o i --workers 1", [documents]),
        ("check i", []),
        ("pipelines", []),
        ("search i banana --pipeline lexical", []),
        (f"retrieve i {queries} -o a.run", [queries]),
        (f"retrieve i {queries} -o b.run --similarity ql", [queries]),
        (f"rerank i {queries} a.run -o r.run --pipeline lexical", [queries]),
        ("aggregate r.run.evidence -o g.run --aggregator sump", []),
        ("fuse a.run b.run -o f.run --method rrf", []),
        (f"evaluate {qrels} a.run b.run", [qrels]),
        (f"weigh {qrels} a.run r.run.evidence -o w", [qrels]),
        (f"tune i {queries} {qrels} --grid k1=0.9,1.2 -o t", [queries, qrels]),
    )


def test_an_index_in_an_object_store_connects_to_the_store_alone(place: Path, s3_port: int) -> None:
    documents, queries = str(place / "in" / "docs.jsonl"), str(place / "in" / "queries.tsv")
    index = f"s3://{object_stores.BUCKET}/my.index"
    object_stores.client(s3_port)
    run(
        place,
        (f"index {documents} -o {index} --workers 1", [documents]),
        (f"retrieve {index} {queries} -o a.run", [queries]),
        (f"search {index} banana --pipeline lexical", []),
        (f"check {index}", []),
        connects=[f"127.0.0.1:{s3_port}"],
        XDG_CACHE_HOME=str(place / "out" / "cache"),
        **object_stores.settings(s3_port),
    )


@pytest.mark.slow
@pytest.mark.neural
def test_a_model_folder_is_read_without_network_or_processes(place: Path) -> None:
    from tiny_models import save_cross_encoder

    model, documents = str(save_cross_encoder(place / "model")), str(place / "in" / "docs.jsonl")
    (place / "model" / "README.md").write_text("# Model\n")
    run(
        place,
        (f"index {documents} -o i --workers 1", [documents]),
        (f"publish {model} --dry-run", [model]),
        (f"search i banana --pipeline maxp --model {model}", [model]),
    )


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("open('{place}/in/qrels.txt')", "reads "),
        ("open('{place}/home/x', 'w')", "writes "),
        ("__import__('os').remove('{place}/in/qrels.txt')", "os.remove "),
        ("__import__('socket').create_connection(('127.0.0.1', 9))", "socket.getaddrinfo "),
        ("__import__('subprocess').run(['true'])", "subprocess.Popen "),
    ],
)
def test_the_hook_ends_a_process_that_does_more(place: Path, code: str, said: str) -> None:
    folder = str(Path(audited.__file__).parent)
    hooked = f"import sys; sys.path.insert(0, {folder!r}); import audited; audited.Watch([], {_PACKAGE!r}); "
    script = [sys.executable, "-S", "-c", hooked + code.format(place=place)]
    done = subprocess.run(script, capture_output=True, text=True, check=False, cwd=place / "out")
    assert (done.returncode, done.stderr.startswith(f"audit: {said}")) == (99, True), done.stderr
