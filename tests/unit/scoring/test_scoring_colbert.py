"""Late interaction against sentence-transformers' MultiVectorEncoder, and against MaxSim written out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fakes import index_of
from late_models import DOCUMENT_TOKENS, LAYOUTS, QUERY_TOKENS, save_colbert
from longrank.errors import InputError
from longrank.ranking.one_query import rank_one
from longrank.ranking.pipeline import open_pipeline
from longrank.scoring import make_scorer
from longrank.scoring.colbert import Colbert
from longrank.types import Document, Notes, Query
from tiny_models import rewrite, save_encoder, task

pytestmark = pytest.mark.neural

TEXTS = ["river stone, bread. the moon", "fox", "", "king, queen? city " * 30, "what? the dog."]
QUERIES = ["river bank", "", "the long, long answer. where is the king of the north over the moon dog"]


def scorer(folder: Path, notes: Notes | None = None, **options: Any) -> Colbert:
    made = make_scorer("colbert", index=None, model=str(folder), options=options, notes=notes or Notes())
    assert isinstance(made, Colbert)
    return made


def scores(one: Colbert, queries: list[str] = QUERIES, texts: list[str] = TEXTS) -> np.ndarray:
    return np.stack([found.scores for found in one.score([task(query, texts, query) for query in queries])])


def peer(folder: Path, change: Callable[[Any], object] = lambda model: None) -> np.ndarray:
    """The scores of sentence-transformers, which reads the same layouts."""
    multi_vector = pytest.importorskip("sentence_transformers", minversion="6.0")
    model = multi_vector.MultiVectorEncoder(str(folder), device="cpu", local_files_only=True)
    change(model)
    result: np.ndarray = model.similarity(model.encode_query(QUERIES), model.encode_document(TEXTS)).numpy()
    return result


@pytest.mark.parametrize("layout", LAYOUTS)
def test_scores_are_those_of_sentence_transformers(layout: str, tmp_path: Path) -> None:
    folder = save_colbert(tmp_path / "model", layout)
    assert np.abs(scores(scorer(folder)) - peer(folder)).max() < 2e-5


@pytest.mark.parametrize(
    ("layout", "settings"),
    [
        ("HF_ColBERT", {"attend_to_mask_tokens": True}),
        ("HF_ColBERT", {"mask_punctuation": False}),
        ("HF_ColBERT", {"query_maxlen": 20, "doc_maxlen": 30}),
        ("PyLate", {"do_query_expansion": False}),
        ("PyLate", {"skiplist_words": []}),
        ("MultiVector", {"query_expansion": None, "query_length": 10}),
        ("MultiVector", {"query_expansion": {"strategy": "min", "length": 9}}),
        ("MultiVector", {"query_expansion": {"strategy": "min", "length": 9}, "query_length": 10}),
    ],
)
def test_settings_of_a_model_are_followed(layout: str, settings: dict[str, Any], tmp_path: Path) -> None:
    folder = save_colbert(tmp_path / "model", layout, **settings)
    assert np.abs(scores(scorer(folder)) - peer(folder)).max() < 2e-5
    assert np.abs(scores(scorer(folder)) - scores(scorer(save_colbert(tmp_path / "usual", layout)))).max() > 1e-3


@pytest.mark.parametrize("expansion", [{"strategy": "min", "length": 9}, None])
def test_a_length_outside_the_modules_file_cuts_no_query(expansion: dict[str, Any] | None, tmp_path: Path) -> None:
    folder = save_colbert(tmp_path / "model", "MultiVector", query_expansion=expansion)
    before, path = scores(scorer(folder)), folder / "config_sentence_transformers.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"query_length": 5}))
    assert np.abs(scores(scorer(folder)) - before).max() < 1e-6
    assert np.abs(scores(scorer(folder)) - peer(folder)).max() < 2e-5


@pytest.mark.parametrize("expansion", [{"strategy": "min", "length": 9}, None])
def test_the_limit_of_all_texts_is_that_of_a_task_without_a_length(
    expansion: dict[str, Any] | None, tmp_path: Path
) -> None:
    folder = save_colbert(tmp_path / "model", "MultiVector", query_expansion=expansion, document_length=None)
    path = folder / "sentence_bert_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"max_seq_length": 10}))
    one = scorer(folder)
    assert (one.max_tokens, one.max_query_tokens) == (10, 10)
    assert np.abs(scores(one) - peer(folder)).max() < 2e-5


@pytest.mark.parametrize("expansion", [{"strategy": "min", "length": 9}, None])
def test_texts_of_a_model_without_lengths_are_read_up_to_the_encoders_limit(
    expansion: dict[str, Any] | None, tmp_path: Path
) -> None:
    folder = save_colbert(tmp_path / "model", "MultiVector", query_expansion=expansion, document_length=None)
    path = folder / "sentence_bert_config.json"
    values = {name: value for name, value in json.loads(path.read_text()).items() if not name.endswith("_length")}
    path.write_text(json.dumps(values))
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"model_max_length": 40}))
    texts, queries = [*TEXTS, "king river " * 50], [*QUERIES, "moon fox " * 25]
    one, model = scorer(folder), pytest.importorskip("sentence_transformers").MultiVectorEncoder(str(folder))
    assert (one.max_tokens, one.max_query_tokens) == (40, 40)
    expected = model.similarity(model.encode_query(queries), model.encode_document(texts)).cpu().numpy()
    assert np.abs(scores(one, queries, texts) - expected).max() < 2e-5


def test_how_far_queries_are_filled_up_is_a_part_of_the_identity(tmp_path: Path) -> None:
    folder = save_colbert(tmp_path / "model", "MultiVector", query_expansion={"strategy": "min", "length": 9})
    usual, filled = scorer(folder), scorer(folder, max_query_tokens=48)
    assert usual.max_query_tokens == filled.max_query_tokens == 48
    assert np.abs(scores(usual) - scores(filled)).max() > 1
    assert usual.fingerprint != filled.fingerprint


@pytest.mark.parametrize("layout", ["PyLate", "MultiVector"])
def test_lower_case_before_a_tokenizer_that_keeps_case_is_refused(layout: str, tmp_path: Path) -> None:
    folder = save_colbert(tmp_path / "model", layout, "roberta")
    settings = json.loads((folder / "sentence_bert_config.json").read_text())
    (folder / "sentence_bert_config.json").write_text(json.dumps({**settings, "do_lower_case": True}))
    with pytest.raises(InputError, match="are to be made lower case before its tokenizer"):
        scorer(folder)


def test_maxsim_written_out_is_the_score(tmp_path: Path) -> None:
    """[CLS] marker text [SEP] [MASK] ...; nothing attends to [MASK]; punctuation does not count."""
    import torch
    from safetensors.torch import load_file
    from transformers import AutoModel, AutoTokenizer

    folder = save_colbert(tmp_path / "model")
    tokenizer, encoder = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    weight = load_file(folder / "model.safetensors")["linear.weight"]
    names = tokenizer.convert_tokens_to_ids

    def vectors(ids: list[int], attended: int) -> torch.Tensor:
        mask = torch.tensor([[1] * attended + [0] * (len(ids) - attended)])
        with torch.inference_mode():
            hidden = encoder(input_ids=torch.tensor([ids]), attention_mask=mask).last_hidden_state[0]
        return torch.nn.functional.normalize(hidden @ weight.T, dim=-1)

    query = names(["[CLS]", "[unused0]", "river", "bank", "[SEP]"])
    query += [names("[MASK]")] * (QUERY_TOKENS - len(query))
    document = names(["[CLS]", "[unused1]", "stone", ",", "river", ".", "[SEP]"])
    kept = [n for n, token in enumerate(document) if token not in names([",", "."])]
    q, d = vectors(query, 5), vectors(document, len(document))[kept]
    expected = sum(max(float(one @ other) for other in d) for one in q)
    assert scores(scorer(folder), ["river bank"], ["stone, river."])[0, 0] == pytest.approx(expected, abs=1e-5)


def test_longer_texts_are_counted_and_options_read_more_of_them(tmp_path: Path) -> None:
    folder = save_colbert(tmp_path / "model")
    usual = scorer(folder)
    words = ["fox " * n for n in (DOCUMENT_TOKENS - 3, DOCUMENT_TOKENS - 2, 45)]
    assert usual.score([task("fox " * (QUERY_TOKENS - 2), words)])[0].truncated.tolist() == [False, True, True]
    assert (usual.cuts_query("fox " * 9), usual.cuts_query("fox " * 10)) == (False, True)
    more = scorer(folder, max_tokens=48, max_query_tokens=20)
    assert more.score([task("fox", words)])[0].truncated.tolist() == [False, False, False]
    assert not more.cuts_query("fox " * 17)
    assert more.fingerprint != usual.fingerprint
    with pytest.raises(InputError, match="max_tokens must be between 8 and 48"):
        scorer(folder, max_tokens=49)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_pipeline_reads_every_word_of_a_long_document(layout: str, tmp_path: Path) -> None:
    folder = save_colbert(tmp_path / "model", layout)
    texts = {"long": "a long river, and a boat. " * 90, "short": "the river."}
    index = index_of([Document(doc_id, "", text) for doc_id, text in texts.items()], tmp_path / "index")
    opened = open_pipeline(index, "colbert", model=str(folder), notes=Notes())
    run, _, evidence = rank_one(opened, Query("q", "river"), 2)
    for one in evidence:
        assert one.n_truncated == 0
        text = texts[one.doc_id].rstrip()
        read = {n for start, end in zip(one.passage_start, one.passage_end, strict=True) for n in range(start, end)}
        assert all(n in read for n, letter in enumerate(text) if not letter.isspace())
    assert {row.doc_id: row.score for row in run["q"]} == {
        one.doc_id: float(one.passage_score.max()) for one in evidence
    }


def test_a_repeated_passage_text_is_encoded_once_and_scored_for_each_query(tmp_path: Path) -> None:
    one = scorer(save_colbert(tmp_path / "model"))
    seen: list[int] = []
    run = one._feeder.run
    one._feeder.run = lambda packed, forward: (seen.append(len(packed)), run(packed, forward))[1]  # type: ignore
    found = one.score([task(query, ["fox", "river"], query, doc) for query in ("moon", "dog") for doc in ("a", "b")])
    assert seen == [2]
    assert found[0].scores.tolist() == found[1].scores.tolist() != found[2].scores.tolist()


def test_pylates_files_count_beside_those_of_colbert(tmp_path: Path) -> None:
    folder = save_colbert(tmp_path / "model", "PyLate")
    expected = scores(scorer(folder))
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"architectures": ["HF_ColBERT"]}))
    rewrite(folder, lambda tensors: tensors.update({"linear.weight": tensors["pooler.dense.weight"].clone()}))
    assert scores(scorer(folder)).tolist() == expected.tolist()


def test_a_model_without_its_metadata_is_noted(tmp_path: Path) -> None:
    folder, notes = save_colbert(tmp_path / "model"), Notes()
    (folder / "artifact.metadata").unlink()
    assert scorer(folder, notes).max_query_tokens == 32
    assert notes.lines() == [
        "'model' has no artifact.metadata (folder or cache may lack it): ColBERT's defaults are used"
    ]


def _activation(folder: Path) -> None:
    config = json.loads((folder / "1_Dense" / "config.json").read_text())
    (folder / "1_Dense" / "config.json").write_text(json.dumps(config | {"activation_function": "evil.Code"}))


def _other_width(folder: Path) -> None:
    rewrite(folder, lambda tensors: tensors.update({"linear.weight": tensors["linear.weight"][:, :5].contiguous()}))


@pytest.mark.parametrize(
    ("layout", "damage", "message"),
    [
        ("PyLate", _activation, r"has an activation other than Identity, .* \(got 'evil.Code'\)"),
        ("PyLate", lambda folder: (folder / "1_Dense" / "model.safetensors").unlink(), "holds no model.safetensors"),
        ("HF_ColBERT", _other_width, "the projection reads 5 values, the encoder gives 16"),
        ("HF_ColBERT", lambda folder: (folder / "artifact.metadata").write_text("[]"), "is not a JSON object"),
        (
            "HF_ColBERT",
            lambda folder: (folder / "artifact.metadata").write_text('{"query_maxlen": "many"}'),
            "settings of late interaction that cannot be read",
        ),
        *(
            (
                "HF_ColBERT",
                lambda folder, length=length: (folder / "artifact.metadata").write_text(f'{{"doc_maxlen": {length}}}'),
                "settings of late interaction that cannot be read",
            )
            for length in ("Infinity", "-7")
        ),
        (
            "HF_ColBERT",
            lambda folder: (folder / "artifact.metadata").write_text("[" * 100_000),
            "is not a JSON object",
        ),
    ],
)
def test_a_damaged_model_is_refused(
    layout: str, damage: Callable[[Path], object], message: str, tmp_path: Path
) -> None:
    folder = save_colbert(tmp_path / "model", layout)
    damage(folder)
    with pytest.raises(InputError, match=message):
        scorer(folder)


def test_a_bi_encoder_is_no_late_interaction_model_and_the_other_way_round(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is no late-interaction model \(got 'Transformer, Pooling'\); use a check"):
        scorer(save_encoder(tmp_path / "encoder"))
    for layout in ("PyLate", "MultiVector"):
        folder = save_colbert(tmp_path / layout, layout)
        with pytest.raises(InputError, match="is a late-interaction model, no bi-encoder; use the scorer 'colbert'"):
            make_scorer("bi-encoder", index=None, model=str(folder))
