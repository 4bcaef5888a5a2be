from __future__ import annotations

from pathlib import Path

import pytest

from longrank.errors import InputError
from longrank.training.passage_data.contradictions import Labels
from longrank.training.passage_data.examples import Example, ExampleFile, group, write_examples
from longrank.training.settings import PassageTraining, load_training
from longrank.types import Notes

pytest.importorskip("torch")
from longrank.training.passage_task import Development, check_examples


def row(query: str, text: str, label: float) -> Example:
    return Example(query, (text,), (label,))


def by_length(query: str, texts: object) -> list[int]:
    assert isinstance(texts, tuple)
    return [len(text) for text in texts]


def test_single_texts_are_ranked_by_query_and_groups_as_they_are() -> None:
    examples = [row("q", "aa", 1.0), row("p", "a", 0.0), group("q", ["aaa", "a"]), row("q", "aaa", 0.0)]
    examples += [row("p", "b", 1.0)]
    # q: the relevant text is second of two; p: a tie, in which the later text, the relevant one, is first
    assert Development(examples, "RR").value(by_length) == pytest.approx((1 / 2 + 1 + 1) / 3)


def test_of_equal_scores_the_relevant_text_of_a_group_is_last() -> None:
    assert Development([group("q", ["a", "b", "c"])], "RR").value(by_length) == pytest.approx(1 / 3)


def test_a_query_without_a_relevant_text_counts_0() -> None:
    assert Development([row("q", "a", 0.0), row("p", "a", 1.0)], "AP").value(by_length) == pytest.approx(0.5)


def test_texts_with_both_labels_for_one_query_are_counted() -> None:
    labels = Labels()
    for example in [row("q", "a", 1), row("q", "b", 1), row("p", "a", 0), row("q", "b", 0), row("q", "b", 0)]:
        labels.add(example)
    assert labels.contradictions() == (1, 4)
    labels.add(group("q", ["c", "a"]))
    assert labels.contradictions() == (2, 6)
    assert Labels().contradictions() == (0, 0)


def test_a_training_says_that_labels_contradict_each_other(tmp_path: Path) -> None:
    settings = load_training("monobert", ["network.model=x"])
    assert isinstance(settings, PassageTraining)
    write_examples([row("q", "a", 1), row("q", "b", 0), row("q", "a", 0)], tmp_path / "rows.jsonl")
    notes = Notes()
    check_examples(settings, ExampleFile(tmp_path / "rows.jsonl", notes), notes)
    (line,) = notes.lines()
    assert "texts with the labels 1 and 0 for one query" in line
    assert f"{tmp_path / 'rows.jsonl'}:3" in line


@pytest.mark.parametrize(("loss", "unused"), [("lce", 2), ("margin-mse", 0)])
def test_scores_of_a_teacher_from_which_no_loss_learns_are_counted(loss: str, unused: int, tmp_path: Path) -> None:
    settings = load_training("monobert", ["network.model=x", f'loss=[{{name="{loss}"}}]'])
    assert isinstance(settings, PassageTraining)
    write_examples([group("q", ["a", "b"], [2, 1]), group("p", ["a", "b"], [2, 1])], tmp_path / "groups.jsonl")
    notes = Notes()
    check_examples(settings, ExampleFile(tmp_path / "groups.jsonl", notes), notes)
    assert notes["examples with scores of a teacher, from which no loss learns"] == unused


def test_nothing_relevant_is_refused() -> None:
    with pytest.raises(InputError, match="no relevant text"):
        Development([row("q", "a", 0.0)], "RR")
