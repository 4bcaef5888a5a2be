"""Programs of recipes: one module for each paper, one generator of rows for each kind of table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

_GENERATORS = {
    "birch": "first_version passages results sentences table_1_1 table_1_2 table_1_3",
    "cedr": "capreolus original",
    "h2oloo": "expansion_documents expansion_passages table_1 table_2 table_2_full_depth tuning",
    "maxp": "figure_1 samples table_1a table_1b table_2 table_3a",
    "parade": "covid journal_table_12 table_1 table_2 table_4 table_9",
    "parade_efficiency": "checkpoints figure_3 table_7 table_8",
    "santos": "figure_2 figure_3 pools_and_aggregations table_1 table_2 table_5 table_6",
}
PROGRAMS: dict[str, str | Callable[[Any], Iterator[Any]]] = {
    f"{module}:{name}": f"{__name__}.{module}:{name}" for module, names in _GENERATORS.items() for name in names.split()
}
"""``program`` of a recipe -> its generator, which takes a `longrank.reproduction.workbench.Workbench` and yields
`longrank.reproduction.rows.ObtainedRow`. Their types are not imported: the workbench imports the recipes."""
