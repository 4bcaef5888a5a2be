"""Objects of an object store below an address, by fsspec, whose packages repeat failed requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from longrank.errors import BeingWritten, InputError, LongRankError, MissingExtra, first_line
from longrank.storage.remote.addresses import SCHEMES

_AGAIN = "run the same command again: it goes on where it stopped"


class Seen(NamedTuple):
    """An object as it was at a time: its content, and fsspec's description of it; both None: there was none."""

    content: bytes | None
    state: Mapping[str, Any] | None


class Stored(NamedTuple):
    """Size of an object in bytes, and when it was written, by the clock of the store; None: the store does not say."""

    size: int
    written: datetime | None


def written(state: Mapping[str, Any]) -> datetime | None:
    """Return when an object was written, from fsspec's description of it; None: it does not say."""
    times = (state.get(name) for name in ("LastModified", "last_modified", "mtime", "updated"))
    return next((time for time in times if isinstance(time, datetime)), None)


class Store:
    """The objects below an address; a fault of the store or the connection is one line.

    Args:
        address: as `longrank.storage.remote.addresses.address_of` returns it.

    Raises:
        MissingExtra: s3fs is not installed.
        InputError: the package of another store is not installed; methods: no bucket, no rights, no connection.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        name, _, self._root = address.partition("://")
        self._scheme = SCHEMES[name]
        try:
            import fsspec

            with self._telling():
                self._files = fsspec.filesystem(name, **self._scheme.options)
        except ImportError:
            if name == "s3":
                raise MissingExtra("an index in S3", "remote") from None
            package = self._scheme.package
            fix = f"pip install {package}"
            raise InputError(f"{name}:// needs the package {package}", path=address, fix=fix) from None

    def read(self, name: str, start: int, end: int) -> bytes:
        """Return bytes of an object; fewer than ``end - start`` if it is shorter.

        Raises:
            FileNotFoundError: there is no such object.
        """
        with self._telling():
            return bytes(self._files.cat_file(self._path(name), start=start, end=end))

    def seen(self, name: str, limit: int) -> Seen:
        """Return an object of at most `limit` bytes as it is now."""
        while True:
            state = self._state(name)
            if state is None:
                return Seen(None, None)
            try:
                content = self.read(name, 0, limit)
            except FileNotFoundError:
                continue
            if self._state(name) == state:
                return Seen(content, state)

    def objects(self, folder: str) -> dict[str, Stored]:
        """Return the objects in a folder, by their names there; objects of folders below are left out."""
        with self._telling():
            self._files.invalidate_cache()
            try:
                found = self._files.find(self._path(folder), detail=True)
            except FileNotFoundError as error:
                if _is_of_bucket(error):
                    raise
                found = {}
        root = self._files._strip_protocol(self._path(folder)).strip("/") + "/"
        names = {path.lstrip("/").removeprefix(root): state for path, state in found.items()}
        return {name: Stored(int(names[name]["size"]), written(names[name])) for name in names if "/" not in name}

    def send(self, path: Path, name: str, advance: Callable[[int], object]) -> None:
        """Copy a file into the store, in one step; `advance` is called with the numbers of bytes just sent."""
        from fsspec.callbacks import Callback

        done = 0

        def count(size: int | None, value: int, **more: Any) -> None:
            nonlocal done
            advance(value - done)
            done = value

        try:
            with self._telling():
                self._files.put_file(str(path), self._path(name), callback=Callback(hooks={"count": count}))
        except FileNotFoundError as error:  # of the bucket, whatever its words are: an object need not be there
            raise self._fault(error) from error

    def replace(self, name: str, content: bytes, before: Seen) -> None:
        """Write an object in one step, if it is still as it was seen.

        Raises:
            BeingWritten: it was changed meanwhile.
        """
        condition = self._scheme.condition
        if before.state is None:
            how: dict[str, Any] = {"mode": "create"}
        elif condition is not None:
            how = condition(before.state)
        elif self.seen(name, len(before.content or b"") + 1) != before:
            raise self._changed()
        else:
            how = {}
        try:
            self._files.pipe_file(self._path(name), content, **how)
        except Exception as error:  # of many kinds
            if self.seen(name, len(content) + 1).content == content:  # written, but the answer was lost
                return
            if _is_condition(error):
                raise self._changed() from None
            raise self._fault(error) from error

    def check_unchanged(self, name: str, before: Seen) -> None:
        """Check that an object has the content with which it was seen.

        Raises:
            BeingWritten: it was changed meanwhile.
        """
        if self.seen(name, len(before.content or b"") + 1).content != before.content:
            raise self._changed()

    def remove(self, names: Sequence[str]) -> None:
        """Remove objects."""
        with self._telling():
            if names:
                self._files.rm([self._path(name) for name in names])

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    def _state(self, name: str) -> Mapping[str, Any] | None:
        with self._telling():
            self._files.invalidate_cache()
            try:
                state: Mapping[str, Any] = self._files.info(self._path(name))
            except FileNotFoundError as error:
                if _is_of_bucket(error):
                    raise
                return None
        return state

    def _changed(self) -> BeingWritten:
        what = "another process has changed the index meanwhile, and nothing of this change is visible"
        return BeingWritten(what, path=self.address, fix="run the command again")

    @contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except (LongRankError, ImportError):
            raise
        except FileNotFoundError as error:
            if _is_of_bucket(error):
                raise self._fault(error) from error
            raise
        except Exception as error:  # of many kinds
            raise self._fault(error) from error

    def _fault(self, error: Exception) -> InputError:
        """Return the line for a fault of the store or of the connection."""
        if isinstance(error, FileNotFoundError):
            return InputError("there is no such bucket", path=self.address, fix="make it, or correct the address")
        said = first_line(error)
        if "Credentials" in type(error).__name__ or "credentials" in said:
            fix = "log in as its own tools need it; for S3: aws configure, or AWS_PROFILE or AWS_ACCESS_KEY_ID"
            return InputError("the object store needs credentials", path=self.address, fix=fix)
        if isinstance(error, PermissionError):
            fix = "check the rights of your account"
            return InputError(f"the object store refuses access: {said}", path=self.address, fix=fix)
        return InputError(f"the request to the object store failed: {said}", path=self.address, fix=_AGAIN)


def _is_of_bucket(error: FileNotFoundError) -> bool:
    return "bucket" in str(error).lower() and "not exist" in str(error)


def _is_condition(error: Exception) -> bool:
    return isinstance(error, FileExistsError) or "condition" in str(error).lower()
