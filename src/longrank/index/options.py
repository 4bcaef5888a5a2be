"""Options of building an index."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from dataclasses import fields as dataclass_fields
from typing import Any, NamedTuple

from longrank.formats.records import CorpusOptions
from longrank.types import Notes


class ExpansionFile(NamedTuple):
    """An index's record of a file of predicted queries.

    Attributes:
        sha256: digest of the ids and queries, in order; the same for a gzipped file.
        lines: number of lines.
        used: lines whose document is in the index.
    """

    sha256: str
    lines: int
    used: int


@dataclass(frozen=True, slots=True)
class IndexOptions:
    """Options that turn documents into terms, and texts into files.

    Attributes:
        analyzer: a name in `longrank.text.analysis.ANALYZERS`.
        index_title: True: the title is indexed before the text.
        fields: the source's fields of the documents, for the record.
        original_copies: weight of the text; a predicted query and a field for the index only have weight 1.
        expansions: the files of predicted queries, for the record; filled in by the build.
        index_only: fields that are indexed and are no part of the text, for documents that are added later.
        title_in_text: True: texts begin with the title, for documents that are added later.
        metadata: names of the other fields that are kept, for documents that are added later; None: all.
        analyzer_field: metadata field that names the language of each document; documents without it have `analyzer`.
            Empty: all documents have `analyzer`.
        compressed: True: texts are stored compressed.
    """

    analyzer: str = "porter"
    index_title: bool = True
    fields: tuple[str, ...] = ("title", "text")
    original_copies: int = 1
    expansions: tuple[ExpansionFile, ...] = ()
    index_only: tuple[str, ...] = ()
    title_in_text: bool = False
    metadata: tuple[str, ...] | None = None
    analyzer_field: str = ""
    compressed: bool = False

    def indexed(self, title: str, text: str) -> str:
        """Return the indexed text of a document: title, line end, text."""
        return f"{title}\n{text}" if self.index_title and title else text

    def as_json(self) -> dict[str, Any]:
        """Return the options as a JSON object for `from_json`."""
        value = {**asdict(self), "fields": list(self.fields), "expansions": [f._asdict() for f in self.expansions]}
        rare: dict[str, Any] = {"index_only": list(self.index_only)}  # most indexes lack these keys
        rare |= {"analyzer_field": self.analyzer_field, "compressed": self.compressed}
        rare |= {"title_in_text": self.title_in_text}
        del value["metadata"]
        kept = {key: part for key, part in (value | rare).items() if part or key not in rare}
        return kept if self.metadata is None else {**kept, "metadata": list(self.metadata)}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> IndexOptions:
        """Return the options of a JSON object from `as_json`.

        Raises:
            KeyError, TypeError: an unknown option, or a value of another type.
        """
        expansions = tuple(ExpansionFile(**file) for file in value.get("expansions", ()))
        names: dict[str, Any] = {
            name: tuple(value[name]) for name in ("fields", "index_only", "metadata") if name in value
        }
        options = cls(**{**value, **names, "expansions": expansions})
        defaults = (option for option in dataclass_fields(cls) if option.default is not None)
        kinds = {o.name: int if isinstance(o.default, bool) else type(o.default) for o in defaults}
        if wrong := [name for name, kind in kinds.items() if not isinstance(getattr(options, name), kind)]:
            raise TypeError(f"the option {wrong[0]} has a value of another type")
        return options


def note_copied(source: Any, notes: Notes, corpus: CorpusOptions) -> None:
    """Note how documents that are read from an index differ from its own; other sources have no such differences.

    Args:
        source: the source of documents.
        notes: takes the remarks.
        corpus: options of reading the documents into another index.
    """
    options = getattr(source, "options", None)
    if not isinstance(options, IndexOptions):
        return
    if options.expansions:
        notes.say("the predicted queries of the index that is read are left out: give their files again")
    stored = options.index_only if options.metadata is None else options.metadata
    if lost := [name for name in options.index_only if name not in stored]:
        notes.say(f"fields that the index that is read does not store are left out: {', '.join(lost)}")
    if options.title_in_text and "title" in corpus.fields and not corpus.title_in_text:
        notes.say("texts of the index that is read begin with their titles: titles are indexed twice, unless left out")
