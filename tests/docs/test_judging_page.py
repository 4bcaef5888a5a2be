"""The blocks of docs/judging.md: what is judged over HTTP is evaluated by the commands that stand there."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from test_docs import ROOT, blocks
from test_docs import clone as clone

pytest.importorskip("fastapi", reason="needs the extra serve")

from longrank.cli.main import main
from longrank.index import Index
from longrank.service.engine import Engine
from longrank.service.judging import opened_judging
from longrank.service.served import PipelineChoice
from longrank.types import Notes
from served import Ask, answers, opened

PAGE = ROOT / "docs" / "judging.md"


def test_the_judgments_of_the_page_are_evaluated(clone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (index, serve), evaluate = (block.splitlines() for block in blocks(PAGE, "sh"))
    assert main(shlex.split(index)[1:]) == 0
    words = shlex.split(serve)
    qrels, topics = (words[words.index(name) + 1] for name in ("--judgments", "--topics"))
    (request,) = re.findall(r"`POST /judgments` `(\{.*?\})`", PAGE.read_text())
    engine = Engine([PipelineChoice("bm25")], Index(Path(words[2])), notes=Notes())
    engine.load()

    async def talk(ask: Ask) -> int:
        return (await ask("POST", "/judgments", json.loads(request))).status

    with opened_judging(Path(qrels), topics, notes=Notes()) as judging:
        assert answers(opened(engine, None, judging), talk) == 200
    for line in evaluate:
        capsys.readouterr()
        assert main(shlex.split(line)[1:]) == 0, line
    assert "Judged@10" in capsys.readouterr().out
