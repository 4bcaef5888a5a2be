"""A server that is ready has compiled all that searches need."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="needs the extra serve")

import longrank

SERVING = """
import json, sys
from pathlib import Path

from numba.core.dispatcher import Dispatcher

from longrank.service.served import PipelineChoice
from served import answers, desk_of

def compiled():
    modules = [module for name, module in sys.modules.items() if name.startswith("longrank")]
    found = {value for module in modules for value in vars(module).values() if isinstance(value, Dispatcher)}
    return {f"{one.py_func.__module__}.{one.py_func.__name__}": len(one.signatures) for one in found}

async def talk(ask):
    before = compiled()
    for pipeline in sys.argv[2:]:
        for query in ("fox", "the moon and the fox, a wheel and the light of the house", "no such thing"):
            value = {"query": query, "pipeline": Path(pipeline).stem, "k": 2}
            assert (await ask("POST", "/search", value)).status == 200
    after = compiled()
    return sorted(name for name in after if after[name] != before.get(name, 0)), before

desk = desk_of(Path(sys.argv[1]), *map(PipelineChoice, sys.argv[2:]))
new, before = answers(desk, talk)
print(json.dumps([new, sum(before.values())]))
"""


def test_the_first_search_compiles_nothing(tmp_path: Path) -> None:
    pipelines = [tmp_path / f"{name}.toml" for name in ("bm25-anserini+rm3", "ql")]
    for path in pipelines:
        path.write_text(f'[first_stage]\npreset = "{path.stem}"\n')
    folders = [str(Path(longrank.__file__).parents[1]), str(Path(__file__).parents[2])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    command = [sys.executable, "-c", SERVING, str(tmp_path / "folder"), "lexical", "bm25", *map(str, pipelines)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    new, n_before = json.loads(done.stdout.splitlines()[-1])
    assert new == []
    assert n_before > 0
