"""Several scorers of the same passages; their scores are mixed later, over all passages of a query.

`score` sees a part of a query's passages only (a service splits a request), so it returns the scores of every scorer,
and `longrank.aggregation.mixing` mixes them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from longrank.aggregation.mixing import Mix
from longrank.protocols import PassageScorer, PassageScores, ScoringTask


class MixedScorer:
    """Scores passages by several scorers.

    Args:
        mix: the mix; its parts name the scorers, the main scorer first.
        scorers: a scorer for each part.

    Attributes:
        scorers: the scorers.
        offset_tokenizer: the first tokenizer of the scorers; None if no scorer has one.
    """

    scores_documents, unit = False, "mixed"

    def __init__(self, mix: Mix, scorers: Sequence[PassageScorer]) -> None:
        self.mix, self._scorers = mix, dict(zip(mix.weights, scorers, strict=True))
        self.scorers = tuple(scorers)
        self.needs_model = any(scorer.needs_model for scorer in scorers)
        tokenizers = (getattr(scorer, "offset_tokenizer", None) for scorer in scorers)
        self.offset_tokenizer = next(filter(None, tokenizers), None)

    @property
    def fingerprint(self) -> str:
        """The mix, and the fingerprint of each scorer."""
        return f"mix of {self.mix}: {'; '.join(scorer.fingerprint for scorer in self._scorers.values())}"

    @property
    def has_stored_vectors(self) -> bool:
        """True if no model reads a passage of the index."""
        networks = [scorer for scorer in self._scorers.values() if scorer.needs_model]
        return bool(networks) and all(getattr(network, "has_stored_vectors", False) for network in networks)

    def cuts_query(self, query: str) -> bool:
        """Tell whether a scorer truncates the query."""
        return any(scorer.cuts_query(query) for scorer in self._scorers.values() if hasattr(scorer, "cuts_query"))

    def score(self, tasks: Sequence[ScoringTask]) -> list[PassageScores]:
        """Return the scores of the main scorer, with the scores of all scorers as parts.

        A text that any scorer truncates is truncated.

        Raises:
            LongRankError: as the scorers.
        """
        by_name = {name: scorer.score(tasks) for name, scorer in self._scorers.items()}
        return [_together(dict(zip(by_name, results, strict=True))) for results in zip(*by_name.values(), strict=True)]


def _together(results: dict[str, PassageScores]) -> PassageScores:
    main = next(iter(results.values()))
    truncated = np.logical_or.reduce([result.truncated for result in results.values()])
    return PassageScores(main.scores, truncated, parts={name: result.scores for name, result in results.items()})
