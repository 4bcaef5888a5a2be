from __future__ import annotations

import gc
import json
import shutil
import weakref
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from longrank.errors import InputError, LongRankError
from longrank.networks.model_files import find_model
from longrank.protocols import ScoringTask
from longrank.scoring.bi_encoder import BiEncoder
from longrank.storage.kept import key_of
from longrank.types import Notes, Passage, Query
from tiny_models import FAMILIES, save_encoder

pytestmark = pytest.mark.neural

QUERY = "where is the river bank"
PASSAGES = [
    "the fox jumped over the dog",
    "",
    "a long river in the north of the city " * 2,
    "money",
    "who was the king",
]


def task(query: str, texts: Sequence[str], doc_id: str = "d") -> ScoringTask:
    passages = tuple(Passage(doc_id, n, text, 0, len(text)) for n, text in enumerate(texts))
    return ScoringTask(Query("q", query), doc_id, passages, tuple(texts))


def scorer(folder: Path | str, **options: object) -> BiEncoder:
    return BiEncoder(find_model(str(folder)), **options)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_encoder(tmp_path_factory.mktemp("encoder") / "tiny")


@pytest.fixture(scope="module")
def minilm() -> BiEncoder:
    return scorer("minilm")


def test_the_memory_of_a_network_is_freed_with_its_scorer(tiny: Path) -> None:
    opened = scorer(tiny)
    opened.score([task(QUERY, PASSAGES)])
    weights = weakref.ref(opened.encoder.embeddings.word_embeddings.weight)
    gc.disable()
    try:
        del opened
        assert weights() is None
    finally:
        gc.enable()


def cosines_of_sentence_transformers(folder: Path, query: str, passages: Sequence[str]) -> np.ndarray:
    """By sentence-transformers itself, once its tokenizer's own truncation at 128 tokens is off; 0 for empty texts."""
    from sentence_transformers import SentenceTransformer, util

    network = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    network.tokenizer.backend_tokenizer.no_truncation()
    network.tokenizer.backend_tokenizer.no_padding()
    encoded = network.encode_query(query), network.encode_document(list(passages))
    cosines = util.cos_sim(*encoded)[0].numpy()
    return np.where([bool(passage.strip()) for passage in passages], cosines, 0)


def test_a_matryoshka_model_is_cut_to_the_dimensions_of_its_files(tiny: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny, tmp_path / "m")
    path = tmp_path / "m" / "config_sentence_transformers.json"
    settings = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**settings, "truncate_dim": 6}))
    cut, whole = scorer(tmp_path / "m"), scorer(tiny)
    found = cut.score([task(QUERY, PASSAGES)])[0].scores
    np.testing.assert_allclose(found, cosines_of_sentence_transformers(tmp_path / "m", QUERY, PASSAGES), atol=2e-6)
    assert np.abs(found - whole.score([task(QUERY, PASSAGES)])[0].scores).max() > 0.01
    assert (cut.dimension, cut.query_vector(Query("q", QUERY)).shape) == (6, (6,))
    assert cut.fingerprint.endswith(" truncate_dim=6")


@pytest.mark.parametrize(
    "settings", [{"query_length": 5}, {"document_length": 5}, {"processing_kwargs": {"text": {"max_length": 5}}}]
)
def test_settings_that_cut_texts_of_a_task_are_refused(tiny: Path, tmp_path: Path, settings: dict[str, object]) -> None:
    pytest.importorskip("sentence_transformers", minversion="6.0")
    shutil.copytree(tiny, tmp_path / "m")
    path = tmp_path / "m" / "sentence_bert_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **settings}))
    with pytest.raises(InputError, match=r"the model's files set how texts are read, .*_length=5"):
        scorer(tmp_path / "m")


def test_scores_are_the_cosines_of_sentence_transformers(minilm: BiEncoder) -> None:
    passages = ["A bank is a place for money.", "The river burst its banks.", "", "Rivers " * 150, "x " * 400]
    (scores,) = minilm.score([task("the edge of a river", passages)])
    expected = cosines_of_sentence_transformers(minilm.model.path, "the edge of a river", passages)
    np.testing.assert_allclose(scores.scores, expected, atol=1e-5)
    assert scores.scores.argmax() == 1
    assert scores.scores.dtype == np.float32


@pytest.mark.parametrize("family", FAMILIES)
def test_scores_of_every_kind_of_encoder_are_the_cosines_of_sentence_transformers(tmp_path: Path, family: str) -> None:
    folder = save_encoder(tmp_path / family, family)
    (scores,) = scorer(folder).score([task(QUERY, PASSAGES)])
    np.testing.assert_allclose(scores.scores, cosines_of_sentence_transformers(folder, QUERY, PASSAGES), atol=1e-5)
    assert np.ptp(scores.scores) > 0.01


