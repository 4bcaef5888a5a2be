"""What the benchmarks of expansion index: no near-duplicate of a tested question, and what models may learn from."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from longrank.evaluation.folds import make_folds
from longrank.text.analysis import ANALYZERS
from longrank.types import Query


@pytest.fixture
def ceiling() -> ModuleType:
    return import_module("benchmarks.doc2query_ceiling")


def test_questions_that_share_half_of_their_terms_or_their_text_are_one_group(ceiling: ModuleType) -> None:
    texts = {
        "a": "Who won the final match?",  # won final match
        "b": "In what year did the team win the final match?",  # year team win final match: 2 of 6 in common with a
        "c": "Who won the final?",  # 2 of 3 in common with a
        "d": "who won the final?",  # as c, in another article
        "e": "Who won the final match?",  # as a, in another article
        "f": "Which river is long?",
        "g": "How long is the river in winter, and how deep?",  # river long winter how deep: 2 of 5 or 6 with f
    }
    articles = {name: "other" if name in "de" else "one" for name in texts}
    queries = [Query(name, text) for name, text in texts.items()]
    terms = {name: frozenset(ANALYZERS["porter"](text)) for name, text in texts.items()}
    groups = ceiling.groups_of(queries, articles, terms)
    together = {frozenset(name for name in texts if groups[name] == leader) for leader in set(groups.values())}
    assert together == {frozenset("acde"), frozenset("b"), frozenset("f"), frozenset("g")}


def test_predictions_are_other_questions_about_the_document_or_about_another(
    ceiling: ModuleType, tmp_path: Path
) -> None:
    texts = {f"q{n}": f"question {n}" for n in range(6)}
    qrels = {f"q{n}": {f"d{n % 3}": 1} for n in range(6)}
    questions = ceiling.Questions(texts, qrels, {}, {}, {})
    for elsewhere in (False, True):
        ceiling.write_predictions(questions, list(texts)[:5], tmp_path / "p.jsonl", elsewhere=elsewhere)
        lines = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
        assert sorted(line["doc_id"] for line in lines) == ["d0", "d1", "d2"]
        assert sorted(query for line in lines for query in line["queries"]) == sorted(texts.values())[:5]
        own = [f"d{int(query[-1]) % 3}" == line["doc_id"] for line in lines for query in line["queries"]]
        assert own == [not elsewhere] * 5


def test_no_fold_indexes_what_reads_like_a_question_that_it_tests(ceiling: ModuleType, shared_data: Path) -> None:
    questions = ceiling.read_questions(shared_data)
    folds = make_folds(sorted(questions.texts), ceiling.N_FOLDS, ceiling.SEED, questions.groups)
    lowered = {name: text.lower() for name, text in questions.texts.items()}
    for fold in folds.values():
        assert not {lowered[name] for name in fold.test} & {lowered[name] for name in (*fold.train, *fold.dev)}
    assert sorted(name for fold in folds.values() for name in fold.test) == sorted(questions.texts)


def test_the_models_of_the_path_learn_from_no_evaluated_question(ceiling: ModuleType, shared_data: Path) -> None:
    path, pools = import_module("benchmarks.doc2query_path"), import_module("benchmarks.training_pools")
    first, second = path.halves(shared_data)
    learned = [one.query.lower() for one in (*first, *second)]
    assert not set(learned) & pools.evaluated_texts(shared_data)
    assert abs(len(first) - len(second)) <= 1 and len(learned) > 11_000
