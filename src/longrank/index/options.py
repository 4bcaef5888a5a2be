"""What a user decides about an index before it is built."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple


class ExpansionFile(NamedTuple):
    """What an index remembers of a file of predicted queries.

    Attributes:
        sha256: of the ids and queries, in order; packed or not, the same.
        lines: how many the file has.
        used: lines whose document is in the index.
    """

    sha256: str
    lines: int
    used: int


@dataclass(frozen=True, slots=True)
class IndexOptions:
    """How documents become terms.

    Attributes:
        analyzer: a name in `longrank.text.analysis.ANALYZERS`.
        index_title: whether the title is indexed before the text.
        fields: the fields of the source that the documents were read from, for the record.
        original_copies: how often the text counts, where queries predicted for it count once each.
        expansions: the files that those came from, for the record; filled in by the build.
    """

    analyzer: str = "porter"
    index_title: bool = True
    fields: tuple[str, ...] = ("title", "text")
    original_copies: int = 1
    expansions: tuple[ExpansionFile, ...] = ()

    def indexed(self, title: str, text: str) -> str:
        """Return what is indexed of a document with this title and text: title, line end, text."""
        return f"{title}\n{text}" if self.index_title and title else text

    def as_json(self) -> dict[str, Any]:
        """Return what `from_json` takes."""
        return {**asdict(self), "fields": list(self.fields), "expansions": [f._asdict() for f in self.expansions]}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> IndexOptions:
        """Return the options that `as_json` gave."""
        expansions = tuple(ExpansionFile(**file) for file in value.get("expansions", ()))
        return cls(**{**value, "fields": tuple(value["fields"]), "expansions": expansions})
