"""Document networks as scorers, against the networks' own forward pass on padded documents."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from longrank.errors import InputError
from longrank.models import DOCUMENT_NETWORKS
from longrank.models.network_reader import pair_masks
from longrank.networks.model_files import find_model
from longrank.protocols import ScoringTask
from longrank.scoring.document_network import DocumentNetworkScorer
from longrank.types import Notes
from tiny_models import save_document_network, task

pytestmark = pytest.mark.neural

QUERY = "what is the river bank"
DOCUMENTS = [
    ["the river bank", "a long boat under the blue moon and over the water", "king"],
    ["money"],
    ["war and peace in the north", "fish jump over the house", "bread", "stone city", "light of the moon"],
]
TASKS = [task(QUERY, texts, doc_id=f"d{n}") for n, texts in enumerate(DOCUMENTS)]
NETWORKS = sorted(DOCUMENT_NETWORKS)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("networks")
    return {name: save_document_network(root / name, name) for name in NETWORKS}


def scorer_of(folder: Path, **options: object) -> DocumentNetworkScorer:
    return DocumentNetworkScorer(find_model(str(folder)), **{"allow_untrained": True, **options})  # type: ignore[arg-type]


def scores_by_forward(folder: Path, tasks: list[ScoringTask]) -> list[float]:
    """Each document's score by the network's own passes: pairs by transformers' tokenizer, padded to 16 passages."""
    import torch

    from longrank.models.folders import load_network

    network, tokenizer, _ = load_network(folder)
    tokenizer.backend_tokenizer.no_truncation()
    tokenizer.backend_tokenizer.no_padding()
    texts = [text for one in tasks for text in one.texts]
    features = dict(
        tokenizer([one.query.text for one in tasks for _ in one.texts], texts, padding=True, return_tensors="pt")
    )
    query, passage = (torch.zeros_like(features["input_ids"]) for _ in range(2))
    for row, (asked, text) in enumerate((one.query, text) for one in tasks for text in one.texts):
        n_query = len(tokenizer(asked.text, add_special_tokens=False)["input_ids"])
        n_text = len(tokenizer(text, add_special_tokens=False)["input_ids"])
        query[row, 1 : 1 + n_query] = 1
        start = int(features["attention_mask"][row].sum()) - 1 - n_text
        passage[row, start : start + n_text] = 1
    with torch.inference_mode():
        rows = network.encode(features | {"query_mask": query, "passage_mask": passage})
        width = network.max_passages or 16
        documents = rows.new_full((len(tasks), width, *rows.shape[1:]), 1e4)
        mask = torch.zeros(len(tasks), width, dtype=torch.bool)
        bounds = np.cumsum([0, *(len(one.texts) for one in tasks)])
        for n, (start, end) in enumerate(pairwise(bounds)):
            documents[n, : end - start], mask[n, : end - start] = rows[start:end], True
        return network.aggregate(documents, mask).tolist()


