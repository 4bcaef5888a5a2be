"""A document of 10 MB is scored whole, in little memory."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tiny_models import WORDS, save_cross_encoder

pytestmark = pytest.mark.neural

SCRIPT = """
import sys
from longrank.protocols import Candidate
from longrank.ranking.passages import PassageDocumentScorer
from longrank.scoring.cross_encoder import CrossEncoder
from longrank.networks.model_files import find_model
from longrank.text.segment import make_segmenter
from longrank.text.select import make_selector
from longrank.types import Document, Query

def kib(what):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(what))

network = CrossEncoder(find_model(sys.argv[1]), device="cpu")
scorer = PassageDocumentScorer(make_segmenter("windows"), make_selector("all"), network, title=False)
text = open(sys.argv[2]).read()
query = Query("q", "where is the river bank")
scorer.evidence([Candidate(query, Document("small", "", text[:100_000]), 0.0)])  # whatever is set up once
before = kib("VmRSS")
(evidence,) = scorer.evidence([Candidate(query, Document("large", "", text), 0.0)])
print(evidence.n_passages, len(evidence.passage_score), evidence.n_truncated, (kib("VmHWM") - before) / 1024)
"""


def with_512_positions(folder: Path) -> Path:
    """Write a tiny cross-encoder that reads as much as BERT does; return its folder."""
    from transformers import AutoConfig, AutoModelForSequenceClassification

    save_cross_encoder(folder)
    config = AutoConfig.from_pretrained(folder, max_position_embeddings=512)
    AutoModelForSequenceClassification.from_config(config).save_pretrained(folder)
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(settings | {"model_max_length": 512}))
    return folder


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_ten_megabytes_are_scored_in_less_than_200_mib(tmp_path: Path) -> None:
    """In a process of its own, whose peak is nobody else's. Unknown words are a token per letter."""
    source, words = random.Random(3), [*WORDS.split(), "grue", "zork", "plugh", "xyzzy"]
    text = " ".join(source.choices(words, k=2_100_000))
    assert len(text) >= 10_000_000
    (tmp_path / "text").write_text(text)
    command = [sys.executable, "-c", SCRIPT, str(with_512_positions(tmp_path / "m")), str(tmp_path / "text")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    passages, scores, cut, mib = done.stdout.split()
    assert int(passages) == int(scores) > 26_000
    assert int(cut) == 0
    assert float(mib) < 200
