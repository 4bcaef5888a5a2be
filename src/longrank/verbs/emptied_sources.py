"""Refuse an update whose source has become empty."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Set
from pathlib import Path

from longrank.collections.databases import is_address, shown_source
from longrank.errors import InputError
from longrank.index.sources import Sources, SourceState
from longrank.verbs.source_states import lost_full_texts, places_now, stands_for_matches


def check_not_emptied(sources: Sources, index: Path, now: Mapping[str, SourceState]) -> None:
    """Refuse a source that held documents at the last update and holds none: a failed export looks like that.

    Files of patterns count together, too, since the files that match now may be others than those of the last update.

    Raises:
        InputError: such a source; a build refuses it, too.
    """
    places = {*places_now(sources, index)}
    patterns = [place for place in sources.places if stands_for_matches(place, sources)]
    named = {*sources.places} - {*patterns}
    then, left = Counter[str](), Counter[str]()
    for held, states in ((then, sources.files), (left, now)):
        for path, state in states.items():
            together = [] if _within(path, named) else patterns[:1]
            for place in (*_within(path, places), *together):
                held[place] += len(state.ids)
    for place in sorted(place for place in then if then[place] and not left[place]):
        what = f"holds no document, and held {then[place]} at the last update; nothing is changed"
        fix = "put documents there, or build the index again without this source"
        raise InputError(what, path=shown_source(place) if is_address(place) else place, fix=fix)


def check_full_texts(sources: Sources, now: Mapping[str, SourceState], changed: Set[str]) -> None:
    """Refuse changed documents of a CORD-19 release whose full texts are all gone, as if a folder is not mounted.

    `changed`: files with documents that the index holds with other content.

    Raises:
        InputError: names the table.
    """
    for path in sorted(changed & now.keys() & sources.files.keys()):
        if lost_full_texts(sources.files[path], now[path]):
            what = "full texts lay beside this table at the last update, and none does now; nothing is changed"
            raise InputError(what, path=path, fix="put the JSON files back, or build the index again")


def _within(path: str, places: Set[str]) -> list[str]:
    """Return the places that a file is in: itself, and folders above it."""
    found, below = [], ""
    while path != below:
        found += [path] * (path in places)
        below, path = path, os.path.dirname(path)  # noqa: PTH120 - ten times as fast as paths
    return found
