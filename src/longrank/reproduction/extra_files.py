"""Find the extra files that a recipe's settings refer to.

Extra files are files of the collection's folder, queries and judgments of other collections, results of the same
recipe on another collection, run files, and the models and teachers of trainings. They are recorded, since a
reproduction folder depends on them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from longrank.collections.collection import IRDS
from longrank.errors import InputError, shown
from longrank.reproduction.folders import files_of, fingerprint, identity_of
from longrank.reproduction.inputs import QRELS, QUERIES

if TYPE_CHECKING:
    from longrank.collections.collection import Collection
    from longrank.reproduction.recipe import Recipe


class ExtraFiles:
    """Finds and records the files that a recipe's settings name.

    Args:
        recipe: the recipe, with the settings to use.
        models: role -> model that replaces the published one.
        collection: the collection.

    Attributes:
        files: files found so far, in order.
    """

    def __init__(self, recipe: Recipe, models: Mapping[str, str], collection: Collection) -> None:
        self._recipe, self._models, self._collection = recipe, models, collection
        self.files: list[Path] = []

    def record(self, *places: object) -> None:
        """Record files, and the files of folders of models, that settings may name; other values do not count."""
        for place in map(str, places):
            with suppress(OSError):  # a name that is too long
                found = [Path(place)] if Path(place).is_file() else files_of(place)
                self.files += [path for path in found if path not in self.files]

    def passage_judgments(self, name: str) -> str | Path:
        """Return a file as `file` does; without it, the collection itself if ir_datasets has judgments of its passages.

        Raises:
            InputError: neither.
        """
        collection = self._collection
        if any(place.startswith(IRDS) for place in collection.passage_qrels):
            return collection.name
        return self.file(name)

    def file(self, name: str) -> Path:
        """Return a file of the collection's folder, or a file by its path.

        Raises:
            InputError: the file does not exist.
        """
        own = [] if self._collection.folder is None else [self._collection.folder]
        folders = [*own, *(Path(source).parent for source in self._collection.sources if not source.startswith(IRDS))]
        path = next((path for path in (*(folder / name for folder in folders), Path(name)) if path.is_file()), None)
        if path is None:
            what = f"{self._recipe.paper}, {self._recipe.item}, needs a file that the collection lacks"
            raise InputError(what, path=self._collection.name, got=name)
        self.files.append(path)
        return path

    def topics(self, setting: str, *, irds: bool = False) -> tuple[Path, Path] | None:
        """Return queries and judgments in the folder that a setting names; None if the setting is empty.

        Args:
            setting: name of the setting.
            irds: allow ``irds:ID``, which is then returned twice.

        Raises:
            InputError: queries or judgments are missing.
        """
        named = self._recipe.settings[setting]
        if not named:
            return None
        if irds and named.startswith(IRDS):
            return Path(named), Path(named)
        folder = Path(named)
        queries, qrels = (
            next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)
            for name in (QUERIES, QRELS)
        )
        if queries is None or qrels is None:
            what = f"setting {setting} names a folder without {QUERIES} or {QRELS}"
            raise InputError(what, got=named)
        self.files += (queries, qrels)
        return queries, qrels

    def results_of(self, setting: str, names: Sequence[Path], role: str, *keys: str) -> list[Path]:
        """Return files of this recipe's folder on another collection, which a setting names.

        Args:
            setting: name of the setting.
            names: file names within a recipe's folder.
            role: role of the model whose scores the files hold.
            keys: settings that the scores depend on.

        Raises:
            InputError: a file is missing, or was made with another model or setting.
            IntegrityError: the folder's identity file is damaged.
        """
        there = Path(self._recipe.settings[setting])
        files = [there / name for name in names]
        for path in files:
            if not path.is_file():
                what = f"setting {setting} names a folder of this recipe on another collection, which lacks a file"
                raise InputError(what, path=path, fix="reproduce the recipe on that collection first")
        self._check_alike(there, role, keys)
        self.files += files
        return files

    def _check_alike(self, there: Path, role: str, keys: Sequence[str]) -> None:
        begun, published = identity_of(there), self._recipe.models[role]
        if begun["models"].get(role, published) != fingerprint(self._models.get(role, published)):
            raise InputError(f"holds scores of another model for the role {role}", path=there)
        for key in keys:
            if begun["settings"].get(key) != self._recipe.settings[key]:
                got = f"{key} {shown(begun['settings'].get(key))} there, {shown(self._recipe.settings[key])} here"
                raise InputError("was made with another setting", path=there, got=got)
