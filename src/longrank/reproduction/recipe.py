"""Recipes: the published figures of a paper's table or figure, and the settings that obtain them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from longrank.collections.catalogue import FOLDS
from longrank.registries import suggestion
from longrank.reproduction.papers import PROGRAMS

NOT_PUBLISHED = "not published"

Source = Literal["paper", "survey", "journal", "readme", "thesis", "track", "code"]
"""Source of a figure: the paper; the survey of Lin, Nogueira and Yates; PARADE's journal version; the README of
released code; the thesis or article behind a chapter; the official results of an evaluation campaign; released code."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class EvaluateSettings(_Part):
    """Options of evaluation, as of ``longrank evaluate``."""

    complete: bool = True
    depth: int | None = Field(default=None, ge=1)
    level: int | None = None


class SignificanceSettings(_Part):
    """The paper's own test, for each measure: all rows against one baseline, or row -> its baseline."""

    compare_with: str | dict[str, str]
    test: Literal["t", "randomization"] = "t"
    correction: Literal["none", "bonferroni", "holm"] = "none"
    alpha: float = Field(default=0.05, gt=0, lt=1)

    def baseline_of(self, row: str) -> str | None:
        """Return the baseline of a row; None: the row is not tested."""
        if isinstance(self.compare_with, dict):
            return self.compare_with.get(row)
        return None if row == self.compare_with else self.compare_with

    @property
    def baseline(self) -> str:
        """The baseline, in words."""
        return self.compare_with if isinstance(self.compare_with, str) else "its baseline row"


class Expected(_Part):
    """A row as it was published.

    Attributes:
        row: the row's name, as in the program.
        source: the source of the figures.
        values: measure -> figure.
        expected: ``"not recovered"`` if the figures are lost, ``"not published"`` if they never existed.
        reason: reason why there are no figures, or why no program obtains them.
        note: remark for readers, such as a digit that is hard to read.
        tolerance: largest difference that matches; None: the recipe's.
    """

    row: str
    source: Source = "paper"
    values: dict[str, float] = Field(default_factory=dict)
    expected: Literal["not recovered", "not published"] | None = None
    reason: str = ""
    note: str = ""
    tolerance: float | None = Field(default=None, ge=0)

    @model_validator(mode="after")
    def _figures_or_a_reason(self) -> Expected:
        if bool(self.values) == (self.expected is not None):
            raise ValueError('a row has either values or expected = "not recovered"')
        if self.expected is not None and not self.reason:
            raise ValueError("a row without figures has a reason")
        return self


class Decision(_Part):
    """A decision where the paper is silent or differs from its code: topic, sources, and the choice made here."""

    about: str
    text: str
    choice: str


class Recipe(_Part):
    """A table or figure of a paper.

    Attributes:
        paper: the paper's short name.
        item: ``"Table 2"``, as the paper numbers it.
        about: title in one line.
        program: a name of `longrank.reproduction.papers.PROGRAMS`; None: nothing is run, for the
            reason that each expected row gives.
        collection: a key of the catalogue (`longrank.collections.catalogue`).
        query_field: the topic's field that is the query; None: its text.
        measures: measures of rankings, as ``longrank evaluate`` names them.
        quantities: other columns, such as milliseconds or a share.
        folds: a file of folds of the package, or `NOT_PUBLISHED`; None: the collection's folds.
        hardware: quantities that depend on the machine and are never compared with the paper's.
        open: open collection to run on without the paper's collection.
        evaluate: options of evaluation.
        significance: the paper's test; may be None.
        models: role -> the published model.
        settings: settings of the program, with the paper's values.
        protocol: empty settings that are no inputs: filling them changes the paper's protocol.
        tolerance: largest difference of a measure that matches.
        tolerances: column -> largest difference that matches, in the column's unit.
        expected: published rows.
        decision: decisions where the paper is silent or differs from its code.
        plot: ``bars``: a dot for each row; ``lines``: lines over x.
    """

    paper: str = Field(min_length=1)
    item: str
    about: str
    program: str | None = None
    collection: str
    query_field: str | None = None
    measures: list[str] = Field(default_factory=list)
    quantities: list[str] = Field(default_factory=list)
    hardware: list[str] = Field(default_factory=list)
    folds: str | None = None
    open: str | None = None
    evaluate: EvaluateSettings = EvaluateSettings()
    significance: SignificanceSettings | None = None
    models: dict[str, str] = Field(default_factory=dict)
    settings: dict[str, Any] = Field(default_factory=dict)
    protocol: list[str] = Field(default_factory=list)
    tolerance: float = Field(default=0.005, ge=0)
    tolerances: dict[str, float] = Field(default_factory=dict)
    expected: list[Expected] = Field(min_length=1)
    decision: list[Decision] = Field(default_factory=list)
    plot: Literal["bars", "lines"] = "bars"

    @model_validator(mode="after")
    def _rows_are_compared_with_rows(self) -> Recipe:
        pairs, known = getattr(self.significance, "compare_with", None), {row.row for row in self.expected}
        if isinstance(pairs, dict):
            unknown = sorted({*pairs, *pairs.values()} - known)
            if unknown:
                raise ValueError(f"significance.compare_with has '{unknown[0]}', which is no expected row")
        return self

    @model_validator(mode="after")
    def _figures_belong_to_measures(self) -> Recipe:
        if not self.columns:
            raise ValueError("there are neither measures nor quantities")
        named = {f"row '{row.row}'": list(row.values) for row in self.expected}
        named |= {"tolerances": list(self.tolerances), "hardware": self.hardware}
        for where, values in named.items():
            unknown = sorted({*values} - set(self.columns))
            if unknown:
                raise ValueError(f"{where} has {unknown[0]}, which is not among measures and quantities")
        return self

    @field_validator("program")
    @classmethod
    def _program_is_known(cls, program: str | None) -> str | None:
        if program is not None and program not in PROGRAMS:
            raise ValueError(f"unknown program; {suggestion(program, PROGRAMS)}")
        return program

    @field_validator("folds")
    @classmethod
    def _folds_are_there(cls, folds: str | None) -> str | None:
        if folds not in (None, NOT_PUBLISHED) and not (FOLDS / str(folds)).is_file():
            raise ValueError(f"the package has no such folds; write {NOT_PUBLISHED!r} if they are unknown")
        return folds

    @property
    def columns(self) -> list[str]:
        """The measures, then the other quantities."""
        return [*self.measures, *self.quantities]