def test_prompts_of_the_model_are_read_and_left_out_of_the_pooling_if_it_says_so(tmp_path: Path) -> None:
    prompted = save_encoder(tmp_path / "m", prompts={"query": "what is the ", "document": "answer over "})
    (scores,) = scorer(prompted).score([task(QUERY, PASSAGES)])
    expected = cosines_of_sentence_transformers(prompted, QUERY, PASSAGES)
    np.testing.assert_allclose(scores.scores, expected, atol=1e-5)
    (prompted / "config_sentence_transformers.json").write_text("{}")
    (without,) = scorer(prompted).score([task(QUERY, PASSAGES)])
    assert np.abs(scores.scores - without.scores).max() > 1e-3


def test_the_limit_is_the_models_256_tokens_not_the_128_of_its_tokenizer_file(minilm: BiEncoder) -> None:
    assert minilm.max_tokens == 256
    (scores,) = minilm.score([task("fish", ["word " * 254, "word " * 255, "word " * 200 + "fish", "word " * 200])])
    assert scores.truncated.tolist() == [False, True, False, False]
    assert scores.scores[2] > scores.scores[3] + 0.01  # the last word was read


def test_a_text_without_a_token_scores_zero(tmp_path: Path) -> None:
    """Tokenizers of decoders add no special tokens."""
    folder = save_encoder(tmp_path / "m")
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer | {"post_processor": None}))
    texts = ["the river", "", "  ", "money"]
    (scores,) = BiEncoder(find_model(str(folder))).score([task("river", texts)])
    (alone,) = BiEncoder(find_model(str(folder))).score([task("river", ["the river", "money"])])
    assert scores.scores[[1, 2]].tolist() == [0, 0]
    np.testing.assert_allclose(scores.scores[[0, 3]], alone.scores, atol=1e-6)
    (nothing,) = BiEncoder(find_model(str(folder))).score([task("", ["", "money"])])
    assert nothing.scores.tolist() == [0, 0]


def test_an_empty_text_scores_zero_and_texts_beside_it_as_before(minilm: BiEncoder) -> None:
    (both,) = minilm.score([task("cat", ["", "Bread is baked in an oven.", " \n"])])
    (alone,) = minilm.score([task("cat", ["Bread is baked in an oven."])])
    assert both.scores[[0, 2]].tolist() == [0, 0]
    assert both.scores[1] == pytest.approx(alone.scores[0], abs=1e-6)


def test_a_zero_vector_scores_zero(tiny: Path) -> None:
    import torch

    one = scorer(tiny)
    one._network[0].register_forward_hook(
        lambda module, inputs, output: output | {"token_embeddings": torch.zeros_like(output["token_embeddings"])}
    )
    (scores,) = one.score([task(QUERY, PASSAGES)])
    assert scores.scores.tolist() == [0] * len(PASSAGES)


def test_scores_do_not_depend_on_the_block_or_on_what_came_before(tiny: Path) -> None:
    tasks = [task(QUERY, PASSAGES), task("who was the king", PASSAGES[:3], "e"), task("the king", PASSAGES)]
    warm = scorer(tiny)
    together = warm.score(tasks)
    again = [warm.score([one])[0] for one in reversed(tasks)][::-1]
    alone = [scorer(tiny).score([one])[0] for one in tasks]
    for results in (again, alone):
        for found, expected in zip(results, together, strict=True):
            assert found.scores.tobytes() == expected.scores.tobytes()


