"""Options of reading folders of files, and the report of the skipped files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from longrank.cli.inputs import output_file
from longrank.errors import printable
from longrank.formats.records import FileOptions
from longrank.storage import atomic_write


class SkippedFiles:
    """Collects the files that a command skips.

    Args:
        report: file to write; None: no report.
        apart: inputs and outputs of the command; the report must be another file.

    Raises:
        InputError: the report cannot be written.
    """

    def __init__(self, report: Path | None, *apart: Path | str | None) -> None:
        self._report = report
        self._rows: list[tuple[str, str]] = []
        if report is not None:
            output_file(report, *apart)

    def options(self, include: Sequence[str], exclude: Sequence[str], strict: bool, ocr: str | None) -> FileOptions:
        """Return the options of reading folders; they report skipped files here."""
        return FileOptions(tuple(include), tuple(exclude), strict, skipped=self._add, ocr=ocr)

    @contextmanager
    def written(self) -> Iterator[None]:
        """Write the report after the work inside, also if the work fails."""
        try:
            yield
        finally:
            if self._report is not None:
                with atomic_write(self._report, "w") as stream:
                    stream.writelines(f"{path}\t{reason}\n" for path, reason in self._rows)

    def _add(self, path: Path, reason: str) -> None:
        self._rows.append((printable(str(path)), printable(reason.removeprefix(f"{path}: "))))
