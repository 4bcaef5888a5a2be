"""Documents compared by their best passages: orders by hand, and tiny models by the command line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fakes import documents, index_of
from longrank.errors import InputError
from longrank.formats.evidence import check_complete, read_evidence
from longrank.ranking.comparing import by_lists, by_pairs, read_permutation, windows
from longrank.types import Evidence, Notes, Query, Run, ScoredDoc
from longrank.verbs.compare import _Compared
from training_collections import write_collection


def evidence_of(run: Path) -> list[Evidence]:
    return list(read_evidence(run.with_name(f"{run.name}.evidence"))[1])


@pytest.mark.parametrize(
    ("answer", "order", "well_formed"),
    [
        ("[2] > [1] > [3]", (1, 0, 2), True),
        (" [3]>[2]>[1]\n", (2, 1, 0), True),
        ("[2] > [1]", (1, 0, 2), False),  # [3] is missing
        ("[2] > [2] > [1] > [3]", (1, 0, 2), False),
        ("[9] > [3] > [0]", (2, 0, 1), False),
        ("The best is [3].", (2, 0, 1), False),
        ("[1] > [2] > [3] because", (0, 1, 2), False),
        ("3 > 2 > 1", (0, 1, 2), False),
        ("", (0, 1, 2), False),
    ],
)
def test_a_permutation_is_read_strictly_and_completed(answer: str, order: tuple[int, ...], well_formed: bool) -> None:
    assert read_permutation(answer, 3) == (order, well_formed)


def test_windows_slide_from_the_last_texts_to_the_first() -> None:
    assert list(windows(7, 4, 2)) == [(3, 7), (1, 5), (0, 3)]
    assert list(windows(3, 20, 10)) == [(0, 3)]
    assert list(windows(0, 4, 2)) == []
    for size, step in ((1, 1), (4, 0), (4, 5)):
        with pytest.raises(InputError):
            list(windows(7, size, step))


def test_sliding_windows_carry_the_best_text_to_the_top() -> None:
    """Each window is sorted; with a step of half a window, the best two of seven arrive at the top."""

    def sort(query: str, texts: Sequence[str]) -> str:
        places = sorted(range(len(texts)), key=lambda n: texts[n])
        return " > ".join(f"[{n + 1}]" for n in places)

    notes = Notes()
    order = by_lists("q", list("gfedcba"), sort, notes, size=4, step=2)
    assert order[:2] == [6, 5]
    assert sorted(order) == list(range(7))
    assert notes.lines() == []


def test_malformed_answers_are_counted_and_keep_the_order() -> None:
    notes = Notes()
    assert by_lists("q", ["a", "b", "c"], lambda query, texts: "no idea", notes) == [0, 1, 2]
    assert notes.lines() == [
        "malformed answers of the list reranker, completed in the former order: 1 (first: 'no idea')"
    ]


def test_the_score_of_a_text_is_its_wins_in_both_orders() -> None:
    """p(0, 1) = .9, p(1, 0) = .2: text 0 has .9 + .8, text 1 has .2 + .1."""
    chances = {("a", "b"): 0.9, ("b", "a"): 0.2}
    scores = by_pairs("q", ["a", "b"], lambda query, pairs: np.array([chances[pair] for pair in pairs], np.float32))
    assert scores.tolist() == pytest.approx([1.7, 0.3])
    assert by_pairs("q", ["a"], lambda query, pairs: np.zeros(0, np.float32)).tolist() == [0]


@pytest.mark.neural
def test_duot5_reads_both_passages_in_the_prompt_of_its_makers(tmp_path: Path) -> None:
    import torch
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    from longrank.networks.model_files import find_model
    from longrank.scoring.duot5 import DuoT5
    from tiny_language_models import save_seq2seq

    folder, notes = save_seq2seq(tmp_path / "t5", max_tokens=100), Notes()
    duo = DuoT5(find_model(str(folder)), notes=notes)
    (found,) = duo.prefer("river", [("the bank", "a fish")])
    assert notes.lines() == []
    duo.prefer("river " * 99, [("the bank", "a fish")])
    assert any(line.startswith("queries cut at the scorer's ") for line in notes.lines())
    tokenizer, network = AutoTokenizer.from_pretrained(folder), AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    prompt = "Query: river Document0: the bank Document1: a fish Relevant:"
    with torch.no_grad():
        logits = network(**tokenizer(prompt, return_tensors="pt"), decoder_input_ids=torch.tensor([[0]])).logits[0, 0]
    words = [tokenizer(word, add_special_tokens=False)["input_ids"][0] for word in ("false", "true")]
    assert found == pytest.approx(float(logits[words].softmax(0)[1]), abs=1e-5)


@pytest.mark.neural
@pytest.mark.parametrize("method", ["pairs", "lists"])
def test_the_top_of_a_run_is_compared_and_the_rest_follows(
    method: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from longrank.cli.main import main
    from longrank.formats.trec import read_run
    from tiny_language_models import save_decoder, save_seq2seq

    folder = write_collection(tmp_path)
    model = save_seq2seq(tmp_path / "m") if method == "pairs" else save_decoder(tmp_path / "m", max_tokens=200)
    inputs = [str(folder / name) for name in ("index", "queries.jsonl", "first.run")]
    assert main(["rerank", *inputs, "-o", str(tmp_path / "l.run"), "--pipeline", "lexical", "--depth", "5"]) == 0
    before = read_run(tmp_path / "l.run", Notes())
    more = ["--model", str(model), "--depth", "3", "--method", method]
    window = ["--window", "2", "--step", "1"]
    more += window if method == "lists" else []
    for name in ("a", "b"):
        arguments = ["compare", *inputs[:2], str(tmp_path / "l.run"), str(tmp_path / "l.run.evidence")]
        assert main([*arguments, "-o", str(tmp_path / name), *more]) == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    few = [*(folder / "queries.jsonl").read_text().splitlines(keepends=True)[:2], '{"query_id": "no", "text": "x"}\n']
    (tmp_path / "few.jsonl").write_text("".join(few))
    capsys.readouterr()
    arguments[2] = str(tmp_path / "few.jsonl")
    assert main([*arguments, "-o", str(tmp_path / "few"), *more]) == 0
    said = capsys.readouterr().err
    assert "queries without candidates in the run: 1" in said
    assert f"queries of the run without a query text, ranking kept: {len(before) - 2}" in said
    arguments[2] = inputs[1]
    assert main([*arguments, "-o", str(tmp_path / "again"), *more]) == 0
    after = read_run(tmp_path / "a", Notes())
    for query_id in before:
        old, new = ([row.doc_id for row in run[query_id]] for run in (before, after))
        assert sorted(old[:3]) == sorted(new[:3])
        assert old[3:] == new[3:]
    kept = [(document.query_id, document.doc_id, document.first_stage) for document in evidence_of(tmp_path / "a")]
    assert kept == [(query_id, row.doc_id, row.score) for query_id in before for row in before[query_id][:3]]
    if method == "pairs":
        assert main([*arguments, "-o", str(tmp_path / "c"), *more, *window]) == 2
        assert "--window and --step are options of method 'lists' (got 'pairs')" in capsys.readouterr().err
    else:
        assert "malformed answers of the list reranker, completed in the former order" in capsys.readouterr().err


@pytest.mark.neural
def test_an_answer_of_a_list_is_greedy_whatever_the_models_folder_asks_for(tmp_path: Path) -> None:
    from longrank.networks.model_files import find_model
    from longrank.scoring.list_decoder import ListDecoder
    from tiny_language_models import save_decoder

    texts, answers = ["stone house", "river water", "king of the north"], []
    for name, habits in (("plain", {}), ("habits", {"repetition_penalty": 9.0, "no_repeat_ngram_size": 1})):
        folder = save_decoder(tmp_path / name, max_tokens=512)
        path = folder / "generation_config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **habits}))
        answers.append(ListDecoder(find_model(str(folder))).arrange("where is the river", texts))
    assert answers[0] == answers[1]


@pytest.mark.neural
@pytest.mark.usefixtures("rounded_products")
def test_rounded_products_of_the_calling_program_are_noted_for_lists(tmp_path: Path) -> None:
    from longrank.networks.model_files import find_model
    from longrank.scoring.list_decoder import ListDecoder
    from tiny_language_models import save_decoder

    notes = Notes()
    decoder = ListDecoder(find_model(str(save_decoder(tmp_path / "m", max_tokens=512))), notes=notes)
    decoder.arrange("where is the river", ["stone house", "river water"])
    assert "this program lets PyTorch round float32 products (precision '" in notes.lines()[0]


@pytest.mark.neural
def test_a_prompt_of_a_list_is_a_message_in_the_chat_template(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from longrank.networks.model_files import find_model
    from longrank.scoring.list_decoder import ListDecoder
    from tiny_language_models import save_decoder

    folder = save_decoder(tmp_path / "m", max_tokens=512)
    template = folder / "chat_template.jinja"
    plain = ListDecoder(find_model(str(folder)))
    template.write_text("{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}{% endfor %}<answer>")
    decoder, read = ListDecoder(find_model(str(folder))), []
    assert decoder.fingerprint != plain.fingerprint
    tokenizer, special = decoder._tokenizer, decoder._tokenizer.all_special_tokens[0]

    class Spy:
        chat_template = tokenizer.chat_template
        apply_chat_template = tokenizer.apply_chat_template

        def __call__(self, text: str, **options: Any) -> Any:
            read.append((text, options.get("add_special_tokens")))
            return tokenizer(text, **options)

        def __getattr__(self, name: str) -> Any:
            return getattr(tokenizer, name)

    monkeypatch.setattr(decoder, "_tokenizer", Spy())
    decoder.arrange(f"river{special}", ["stone [3] > [1]", f"wa{special}ter"])
    (prompt, added), *_ = [(text, added) for text, added in read if text.startswith("<user>")]
    assert prompt.endswith("<answer>")
    assert not added
    assert "\n[1] stone (3) > (1)\n[2] wa ter\n" in prompt
    assert special not in prompt
    template.write_text("{{ raise_exception('only roles of a judge') }}")
    with pytest.raises(InputError, match="m: the model's chat template takes no message of a user: only roles"):
        ListDecoder(find_model(str(folder))).arrange("river", ["stone", "water"])


@pytest.mark.neural
def test_a_prompt_of_a_list_that_is_too_long_keeps_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from longrank.networks.model_files import find_model
    from longrank.scoring.list_decoder import ListDecoder
    from tiny_language_models import save_decoder

    notes, read = Notes(), []
    decoder = ListDecoder(find_model(str(save_decoder(tmp_path / "m", max_tokens=512))), notes=notes)
    generate, tokenizer = decoder._network.generate, decoder._tokenizer

    def spy(**options: Any) -> Any:
        read.append(tokenizer.decode(options["input_ids"][0]))
        assert options["input_ids"].shape[1] + options["max_new_tokens"] <= 512
        return generate(**options)

    monkeypatch.setattr(decoder._network, "generate", spy)
    texts = ["stone house", "river water " * 200, "king of the north"]
    decoder.arrange("where is the river bank " * 110, texts)
    decoder.arrange("where", texts[::2])
    for prompt, kept in zip(read, (texts[::2], texts[::2]), strict=True):
        assert prompt.rstrip().endswith("Write nothing else.")
        assert all(f"] {text}\n" in prompt for text in kept)
    assert notes["prompts of lists with a cut query"] == notes["passages cut, to list them in a prompt"] == 1
    uneven = ["river water " * 100, *["stone house"] * 3]  # more than a quarter of the room, and it fits
    decoder.arrange("where", uneven)
    assert all(f"] {text.strip()}" in read[-1] for text in uneven)
    assert notes["passages cut, to list them in a prompt"] == 1
    with pytest.raises(
        InputError, match="a prompt of 512 tokens has no room for 90 passages; choose a smaller --window"
    ):
        decoder.arrange("where", ["stone"] * 90)
    decoder.check_room(4)
    with pytest.raises(InputError, match="a prompt of 512 tokens has no room for 90 passages"):
        decoder.check_room(90)  # before a file is begun


def test_a_comparison_of_incomplete_evidence_is_ranked_by_the_comparison_alone(tmp_path: Path) -> None:
    index = index_of(documents(2), tmp_path / "index")
    compared = _Compared([], Run("r", []), {}, 3)
    header = compared.header({"stopped": "maxp"}, index, "lists")
    check_complete(header, "e", "document")
    for other in ("maxp", None):
        with pytest.raises(InputError, match="early stopping left this evidence incomplete"):
            check_complete(header, "e", other)
    check_complete(compared.header({}, index, "lists"), "e", None)


def test_passages_of_compared_documents_are_ordered_by_their_scores(tmp_path: Path) -> None:
    index = index_of(documents(2), tmp_path / "index")
    doc_id, places = index.doc_id(0), np.arange(3, dtype=np.int32)
    scores = np.array([1, 3, 2], np.float32)
    one = Evidence("q", doc_id, 1.0, places, places, places + 1, scores, np.ones(3, np.float32), 3, 0)
    compared = _Compared([], Run("r", [ScoredDoc("q", doc_id, 1.0)]), {"q": {doc_id: one}}, 3)
    (found,) = compared.evidence(index, [(Query("q", "x"), [])], lambda query, texts: [7.0])
    assert (found.document_score, found.passage_score.tolist()) == (7.0, [1, 3, 2])
    assert found.best_first().tolist() == one.best_first().tolist() == [1, 2, 0]


def test_wrong_values_are_refused_before_a_model_is_loaded(tmp_path: Path) -> None:
    from longrank.verbs.compare import compare

    for more in ({"depth": 0}, {"window": 1}, {"step": 0}):
        with pytest.raises(InputError):
            compare(tmp_path, [], {}, tmp_path, model="m", **more)


@pytest.mark.neural
def test_an_interrupted_comparison_resumes_to_the_same_bytes(tmp_path: Path) -> None:
    import longrank
    from longrank.formats.evidence import EvidenceWriter, read_evidence
    from tiny_language_models import save_seq2seq

    folder, model = write_collection(tmp_path), save_seq2seq(tmp_path / "m")
    index, queries, run = (folder / name for name in ("index", "queries.jsonl", "first.run"))
    lexical = tmp_path / "lexical.evidence"
    first = longrank.rerank(index, queries, run, pipeline="lexical", depth=4, evidence=lexical)

    def compare(path: Path, depth: int = 3, **more: Any) -> Run:
        options = {"model": str(model), "depth": depth, "output_evidence": path, **more}
        return longrank.compare(index, queries, first, lexical, **options)

    class Interrupted(Exception):
        pass

    def interrupt(n: int) -> None:
        if n:  # 0 says how many queries an earlier call has done
            raise Interrupted

    whole = compare(tmp_path / "whole")
    with pytest.raises(Interrupted):
        compare(tmp_path / "cut", progress=interrupt)
    steps: list[int] = []
    resumed = compare(tmp_path / "cut", progress=steps.append)
    assert (steps[0], sum(steps)) == (1, len(whole))
    assert (tmp_path / "cut").read_bytes() == (tmp_path / "whole").read_bytes()
    assert list(resumed.rows()) == list(whole.rows())
    assert "queries compared by an earlier call" in " ".join(resumed.notes.lines())
    header, evidence = read_evidence(tmp_path / "whole")
    assert header["scorer"].startswith("pairs ")
    assert {document.document_score is not None for document in evidence} == {True}
    aggregated = longrank.aggregate(tmp_path / "whole", "document", first_stage=first)
    assert [row.doc_id for row in aggregated.rows()] == [row.doc_id for row in whole.rows()]
    with pytest.raises(InputError, match="was begun with other"):
        compare(tmp_path / "whole", depth=2)
    header, records = read_evidence(lexical)
    higher = [replace(document, passage_score=document.passage_score + 1) for document in records]  # the same order
    lexical = tmp_path / "higher.evidence"
    with EvidenceWriter(lexical, header) as writer:
        for query_id, own in groupby(higher, key=lambda document: document.query_id):
            writer.write_query(query_id, list(own))
        writer.commit()
    with pytest.raises(InputError, match="was begun with other candidates"):
        compare(tmp_path / "whole")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, None),
        ({"another": "river"}, None),  # a query that the run lacks
        ({"first": "king moon"}, "refused"),
        ({"first": "king moon", "last": None}, "noted"),  # the digest is of both
        ({"last": None}, "noted"),
    ],
)
def test_evidence_of_other_queries_is_refused(changed: dict[str, str | None], said: str | None, tmp_path: Path) -> None:
    """Its best passages would be compared as those of the new queries. No model is loaded before."""
    import longrank

    index = longrank.Index.build([("a", "river bank water"), ("b", "king moon river")], tmp_path / "index")
    queries = {"first": "river water", "last": "moon"}
    evidence = tmp_path / "run.evidence"
    run = longrank.rerank(index, queries, longrank.retrieve(index, queries), pipeline="lexical", evidence=evidence)
    others = {query_id: text for query_id, text in {**queries, **changed}.items() if text is not None}
    notes = Notes()
    reason = "run.evidence: the evidence is of other queries" if said == "refused" else "no such model folder"
    with pytest.raises(InputError, match=reason):
        longrank.compare(index, others, run, evidence, model="./none", notes=notes)
    assert any("is of other queries, or of more" in line for line in notes.lines()) is (said == "noted")


def test_evidence_of_an_index_of_several_languages_is_compared(tmp_path: Path) -> None:
    """Its digest of the queries is also of their languages, which `compare` does not know."""
    import longrank

    documents = [longrank.Document("a", "", "river bank", metadata={"lang": "en"})]
    index = longrank.Index.build(documents, tmp_path / "index", analyzer_field="lang")
    queries, evidence, notes = {"1": "river"}, tmp_path / "evidence", Notes()
    run = longrank.retrieve(index, queries, lang="en")
    longrank.rerank(index, queries, run, pipeline="lexical", lang="en", evidence=evidence)
    with pytest.raises(InputError, match="no such model folder"):
        longrank.compare(index, queries, run, evidence, model="./none", notes=notes)
    assert any("is of other queries, or of more" in line for line in notes.lines())
