"""Document networks: torch modules that turn the passages of a document into its score; tensors in, tensors out.

    features [N, L] --encode--> passages [N, *F] --pad--> [B, P, *F], mask [B, P] --aggregate--> scores [B]

To add one, write a `longrank.models.network.DocumentNetwork` whose options are keywords, and add a line to
`DOCUMENT_NETWORKS`. `longrank.models.network_reader` feeds them texts. This package does not import torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

DOCUMENT_NETWORKS: dict[str, str] = {
    "parade-max": "longrank.models.parade:ParadeMax",
    "parade-sum": "longrank.models.parade:ParadeSum",
    "parade-avg": "longrank.models.parade:ParadeAvg",
    "parade-attn": "longrank.models.parade:ParadeAttn",
    "parade-cnn": "longrank.models.parade:ParadeCNN",
    "parade-transformer": "longrank.models.parade:ParadeTransformer",
    "maxp": "longrank.models.passage_scores:MaxP",
    "firstp": "longrank.models.passage_scores:FirstP",
    "sump": "longrank.models.passage_scores:SumP",
    "avgp": "longrank.models.passage_scores:AvgP",
    "birch-passage": "longrank.models.passage_scores:BirchPassage",
    "knrm": "longrank.models.knrm:Knrm",
    "cedr-knrm": "longrank.models.knrm:CedrKnrm",
    "vanilla-bert": "longrank.models.knrm:VanillaBert",
}
"""Document networks by name; each is imported when it is used."""

_STANDALONE: dict[str, Any] = {"vector": "pooled", "outputs": 2, "dropout": 0.1}
_KERNELS: dict[str, Any] = {"exact_sigma": 0.01, "log_floor": 1e-10, "log_scale": 0.01, "separators": True}

PRESETS: dict[str, Mapping[str, Mapping[str, Any]]] = {
    "standalone": {
        "parade-max": _STANDALONE,
        "parade-avg": _STANDALONE,
        "parade-attn": _STANDALONE,
        "parade-transformer": _STANDALONE | {"activation": "gelu", "start": "sep", "positions": 0},
    },
    "capreolus": {
        "birch-passage": {},
        "parade-transformer": {"activation": "gelu", "positions": 16, "start_trained": False},
        "maxp": {"outputs": 2},
        "firstp": {"outputs": 2},
        "sump": {"outputs": 2},
        "avgp": {"outputs": 2},
        "knrm": _KERNELS | {"combine_hidden": 1024},
        "cedr-knrm": _KERNELS | {"combine_hidden": 1024},
    },
    "unordered": {"parade-transformer": {"positions": 0}},
}
"""Options by name: ``standalone`` is canjiali/PARADE with BERT (ELECTRA has no pooler and needs ``vector = "cls"``),
``capreolus`` is Capreolus, ``unordered`` ignores the order of passages. docs/decisions/parade.md explains them."""
