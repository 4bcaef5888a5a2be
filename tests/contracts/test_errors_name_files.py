"""Every error about the content of an input names a file: its own, or the command adds the input's."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from inspect import Parameter, signature
from pathlib import Path

import pytest

import longrank
from longrank import verbs
from longrank.errors import InputError
from longrank.verbs.naming import naming, naming_files

_SOURCES = Path(longrank.__file__).parent
_CONTENT = re.compile(
    r"not in the index|in common|occurs? in (the run|a relevant)|relevant document|lacks (document|a paragraph)|"
    r"the query file lacks|test quer|dev quer|fold '|folds? (share|test|names)|is judged|judged before|have no judg|"
    r"held-out|of the run|evidence (of|keeps|holds)|the teacher|does not rank|has no relevant|no gold span|"
    r"^f?'documents of|grade of document"
)
_OF_VALUES_IN_MEMORY = {
    "no evidence can be read from a {type(source).__name__}",
    "judgments of query {query_id} are not a mapping",
    "the ranking of query {query_id} is not a mapping",
}
_OF_OPTIONS = {
    "the name of the run file is empty",
    "sizes that learn from the teacher {teacher} must follow it",
    "leave-one-out needs the document scores of a document network",
    "negatives of the run need a run",
    "no loss learns from the teacher",
    "the loss {own} needs the teacher's own logits, and evidence holds one score of a document",
    "the run ranks the first k documents, and `k` is not given",
    "`{option}` belongs to folds that are made",
}


def _calls() -> Iterator[tuple[str, str, set[str | None], ast.Call]]:
    """Place, message and keywords of every `InputError` in the sources."""
    for path in sorted(_SOURCES.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "InputError":
                message = ast.unparse(node.args[0]).removeprefix("f").strip("'\"")
                place = f"{path.relative_to(_SOURCES)}:{node.lineno}"
                yield place, message, {keyword.arg for keyword in node.keywords}, node


def test_every_error_about_the_content_of_an_input_names_its_file() -> None:
    calls = list(_calls())
    assert len(calls) > 500
    nameless = [
        f"{place}: {message}"
        for place, message, keywords, _ in calls
        if _CONTENT.search(message)
        and not keywords & {"path", "about"}
        and message not in _OF_VALUES_IN_MEMORY | _OF_OPTIONS
    ]
    assert nameless == []


def _verbs() -> dict[str, Parameter]:
    """The parameters of all verbs that name their files."""
    found: dict[str, Parameter] = {}
    for path in sorted(Path(verbs.__path__[0]).rglob("*.py")):
        module = ".".join(["longrank", *path.relative_to(_SOURCES).with_suffix("").parts]).removesuffix(".__init__")
        for name, value in vars(__import__(module, fromlist=["_"])).items():
            if getattr(value, "__module__", "") == module and hasattr(value, "__wrapped__") and name[0] != "_":
                found |= dict(signature(value).parameters)
    return found


def test_every_input_that_an_error_is_about_is_a_parameter_of_a_command() -> None:
    known = {*_verbs(), "heldout"}
    for place, _, _, node in _calls():
        for keyword in node.keywords:
            if keyword.arg == "about":
                assert set(ast.literal_eval(keyword.value)) <= known, place


@naming_files
def _ranked(queries: object, run: object = None, *others: object) -> None:
    raise InputError("nothing in common", about=("queries", "run"), got=7, fix="see the ids")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("q.tsv", Path("a.run")), "q.tsv, a.run: nothing in common (got 7); see the ids"),
        (("q.tsv", {"q": {}}), "q.tsv: nothing in common (got 7); see the ids"),
        ((["q"], {"q": {}}), "q: nothing in common (got 7); see the ids"),
        (({"q": "x"},), "nothing in common (got 7); see the ids"),
        ((list("abcde"),), "a, b, c and 2 more: nothing in common (got 7); see the ids"),
    ],
)
def test_files_are_named_and_values_in_memory_are_not(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(InputError) as error:
        _ranked(*arguments)
    assert str(error.value) == message


def test_a_path_that_is_known_stays() -> None:
    with pytest.raises(InputError, match=r"^own\.txt: fault$"), naming({"run": "a.run"}):
        raise InputError("fault", path="own.txt", about=("run",))
