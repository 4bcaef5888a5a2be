"""Workers read the index, vectors and models that the command opened, or refuse: no run mixes two states."""

from __future__ import annotations

import pickle
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

import longrank
from longrank.engines import Local, changed, check_same_model, opening_here
from longrank.engines.opening import Changed
from longrank.index import Index
from longrank.index.shared import SharedIndex
from longrank.types import Notes, Run
from training_collections import SMALL, write_collection

TEXTS = [(f"d{n}", f"river fish {'word ' * n} number{n}") for n in range(6)]
OTHERS = [("d0", "nothing here"), *((f"n{n}", "river river") for n in range(50))]
QUERIES = {str(n): f"river number{n % 6}" for n in range(9)}
AGAIN = r": .*changed since this command opened (it|them) \(noticed on the node \S+\); run the command again$"


class Late:
    """An engine whose workers open what they need after a change; they are copies of the function, as in processes."""

    workers, threads = 2, None

    def __init__(self, change: Callable[[], object]) -> None:
        self._change = change

    def each(self, function: Any, tasks: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        functions = [function] if callable(function) else list(function)
        travelled = [pickle.dumps(one) for one in functions]
        self._change()
        workers = [pickle.loads(one) for one in travelled]
        for number, task in enumerate(tasks):
            yield number, workers[number % len(workers)](task)


@pytest.fixture
def index(tmp_path: Path) -> Index:
    made = Index.build(TEXTS, tmp_path / "my.index")
    made.delete(["d5"])
    return made.add([("d7", "a boat on the river")])  # two segments, one with a deletion


def add(index: Index) -> None:
    """Commit what keeps the segments, as ``index --add --replace`` does."""
    Index(index.path).add(OTHERS, replace=True)


def rebuild(index: Index) -> None:
    """Replace all segments."""
    Index.build(OTHERS, index.path)


def rows(run: Run) -> list[Any]:
    return list(run.rows())


def test_a_shared_index_is_the_state_that_was_opened_while_its_segments_are_there(index: Index) -> None:
    shared = pickle.loads(pickle.dumps(SharedIndex.of(index)))
    add(index)
    opened = shared.open()
    assert (opened.digest, list(opened)) == (index.digest, list(index))
    assert opened.digest != Index(index.path).digest
    assert pickle.loads(pickle.dumps(SharedIndex.of(opened))).open().digest == index.digest
    Index(index.path).merge()
    with pytest.raises(Changed, match=f"^{index.path}{AGAIN}"):
        shared.open()


def test_a_pickled_index_is_its_state(index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(index.path.parent)
    pickled = pickle.dumps(Index(index.path.name))
    assert len(pickled) < 2_000
    add(index)
    monkeypatch.chdir(tmp_path)
    opened = pickle.loads(pickled)
    assert (opened.digest, list(opened)) == (index.digest, list(index))


def test_a_copy_of_another_state_is_refused_where_the_folder_is_absent(index: Index, tmp_path: Path) -> None:
    other = Index.build(OTHERS, tmp_path / "copy")
    shared = SharedIndex.of(index)._replace(place=other.path, path=tmp_path / "absent")
    with pytest.raises(Changed, match=f"^{other.path}{AGAIN}"):
        shared.open()


@pytest.mark.parametrize("filter", [None, {"year": {"$gte": 2000}}])
def test_retrieve_reads_the_index_that_it_opened(tmp_path: Path, filter: Any) -> None:
    documents = [{"doc_id": doc_id, "text": text, "year": 1998 + n} for n, (doc_id, text) in enumerate(TEXTS)]
    index = Index.build(documents, tmp_path / "my.index")
    alone = longrank.retrieve(index.path, QUERIES, k=4, filter=filter)
    late = Late(lambda: index.add([{"doc_id": "d0", "text": "x", "year": 2024}], replace=True))
    assert rows(longrank.retrieve(index.path, QUERIES, k=4, filter=filter, engine=late)) == rows(alone)


def test_retrieve_refuses_an_index_that_was_replaced(index: Index) -> None:
    with pytest.raises(Changed, match=f"^{index.path}{AGAIN}"):
        longrank.retrieve(index.path, QUERIES, engine=Late(lambda: rebuild(index)))


def test_the_refusal_of_a_process_is_one_line(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    import longrank.engines.local as local

    started = local._started

    def after_a_change(functions: Sequence[Callable[[Any], Any]]) -> Any:
        rebuild(index)
        return started(functions)

    monkeypatch.setattr(local, "_started", after_a_change)
    with pytest.raises(Changed, match=f"^{index.path}{AGAIN}"):
        longrank.retrieve(index.path, {str(n): "river" for n in range(130)}, engine=Local(2))


def test_rerank_reads_the_index_that_it_opened_or_refuses(index: Index) -> None:
    first = longrank.retrieve(index, QUERIES)
    alone = longrank.rerank(index.path, QUERIES, first, pipeline="lexical")
    late = longrank.rerank(index.path, QUERIES, first, pipeline="lexical", engine=Late(lambda: add(index)))
    assert rows(late) == rows(alone)
    with pytest.raises(Changed, match=f"^{index.path}{AGAIN}"):
        longrank.rerank(
            Index(index.path), QUERIES, first, pipeline="lexical", missing="keep", engine=Late(lambda: rebuild(index))
        )


def test_tune_reads_the_index_that_it_opened_or_refuses(tmp_path: Path) -> None:
    from longrank.evaluation.tuning.search import tabulate
    from tunable import build, search_of

    search, axes = search_of(build(tmp_path)), {"b": (0.0, 0.5, 1.0)}
    alone = tabulate(search, axes, tmp_path / "journal").values
    travelled, index = pickle.dumps(search), Index(tmp_path / "index")
    index.add([("more", "alpha " * 9)])
    assert pickle.loads(travelled)({"b": 0.5}).tolist() == alone[1].tolist()
    rebuild(index)
    with pytest.raises(Changed, match=AGAIN):
        pickle.loads(travelled)({"b": 0.5})


def test_fingerprints_are_compared_with_the_device_or_by_the_models_alone() -> None:
    mine, other = "sha256:0123456789abcdef", "sha256:fedcba9876543210"
    here = f"bi-encoder o/m@c1 {mine} max_tokens=9 device=cpu dtype=int8 precision=bf16"
    for same in (here, "", here.replace("cpu", "cuda").replace("=9", "=8")):
        check_same_model(here, same, "o/m")
    for differing in (here.replace("=9", "=8"), here.replace(mine, other), here.replace("@c1", "@c2")):
        with pytest.raises(Changed, match=r"^o/m: changed since"):
            check_same_model(here, differing, "o/m")
        with nullcontext() if "=8" in differing else pytest.raises(Changed):
            check_same_model(here, differing.replace("cpu", "cuda"), "o/m")


def test_the_error_of_a_changed_input_keeps_its_cure() -> None:
    with pytest.raises(Changed, match=f"^my.index{AGAIN}"), opening_here():
        raise pickle.loads(pickle.dumps(changed("my.index")))


def replaced(folder: Path, save: Callable[[Path], object]) -> None:
    """Replace a model by another of the same settings."""
    from tiny_models import rewrite

    shutil.rmtree(folder)
    save(folder)

    def negate(tensors: dict[str, Any]) -> None:
        tensors.update({name: -values for name, values in tensors.items() if values.is_floating_point()})

    rewrite(folder, negate)


@pytest.mark.neural
def test_rerank_refuses_a_model_that_was_replaced(index: Index, tmp_path: Path) -> None:
    from tiny_models import save_cross_encoder

    first, model = longrank.retrieve(index, QUERIES), save_cross_encoder(tmp_path / "m")
    late = Late(lambda: replaced(model, save_cross_encoder))
    with pytest.raises(Changed, match=f"^{model}{AGAIN}"):
        longrank.rerank(index, QUERIES, first, pipeline="maxp", model=str(model), engine=late)


@pytest.mark.neural
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_vectors_are_not_encoded_by_a_model_that_was_replaced(index: Index, tmp_path: Path, kind: str) -> None:
    from longrank.verbs.index import add_sparse, add_vectors
    from sparse_models import save_splade
    from tiny_models import save_encoder

    save, store = (save_encoder, add_vectors) if kind == "dense" else (save_splade, add_sparse)
    model = save(tmp_path / "m")
    with pytest.raises(Changed, match=f"^{model}{AGAIN}"):
        store(index, str(model), "windows", engine=Late(lambda: replaced(model, save)))
    store(index, str(model), "windows", engine=Late(lambda: None))


@pytest.mark.neural
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_retrieve_reads_the_vectors_that_it_opened_or_refuses(index: Index, tmp_path: Path, kind: str) -> None:
    from longrank.verbs.index import add_sparse, add_vectors
    from sparse_models import save_splade
    from tiny_models import save_encoder

    save, store = (save_encoder, add_vectors) if kind == "dense" else (save_splade, add_sparse)
    model = save(tmp_path / "m")

    def found(change: Callable[[], object] | None = None) -> list[Any]:
        engine = None if change is None else Late(change)
        return rows(longrank.retrieve(index.path, QUERIES, preset=kind, model=str(model), engine=engine))

    def stored() -> None:
        store(Index(index.path), str(model), "windows")

    def by_another_model() -> None:
        replaced(model, save)
        stored()

    def of_more_documents() -> None:
        Index(index.path).add([("d8", "another river")])
        stored()

    stored()
    alone = found()
    with pytest.raises(Changed, match=AGAIN):
        found(by_another_model)
    shutil.rmtree(model)
    save(model)
    stored()
    with pytest.raises(Changed, match=AGAIN):
        found(of_more_documents)
    assert len(found()) > len(alone)


@pytest.mark.neural
def test_expand_refuses_a_model_that_was_replaced(tmp_path: Path) -> None:
    from tiny_language_models import save_seq2seq

    model, output = save_seq2seq(tmp_path / "t5"), tmp_path / "d2q.jsonl"
    options: dict[str, Any] = {"n": 1, "max_query_tokens": 8, "device": "cpu"}
    with pytest.raises(Changed, match=f"^{model}{AGAIN}"):
        longrank.expand(TEXTS, str(model), output, engine=Late(lambda: replaced(model, save_seq2seq)), **options)
    assert not output.exists()


@pytest.mark.neural
@pytest.mark.parametrize("what", ["index", "model"])
def test_folds_refuse_an_index_or_a_model_that_was_replaced(tmp_path: Path, what: str) -> None:
    from tiny_models import save_encoder

    place, model = write_collection(tmp_path), save_encoder(tmp_path / "encoder")
    inputs = [place / name for name in ("index", "queries.jsonl", "qrels.txt", "first.run")]
    sets = [*SMALL, "network.name=parade-max", f"network.model={model}", "loop.steps=1", "loop.validate_every=1"]

    def change() -> None:
        if what == "index":
            rebuild(Index(inputs[0]))
        else:
            replaced(model, save_encoder)

    with pytest.raises(Changed, match=f"^{inputs[0] if what == 'index' else model}{AGAIN}"):
        longrank.train(
            "parade", *inputs, output=tmp_path / "out", folds=3, assignments=sets, engine=Late(change), notes=Notes()
        )
    assert not list((tmp_path / "out").glob("*/model"))
