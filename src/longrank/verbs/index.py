"""Check the disk before an index is built, and store passage vectors with it: the work of ``longrank index``.

`longrank.Index.build` builds the index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import cast, get_args

from longrank.collections.databases import is_address
from longrank.collections.patterns import matching
from longrank.engines import Engine, open_engine
from longrank.errors import InputError, LongRankError
from longrank.index import Index
from longrank.index.folder import VECTORS, verify_index
from longrank.index.locking import building
from longrank.index.publishing import STALE, note_stale_vectors
from longrank.index.vectors import VectorsType
from longrank.registries import lookup
from longrank.storage import verify
from longrank.storage.cache import cache_folder
from longrank.storage.remote import address_of, changing, upload
from longrank.types import Notes


def needed_bytes(sources: Iterable[str | Path], output: str | Path, shards: int = 1) -> int | None:
    """Return about how many bytes of disk a build takes at its peak; None if files are gzipped, or documents fetched.

    Raises:
        InputError: the disk of `output` has too little space.
    """
    from longrank.index.space import check_space

    files: list[Path] = []
    if any(is_address(str(source)) for source in sources):
        return None
    for source in (Path(name) for pattern in sources for name in matching(str(pattern))):
        files += (path for path in source.rglob("*") if path.is_file()) if source.is_dir() else [source]
    if any(path.suffix.lower() == ".gz" or not path.is_file() for path in files):
        return None
    place = cache_folder() if address_of(output) else Path(output)
    return check_space(place, sum(path.stat().st_size for path in files), shards)


def upload_index(index: Index | str | Path, address: str, *, notes: Notes | None = None) -> None:
    """Upload an index as it is, with its vectors, in place of the index at an address; files that are there are kept.

    Args:
        index: an index or its folder.
        address: ``s3://BUCKET/NAME``.
        notes: counts files that need not be sent.

    Raises:
        InputError: no such index, another process is writing to it, no connection, bucket or rights.
        MissingExtra: s3fs is not installed.
        IntegrityError: a file of the index is damaged; nothing is sent.
        LongRankError: writing failed.
    """
    opened, notes = Index.open(index), Notes() if notes is None else notes
    with building(opened.path) if isinstance(opened.place, Path) else nullcontext():  # nobody changes it meanwhile
        verify_index(opened.path)  # the upload removes the older version
        upload(opened.path, address, notes)


def add_vectors(
    index: Index | str | Path,
    model: str,
    passages: str = "tokens",
    *,
    dtype: str | None = None,
    ann: str | None = None,
    engine: str | Engine | None = None,
    workers: int | None = None,
    resources: Mapping[str, float] | str | None = None,
    notes: Notes | None = None,
    progress: Callable[[int], object] | None = None,
) -> Index:
    """Store the vectors of all passages with an index; vectors that are there already are kept.

    Args:
        index: an index, its folder or its address.
        model: a bi-encoder: an alias such as ``minilm``, a folder or a Hugging Face name.
        passages: how documents are split: a key of `longrank.text.segment.PRESETS`.
        dtype: ``int8``: also store the vectors as 8-bit numbers, of which a search reads a quarter of the bytes; the
            best are scored again from float32, so results stay the same. ``float32``: only that. None: as the index
            has them now.
        ann: ``hnsw`` or ``ivf-pq``: also store a graph or quantised lists for approximate search; measures the recall.
        engine: where documents are encoded: ``local`` processes, ``ray`` or ``ray=ADDRESS``; as of
            `longrank.engines.open_engine`, as are `workers` and `resources`. The bytes are the same.
        workers: processes, or workers of the cluster, each with the model.
        resources: resources that each worker of a cluster holds, e.g. ``{"GPU": 1}``.
        notes: counts passages longer than the model can read; the index carries it.
        progress: called with the number of documents just done.

    Returns:
        The index, opened again.

    Raises:
        InputError: no such index, model or preset, or the index cannot be written to.
        MissingExtra: the extras for neural networks, or with `ann` the extra ``ann``, are not installed.
        IntegrityError: a file of the index or of the model is damaged.
    """
    from longrank.ranking import build

    place, notes = index.location if isinstance(index, Index) else index, Notes() if notes is None else notes
    check_search(ann, dtype, model)
    with changing(place, notes) as folder:
        before, numbers = _approximate(folder), cast("VectorsType | None", dtype)
        with open_engine(engine, workers=workers, resources=resources) as opened_engine:
            path = build.add_vectors(
                folder, model, passages, notes, progress or (lambda n: None), engine=opened_engine, dtype=numbers
            )
        if ann is not None:
            _add_graph(Index(folder), path.name, ann, notes)
        else:
            now = _approximate(folder)
            for lost in sorted(graph.name for graph in before - now):
                notes.say(f"{path.name} has lost its approximate search; to build it again: --ann {lost}")
            for graph in sorted(graph for graph in now if graph.parent == path):
                _tell_if_damaged(graph, notes)
        _note_stale_again(folder, notes)
    opened = index.opened_again() if isinstance(index, Index) else Index(place)
    opened.notes = notes
    return opened


def _add_graph(index: Index, vectors: str, ann: str, notes: Notes) -> None:
    from longrank.index.vectors import stored_vectors
    from longrank.retrieval.approximate import write_graph

    graph = write_graph(index, stored_vectors(index, vectors), ann)
    notes.say(f"{ann}: recall@100 {graph.recall:.4f} of sampled passages against exact search")


def _tell_if_damaged(graph: Path, notes: Notes) -> None:
    try:
        verify(graph)
    except LongRankError as error:
        notes.say(f"{error}; to build it again: --ann {graph.name}")


def _note_stale_again(folder: Path, notes: Notes) -> None:
    """Leave vectors that have just been stored out of an earlier note."""
    if STALE in notes:
        note_stale_vectors(folder, notes, Index(folder).digest)


def _approximate(index: Path) -> set[Path]:
    """Return the folders of approximate search in an index."""
    from longrank.retrieval.ann_methods import ANN_METHODS

    return {path for method in ANN_METHODS for path in (index / VECTORS).glob(f"*/{method}")}


def add_sparse(
    index: Index | str | Path,
    model: str,
    passages: str = "tokens",
    *,
    engine: str | Engine | None = None,
    workers: int | None = None,
    resources: Mapping[str, float] | str | None = None,
    notes: Notes | None = None,
    progress: Callable[[int], object] | None = None,
) -> Index:
    """Store the learned sparse vectors of all passages with an index; vectors that are there already are kept.

    Args:
        index: an index or its folder.
        model: a model of sentence-transformers' ``SparseEncoder``: a folder or a Hugging Face name.
        passages: as of `add_vectors`, as are `engine`, `workers`, `resources`, `notes` and `progress`.
        notes: counts passages longer than the model can read; the index carries it.
        progress: called with the number of documents just done.

    Returns:
        The index, opened again.

    Raises:
        InputError, MissingExtra, IntegrityError: as `add_vectors`.
    """
    from longrank.ranking import build_sparse

    place, notes = index.location if isinstance(index, Index) else index, Notes() if notes is None else notes
    with changing(place, notes) as folder, open_engine(engine, workers=workers, resources=resources) as opened_engine:
        build_sparse.add_sparse(folder, model, passages, notes, progress or (lambda n: None), engine=opened_engine)
        _note_stale_again(folder, notes)
    opened = index.opened_again() if isinstance(index, Index) else Index(place)
    opened.notes = notes
    return opened


def check_search(ann: str | None, dtype: str | None, vectors: str | None) -> None:
    """Check before a long build that a search of vectors can be prepared after it as `add_vectors` is told.

    Raises:
        InputError: an unknown method or type, or no model of vectors.
        MissingExtra: faiss is not installed.
    """
    for option, value in {"--ann": ann, "--vectors-dtype": dtype}.items():
        if value is not None and vectors is None:
            raise InputError(f"{option} needs --vectors", fix="add --vectors minilm")
    if dtype is not None:
        lookup(dict.fromkeys(get_args(VectorsType)), dtype, "type of vectors")
    if ann is None:
        return
    from longrank.retrieval.ann_methods import ANN_METHODS
    from longrank.retrieval.approximate import load_faiss

    lookup(ANN_METHODS, ann, "approximate search")
    load_faiss()
