"""A PyTerrier transformer that reranks whole documents by their passages; needs no Java.

    pipeline = first_stage >> LongRankReranker("maxp", model="./my-cross-encoder")

Documents come as rows with `qid`, `query`, `docno`, `text` and, optionally, `title`. All columns are kept but
`score` and `rank`, which are new; `longrank_score`, `longrank_unit`, `longrank_aggregator`, `longrank_truncated` and
`longrank_passages` are the evidence. With a deadline, `longrank_partial` has the counts of a ranking that it cut short.
"""

from __future__ import annotations

from itertools import repeat
from typing import Any

from longrank.config import Assignments
from longrank.errors import InputError, MissingExtra
from longrank.integrations.reranking import KEY, LazyReranker, check_counts, document

try:
    import pandas as pd
    import pyterrier as pt
except ImportError:
    raise MissingExtra("the PyTerrier transformer", "pyterrier") from None

_EVIDENCE = {"score": "float64", "unit": "object", "aggregator": "object", "truncated": "bool", "passages": "object"}
_NEW = {f"{KEY}_{name}": kind for name, kind in _EVIDENCE.items()} | {"score": "float64", "rank": "int64"}
_PARTIAL = f"{KEY}_partial"


class LongRankReranker(pt.Transformer):  # type: ignore[misc]  # pyterrier has no types
    """Reranks the documents of each query, best first; scores are in the scorer's unit.

    Args:
        pipeline: a shipped pipeline's name or a TOML file; only its passage scorer and aggregator are used.
            None: ``maxp`` with a model, ``minilm`` without.
        model: a Hugging Face name, a folder or an alias; replaces the pipeline's own.
        index: folder of an index whose statistics the ``lexical`` pipeline takes; None: those of each call's documents.
        assignments: ``section.key=value`` on top of the pipeline.
        passages: passages in `longrank_passages` of each document, best first.
        deadline: seconds for each query, after which what is read by then is ranked; loading the model is not counted.
            None: all is read.

    Raises:
        InputError: no such pipeline, or a setting is unknown or wrong; at the first use: a model cannot be loaded.
    """

    def __init__(
        self,
        pipeline: str | None = None,
        *,
        model: str | None = None,
        index: str | None = None,
        assignments: Assignments = (),
        passages: int = 3,
        deadline: float | None = None,
    ) -> None:
        super().__init__()
        check_counts("num_results", None, passages)
        options: dict[str, Any] = {"model": model, "index": index, "assignments": assignments}
        self.reranker = LazyReranker(pipeline, **options, deadline=deadline)
        self.passages = passages
        self.schematic = {"label": f"LongRank {self.reranker.name}"}

    @property
    def _new(self) -> dict[str, str]:
        """New columns and their types."""
        return _NEW if self.reranker.deadline is None else {**_NEW, _PARTIAL: "object"}

    def __repr__(self) -> str:
        return f"LongRankReranker({self.reranker.name!r}, model={self.reranker.model!r})"

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Return the rows in their new order, with the new columns.

        Raises:
            InputError: a text or a qid is missing, or rows of a qid have different queries; or as the constructor.
        """
        pt.validate.result_frame(inp, extra_columns=["query", "text"])
        if (missing := inp[inp["qid"].isna()]).size:
            raise InputError(f"document {missing['docno'].iloc[0]!r} has no qid", fix="give it a qid, or drop its row")
        rows = inp.drop(columns=[*_NEW, _PARTIAL], errors="ignore")
        if rows.empty:
            return rows.assign(**{name: pd.Series(dtype=kind) for name, kind in self._new.items()})
        return pd.concat([self._ranked(group) for _, group in rows.groupby("qid", sort=False)], ignore_index=True)

    def _ranked(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of one query in their new order."""
        if rows["query"].nunique(dropna=False) > 1:
            got, fix = rows["qid"].iloc[0], "give each query a qid of its own"
            raise InputError("rows of one qid have different queries", got=got, fix=fix)
        titles = rows["title"] if "title" in rows else repeat("")
        documents = [document(*fields) for fields in zip(rows["docno"], rows["text"], titles, strict=False)]
        ranked = self.reranker.rank(rows["query"].iloc[0], documents, passages=self.passages)
        names = [name.removeprefix(f"{KEY}_") for name in self._new if name.startswith(KEY)]
        new = {f"{KEY}_{name}": [evidence.get(name) for _, evidence in ranked] for name in names}
        new |= {"score": [result.score for result, _ in ranked], "rank": list(range(len(ranked)))}
        best = rows.iloc[[result.index for result, _ in ranked]].assign(**new)
        return best.astype({f"{KEY}_score": "float64"})  # NaN where nothing was read
