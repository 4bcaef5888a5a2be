"""What a recipe reads beside its inputs, as its settings name it.

Files of the collection's folder, queries and judgments of other collections, and what the same recipe made of another
one. The files are noted, so that a recipe's folder can say which it was made from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from longrank.collections.collection import IRDS
from longrank.errors import InputError, shown
from longrank.reproduction.folders import fingerprint, identity_of
from longrank.reproduction.inputs import QRELS, QUERIES

if TYPE_CHECKING:
    from longrank.collections.collection import Collection
    from longrank.reproduction.recipe import Recipe


class ExtraFiles:
    """Finds what the settings of a recipe name.

    Args:
        recipe: with the settings to use.
        models: role -> model, where another than the published one is to be used.
        given: the collection.

    Attributes:
        files: those that were found so far, in the order in which they were asked for.
    """

    def __init__(self, recipe: Recipe, models: Mapping[str, str], given: Collection) -> None:
        self._recipe, self._models, self._given = recipe, models, given
        self.files: list[Path] = []

    def file(self, name: str) -> Path:
        """Return a file of the collection's folder, or one that is given by its path.

        Raises:
            InputError: there is none.
        """
        given = [] if self._given.folder is None else [self._given.folder]
        folders = [*given, *(Path(source).parent for source in self._given.sources if not source.startswith(IRDS))]
        found = next((path for path in (*(folder / name for folder in folders), Path(name)) if path.is_file()), None)
        if found is None:
            what = f"{self._recipe.paper}, {self._recipe.item}, reads a file that the collection does not have"
            raise InputError(what, path=self._given.name, got=name)
        self.files.append(found)
        return found

    def topics(self, setting: str, *, irds: bool = False) -> tuple[Path, Path] | None:
        """Return the queries and judgments in the folder that a setting names; None: it names none.

        With `irds` it may name ``irds:ID`` instead, which is both.

        Raises:
            InputError: they are not there.
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
            what = f"setting {setting} is a folder with {QUERIES} and {QRELS}, which are not both there"
            raise InputError(what, got=named)
        self.files += (queries, qrels)
        return queries, qrels

    def made(self, setting: str, names: Sequence[Path], role: str, *keys: str) -> list[Path]:
        """Return files that this recipe made of another collection, in the folder that a setting names.

        Args:
            setting: its name.
            names: the files, as they are called within a recipe's folder.
            role: of the model whose scores they hold.
            keys: settings that the scores depend on.

        Raises:
            InputError: a file is not there; the model, or a setting, is another one there.
            IntegrityError: what the folder says of itself is damaged.
        """
        there = Path(self._recipe.settings[setting])
        files = [there / name for name in names]
        for path in files:
            if not path.is_file():
                what = f"setting {setting} is the folder of this recipe on another collection, and lacks a file"
                raise InputError(what, path=path, fix="reproduce it there first")
        self._check_alike(there, role, keys)
        self.files += files
        return files

    def _check_alike(self, there: Path, role: str, keys: Sequence[str]) -> None:
        known, published = identity_of(there), self._recipe.models[role]
        if known["models"].get(role, published) != fingerprint(self._models.get(role, published)):
            raise InputError(f"holds scores of another model of the role {role}", path=there)
        for key in keys:
            if known["settings"].get(key) != self._recipe.settings[key]:
                got = f"{key} {shown(known['settings'].get(key))} there, {shown(self._recipe.settings[key])} here"
                raise InputError("holds other scores", path=there, got=got)
