"""Settings that all stores share, and their files of passwords and keys."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

from annotated_types import Gt, Le
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from longrank.config import validated
from longrank.errors import InputError, MissingExtra
from longrank.small_files import MIB, read_small
from longrank.text.analysis import check_analyzer
from longrank.types import Notes

S = TypeVar("S", bound="StoreSettings")


def _known_analyzer(name: str) -> str:
    check_analyzer(name)
    return name


class StoreSettings(BaseModel):
    """Settings of any store.

    Attributes:
        title: field or column of the title; None: there is none.
        text: field or column of the text, into which evidence has its offsets.
        metadata: other fields to keep; None: what the store returns.
        encoder: a bi-encoder that makes the query vector: a name, a folder or an alias; None: no vector is made.
        analyzer: analysis chain of the texts, for scorers and marks that read words: a name in
            `longrank.text.analysis.ANALYZERS`; None: `default_analyzer`.
        timeout: seconds until a request is given up.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    title: Annotated[str, Field(min_length=1)] | None = "title"
    text: Annotated[str, Field(min_length=1)] = "text"
    metadata: list[str] | None = None
    encoder: Annotated[str, Field(min_length=1)] | None = None
    analyzer: Annotated[str, AfterValidator(_known_analyzer)] | None = None
    timeout: Annotated[float, Gt(0), Le(3600)] = 10.0

    @property
    def default_analyzer(self) -> str:
        """The analyzer of texts if the settings name none: English."""
        return "porter"

    def chosen_analyzer(self) -> str:
        """Return the analyzer of texts; that of English if the packages of the default are not installed."""
        if self.analyzer is not None:
            return self.analyzer
        try:
            check_analyzer(self.default_analyzer)
        except MissingExtra:
            return "porter"
        return self.default_analyzer

    def note_analyzer(self, notes: Notes) -> None:
        """Note that texts are read as English, since the packages of another language are not installed."""
        if self.analyzer is None and self.chosen_analyzer() != self.default_analyzer:
            notes.say(f"texts in {self.default_analyzer} are read as English: pip install 'longrank[languages]'")


def settings_of(model: type[S], data: Mapping[str, Any], path: Path) -> S:
    """Check the settings of a file.

    Raises:
        InputError: an unknown key (suggests the nearest), a wrong type or value.
    """
    return validated(model, data, str(path))


def secret_in(path: Path, name: str | None) -> str | None:
    """Return the content of a file with a password or key beside the settings file `path`; None if no file is named.

    Raises:
        InputError: no such file, or it is empty; never shows the content.
    """
    if name is None:
        return None
    file = path.parent / Path(name).expanduser()
    try:
        secret = read_small(file, MIB, "passwords").decode("utf-8", "replace").strip()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", path=file) from None
    if not secret:
        raise InputError("the file is empty", path=file, fix="write the password or key into it")
    return secret
