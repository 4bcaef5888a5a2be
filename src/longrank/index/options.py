"""What a user decides about an index before it is built."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from longrank.types import Document


@dataclass(frozen=True, slots=True)
class IndexOptions:
    """How documents become terms.

    Attributes:
        analyzer: a name in `longrank.text.analysis.ANALYZERS`.
        index_title: whether the title is indexed before the text.
        fields: the fields of the source that the documents were read from, for the record.
    """

    analyzer: str = "porter"
    index_title: bool = True
    fields: tuple[str, ...] = ("title", "text")

    def indexed(self, document: Document) -> str:
        """Return the text of `document` that is indexed: title, line end, text."""
        return f"{document.title}\n{document.text}" if self.index_title and document.title else document.text

    def as_json(self) -> dict[str, Any]:
        """Return what `from_json` takes."""
        return {**asdict(self), "fields": list(self.fields)}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> IndexOptions:
        """Return the options that `as_json` gave."""
        return cls(value["analyzer"], value["index_title"], tuple(value["fields"]))