@pytest.mark.parametrize("name", NETWORKS)
def test_ragged_scores_are_those_of_documents_padded_to_sixteen_passages(folders: dict[str, Path], name: str) -> None:
    found = [one.document for one in scorer_of(folders[name]).score(TASKS)]
    assert found == pytest.approx(scores_by_forward(folders[name], TASKS), rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("name", ["parade-attn", "knrm", "cedr-knrm", "maxp"])
def test_networks_on_roberta_need_no_segment_ids(tmp_path: Path, name: str) -> None:
    """Its tokens are bytes here, so texts are short."""
    folder = save_document_network(tmp_path / name, name, "roberta")
    tasks = [task("river", ["the bank", "a boat under", "king"]), task("moon", ["fish"])]
    found = [one.document for one in scorer_of(folder).score(tasks)]
    assert found == pytest.approx(scores_by_forward(folder, tasks), rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_documents_score_does_not_depend_on_what_else_is_scored(folders: dict[str, Path], name: str) -> None:
    scorer = scorer_of(folders[name], batch_tokens=64)
    together = scorer.score(TASKS)
    alone = [scorer.score([one])[0] for one in TASKS]
    for one, other in zip(together, alone, strict=True):
        assert one.document == pytest.approx(other.document, rel=1e-5, abs=2e-6)
        assert one.scores == pytest.approx(other.scores, rel=1e-5, abs=2e-6)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_passages_score_is_that_of_a_document_of_this_passage_alone(folders: dict[str, Path], name: str) -> None:
    scorer = scorer_of(folders[name])
    whole = scorer.score([TASKS[2]])[0]
    alone = [scorer.score([task(QUERY, [text])])[0].document for text in DOCUMENTS[2]]
    assert whole.scores == pytest.approx(alone, rel=1e-5, abs=2e-6)


def test_contributions_come_with_the_scores(folders: dict[str, Path]) -> None:
    for name in ("parade-max", "parade-attn", "maxp"):
        for one in scorer_of(folders[name]).score(TASKS):
            assert one.contributions is not None
            assert one.contributions.sum() == pytest.approx(1, abs=1e-6)
    scored = scorer_of(folders["sump"]).score(TASKS)
    for one in scored:  # leaving a passage out costs its own score
        assert one.contributions == pytest.approx(one.scores, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("name", ["parade-transformer", "cedr-knrm"])
def test_threads_change_no_byte(folders: dict[str, Path], name: str) -> None:
    import torch

    found = []
    threads = torch.get_num_threads()
    for n in (1, 3):
        torch.set_num_threads(n)
        scored = scorer_of(folders[name], batch_tokens=64).score(TASKS)
        found.append([(one.document, one.scores.tobytes(), one.contributions.tobytes()) for one in scored])  # type: ignore[union-attr]
    torch.set_num_threads(threads)
    assert found[0] == found[1]


def test_an_untrained_network_is_refused_unless_it_is_allowed(folders: dict[str, Path]) -> None:
    with pytest.raises(InputError, match=r"longrank.json: the network has never been trained.*--allow-untrained"):
        scorer_of(folders["parade-max"], allow_untrained=False)
    notes = Notes()
    scorer_of(folders["parade-max"], notes=notes)
    assert any("has never been trained, so its scores are random" in line for line in notes.lines())


def test_as_a_cross_encoder_it_is_refused_as_well(tmp_path: Path) -> None:
    from longrank.scoring.cross_encoder import CrossEncoder

    model = find_model(str(save_document_network(tmp_path / "m", "maxp")))
    with pytest.raises(InputError, match=r"longrank.json: the network has never been trained.*--allow-untrained"):
        CrossEncoder(model)
    notes = Notes()
    CrossEncoder(model, allow_untrained=True, notes=notes)
    assert notes.lines() == ["'m' has never been trained, so its scores are random"]


def test_a_dtype_that_it_is_not_computed_in_is_refused(folders: dict[str, Path]) -> None:
    with pytest.raises(InputError, match=r"dtype must be one of float32, bf16 \(got 'int8'\)"):
        scorer_of(folders["parade-max"], dtype="int8")


def test_a_tokenizer_that_puts_nothing_between_query_and_passage_is_refused(tmp_path: Path) -> None:
    folder = save_document_network(tmp_path / "m", "knrm")
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    cls, a, b = (
        {"SpecialToken": {"id": "[CLS]", "type_id": 0}},
        *({"Sequence": {"id": x, "type_id": 0}} for x in "AB"),
    )
    ids = {"[CLS]": {"id": "[CLS]", "ids": [2], "tokens": ["[CLS]"]}}
    tokenizer["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [cls, a],
        "pair": [cls, a, b],
        "special_tokens": ids,
    }
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    with pytest.raises(InputError, match="puts no mark between query and passage"):
        scorer_of(folder)


def test_a_trained_network_needs_no_permission(tmp_path: Path, folders: dict[str, Path]) -> None:
    from longrank.models.folders import load_network, save_network

    network, tokenizer, _ = load_network(folders["parade-avg"])
    save_network(tmp_path / "trained", network, tokenizer, {"steps": 1})
    found = scorer_of(tmp_path / "trained", allow_untrained=False).score(TASKS)
    assert [one.document for one in found] == [one.document for one in scorer_of(folders["parade-avg"]).score(TASKS)]


def test_another_network_than_the_pipelines_is_refused(folders: dict[str, Path]) -> None:
    with pytest.raises(InputError, match="holds the document network parade-max, and the pipeline needs parade-sum"):
        scorer_of(folders["parade-max"], network="parade-sum")


def test_a_folder_without_a_network_is_refused(tmp_path: Path) -> None:
    from tiny_models import save_cross_encoder

    with pytest.raises(InputError, match=r"holds no longrank\.json: not a document network"):
        scorer_of(save_cross_encoder(tmp_path / "cross"))


def test_more_passages_than_the_network_reads_are_refused(folders: dict[str, Path]) -> None:
    with pytest.raises(InputError, match="reads at most 16 passages of a document"):
        scorer_of(folders["parade-cnn"]).score([task(QUERY, ["river"] * 17)])


def test_queries_longer_than_the_networks_room_are_refused_as_an_option_and_cut_as_a_query(tmp_path: Path) -> None:
    folder = save_document_network(tmp_path / "knrm", "knrm", max_query_tokens=3)
    with pytest.raises(InputError, match="made for queries of 3 tokens at most"):
        scorer_of(folder, max_query_tokens=4)
    long, short = (scorer_of(folder).score([task(query, ["river bank"])])[0] for query in (QUERY, "what is the"))
    assert long.document == short.document
    assert scorer_of(folder).cuts_query(QUERY)


def test_the_masks_of_a_pair_leave_special_tokens_and_padding_out() -> None:
    import torch

    # [CLS] a b [SEP] c d [SEP]        [CLS] a [SEP] c [SEP] [PAD] [PAD]
    attended = torch.tensor([[1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 0, 0]])
    query, passage = pair_masks(attended, torch.tensor([[3], [2]]), (1, 1, 1))
    assert query.int().tolist() == [[0, 1, 1, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0, 0]]
    assert passage.int().tolist() == [[0, 0, 0, 0, 1, 1, 0], [0, 0, 0, 1, 0, 0, 0]]
    # <s> a b </s> </s> c </s>
    query, passage = pair_masks(torch.ones(1, 7, dtype=torch.long), torch.tensor([[3]]), (1, 2, 1))
    assert query.int().tolist() == [[0, 1, 1, 0, 0, 0, 0]]
    assert passage.int().tolist() == [[0, 0, 0, 0, 0, 1, 0]]


@pytest.mark.parametrize("name", ["knrm", "cedr-knrm"])
@pytest.mark.parametrize(("family", "mark"), [("bert", "[SEP]"), ("roberta", "</s>")])
def test_a_query_may_hold_the_text_of_a_separator(tmp_path: Path, name: str, family: str, mark: str) -> None:
    scorer = scorer_of(save_document_network(tmp_path / name, name, family))
    queries = ("moon fox", f"moon {mark} fox", f"{mark} moon fox", f"moon fox {mark}", mark, f"moon {mark} {mark} fox")
    tasks = [task(query, ["fox of moon", f"a {mark} moon", "king"], query) for query in queries]
    found = [one.document for one in scorer.score(tasks)]
    assert found == pytest.approx(scores_by_forward(tmp_path / name, tasks), rel=1e-5, abs=1e-5)
    assert len({round(score, 4) for score in found}) == len(queries)