def test_a_full_cache_changes_no_bit(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = [task(QUERY, PASSAGES[n:], f"d{n}") for n in (0, 1, 2, 0, 1)]
    expected = scorer(tiny).score(tasks)
    monkeypatch.setattr("longrank.scoring.bi_encoder._KEPT_BYTES", 100)
    for found, usual in zip(scorer(tiny).score(tasks), expected, strict=True):
        assert found.scores.tobytes() == usual.scores.tobytes()


def test_of_a_very_long_document_only_scores_are_held_and_they_are_the_same(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = [f"{text} money {n}" for n in range(9) for text in PASSAGES]
    tasks = [task(QUERY, long), task("the fish", PASSAGES, "short"), task("the fish", long), task(QUERY, long, "twin")]
    expected = scorer(tiny, batch_tokens=60).score(tasks)
    size = scorer(tiny).dimension * 4 * len(PASSAGES)
    monkeypatch.setattr("longrank.scoring.bi_encoder._LARGEST_BYTES", size)
    one, calls = scorer(tiny, batch_tokens=60), list[int]()
    one._network[0].register_forward_hook(lambda module, inputs, output: calls.append(len(inputs[0]["input_ids"])))
    for found, usual in zip(one.score(tasks), expected, strict=True):
        assert found.scores.tobytes() == usual.scores.tobytes()
        assert found.truncated.tobytes() == usual.truncated.tobytes()
    assert sum(calls) == 2 + len(PASSAGES) + len(long)  # two queries; the long document is read once for both
    assert one._kept.get(key_of(long)) is None and one._kept.get(key_of(PASSAGES)) is not None


def test_a_passage_seen_before_is_not_encoded_again(tiny: Path) -> None:
    one = scorer(tiny)
    one.score([task(QUERY, PASSAGES)])
    calls: list[object] = []
    one._network[0].register_forward_hook(lambda *seen: calls.append(seen) or None)
    one.score([task("money", PASSAGES), task("the fish", PASSAGES, "other-id-same-text")])
    assert len(calls) == 2  # the two queries


def test_a_model_made_for_another_similarity_is_scored_by_the_cosine_and_that_is_said(tmp_path: Path) -> None:
    folder, notes = save_encoder(tmp_path / "m"), Notes()
    (usual,) = scorer(folder).score([task(QUERY, PASSAGES)])
    (folder / "config_sentence_transformers.json").write_text('{"similarity_fn_name": "dot"}')
    (found,) = scorer(folder, notes=notes).score([task(QUERY, PASSAGES)])
    np.testing.assert_array_equal(found.scores, usual.scores)
    assert notes.lines() == ["models made for the similarity 'dot': the cosine is used: 1 (first: m)"]


def test_a_shorter_limit_can_be_chosen_but_not_a_longer_one(tiny: Path) -> None:
    (scores,) = scorer(tiny, max_tokens=10).score([task(QUERY, ["money " * 8, "money " * 9])])
    assert scores.truncated.tolist() == [False, True]
    with pytest.raises(InputError, match=r"between 8 and 32 for 'tiny' \(got 33\)"):
        scorer(tiny, max_tokens=33)


def test_a_vector_that_is_not_a_number_is_refused_by_name(tiny: Path) -> None:
    one = scorer(tiny)
    one._network[0].register_forward_hook(
        lambda module, inputs, output: output | {"token_embeddings": output["token_embeddings"] * float("nan")}
    )
    with pytest.raises(LongRankError, match="query 'q' is not finite"):
        one.score([task(QUERY, ["fish", "money"])])
    with pytest.raises(LongRankError, match="passage 0 of document 'd' is not finite"):
        one.encode({"d": ["fish"]})


def test_the_old_layout_with_the_network_in_a_subfolder_is_read(tiny: Path, tmp_path: Path) -> None:
    import shutil

    old = shutil.copytree(tiny, tmp_path / "old")
    (old / "0_Transformer").mkdir()
    for path in [p for p in old.iterdir() if p.is_file() and p.name not in ("modules.json",)]:
        path.rename(old / "0_Transformer" / path.name)
    modules = json.loads((old / "modules.json").read_text())
    modules[0]["path"] = "0_Transformer"
    (old / "modules.json").write_text(json.dumps(modules))
    found, usual = (scorer(folder).score([task(QUERY, PASSAGES)])[0] for folder in (old, tiny))
    np.testing.assert_array_equal(found.scores, usual.scores)


def with_pickled_weights(folder: Path) -> Path:
    """Add pickled weights other than the model's."""
    import torch
    from safetensors.torch import load_file

    tensors = load_file(folder / "model.safetensors")
    torch.save({name: values * 2 for name, values in tensors.items()}, folder / "pytorch_model.bin")
    return folder


def test_pickled_weights_beside_safetensors_are_ignored(tiny: Path, tmp_path: Path) -> None:
    both = with_pickled_weights(save_encoder(tmp_path / "both"))
    found, usual = (scorer(folder).score([task(QUERY, PASSAGES)])[0] for folder in (both, tiny))
    np.testing.assert_array_equal(found.scores, usual.scores)


def test_pickled_weights_are_not_read_even_where_no_others_are_left(tmp_path: Path) -> None:
    found = find_model(str(with_pickled_weights(save_encoder(tmp_path / "both"))))
    (found.path / "model.safetensors").rename(found.path / "other.safetensors")
    with pytest.raises(InputError, match=r"cannot be loaded.*no file named model\.safetensors"):
        BiEncoder(found)


def test_documents_together_have_the_bytes_of_each_alone_and_of_any_number_of_threads(tiny: Path) -> None:
    import torch

    documents = {f"d{n}": ["the fish " * (1 + i) for i in range(1 + 3 * n % 7)] for n in range(9)}
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            one = scorer(tiny, batch_tokens=40)
            found.append(one.encode(documents))
            found.append([one.encode({doc_id: texts})[0] for doc_id, texts in documents.items()])
    finally:
        torch.set_num_threads(before)
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(a.vectors, b.vectors)
            np.testing.assert_array_equal(a.truncated, b.truncated)
