"""Index, update, search and serve 300 real documents, and check every step.

    apt-get install pandoc libreoffice-writer-nogui libreoffice-impress-nogui    # on Debian 12
    python -m benchmarks.real_documents FOLDER

FOLDER must not exist, or hold the documents of an earlier call (`benchmarks.real_collection` makes them). The commands
of LongRank run as processes. Prints one JSON object: documents by format, and processor seconds and peak memory of each
command; the exit code is 1 if a check fails.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any
from urllib.request import Request, urlopen

from benchmarks.real_collection import N_DOCUMENTS, make_collection
from longrank.index import Index
from longrank.types import Document
from longrank.types.pages import Pages

PASSAGES = Path(__file__).with_name("real_pages.toml")
WAIT = 60  # seconds for a server to begin, and to see a commit


class Steps:
    """Runs commands of LongRank, and records processor seconds and peak memory of each, child processes included."""

    def __init__(self) -> None:
        self.steps: dict[str, dict[str, Any]] = {}

    def run(self, name: str, *command: object) -> str:
        """Run a command and return what it prints.

        Raises:
            SystemExit: its exit code is not 0.
        """
        with Popen([sys.executable, "-m", "longrank", *map(str, command)], stdout=PIPE, text=True) as process:
            assert process.stdout is not None
            printed = process.stdout.read()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        check(process.returncode == 0, f"{name}: exit code {process.returncode}")
        seconds = round(usage.ru_utime + usage.ru_stime, 1)
        self.steps[name] = {"processor seconds": seconds, "MiB": usage.ru_maxrss >> 10}
        return printed


def check(holds: bool, message: str) -> None:
    """Leave with exit code 1 unless something holds."""
    if not holds:
        sys.exit(f"failed: {message}")


def main() -> None:
    """Run all steps."""
    folder, steps = Path(sys.argv[1]), Steps()
    made = folder / "documents" if folder.exists() else make_collection(folder)
    files, index = folder / "changing", folder / "index"
    for path in (files, index):
        shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(made, files)
    formats = Counter(path.suffix for path in files.rglob("*") if path.is_file())
    check(formats.total() == N_DOCUMENTS, f"{formats.total()} documents")
    steps.run("index", "index", files, "-o", index, "--report", folder / "skipped.tsv")
    check((folder / "skipped.tsv").read_text() == "", f"files were skipped: {folder}/skipped.tsv lists them")
    check(len(Index(index)) == N_DOCUMENTS, f"{len(Index(index))} documents in the index")
    n_right = check_pages(Index(index))
    with server(index, files) as address:
        n_found = check_served(address)
        added = change(files, index, steps)
        check_new_state(address, added)
    check_like_new(files, index, steps)
    report = {"files": formats, "right pages": n_right, "passages found by search": n_found, "steps": steps.steps}
    print(json.dumps(report, indent=1))


def checked_passages() -> Iterator[tuple[str, int, str]]:
    """Yield file, page and words of the passages that were looked up by eye."""
    for row in tomllib.loads(PASSAGES.read_text())["passage"]:
        for page, words in row["pages"].items():
            yield row["file"], int(page), words


def check_pages(index: Index) -> int:
    """Check that the words stand on their pages; return the number of passages."""
    documents = {document.doc_id: document for document in index}
    for name, page, words in checked_passages():
        pages = places(documents[name], index, words)
        check(page in pages, f"{name}, p. {page}: {words!r} on pages {pages}")
    return sum(1 for _ in checked_passages())


def places(document: Document, index: Index, words: str) -> list[int | None]:
    """Return the pages of a document on which words begin."""
    import re

    pages = Pages(index.metadata(document.doc_id))
    return [pages.page(m.start()) for m in re.finditer(r"\s+".join(map(re.escape, words.split())), document.text)]


@contextmanager
def server(index: Path, files: Path) -> Iterator[str]:
    """Serve an index and its files; yield the address."""
    command = [sys.executable, "-m", "longrank", "serve", str(index), "--pipeline", "lexical", "--port", "0"]
    with Popen([*command, "--files", str(files)], stdout=PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            address = next(line for line in process.stdout if "http://" in line).split()[-1]
            check(process.stdout.readline() == "ready\n", "the server is not ready")
            yield address.rstrip("/")
        finally:
            process.terminate()


def search(address: str, query: str, k: int = 3) -> list[dict[str, Any]]:
    """Return the results of a search over HTTP."""
    body = json.dumps({"query": query, "k": k, "passages": 5}).encode()
    request = Request(f"{address}/search", body, {"content-type": "application/json"})
    with urlopen(request, timeout=WAIT) as reply:
        results: list[dict[str, Any]] = json.load(reply)["results"]
    return results


def check_served(address: str) -> int:
    """Search for the words of the passages; return the number of passages whose page and file are found.

    Every linked file must be served, with the content type of a PDF file.
    """
    n_found = 0
    for name, page, words in checked_passages():
        found = [
            passage for result in search(address, words) if result["doc_id"] == name for passage in result["passages"]
        ]
        n_found += any(passage["page"] == page or f"-{page}" in passage["place"] for passage in found)
        for passage in found[:1]:
            check(passage["file"].endswith(f"#page={passage['page']}"), f"the link is {passage['file']}")
            with urlopen(f"{address}/" + passage["file"].partition("#")[0], timeout=WAIT) as reply:
                check(reply.headers["content-type"] == "application/pdf", f"{name} is {reply.headers['content-type']}")
                check(reply.read(5) == b"%PDF-", f"{name} is no PDF file")
    return n_found


def change(files: Path, index: Path, steps: Steps) -> str:
    """Edit, add and remove files, update the index, delete a document; return the word of the new documents."""
    before = {document.doc_id for document in Index(index)}
    edited, removed = sorted(files.rglob("*.md"))[:3], sorted(files.rglob("*.odt"))[:3]
    for path in edited:
        path.write_text(path.read_text() + "\n\nEdited quokkas.\n")
    for path in removed:
        path.unlink()
    for number, path in enumerate(sorted(files.rglob("*.docx"))[:3]):
        shutil.copy(path, files / f"copy{number}.docx")
    printed = steps.run("update, listed only", "index", "--update", "--dry-run", index)
    kinds = Counter(line.partition("\t")[0] for line in printed.splitlines())
    check(kinds == {"new": 3, "changed": 3, "vanished": 3}, f"the dry run lists {dict(kinds)}")
    steps.run("update", "index", "--update", index)
    after = {document.doc_id for document in Index(index)}
    check(len(after) == N_DOCUMENTS and len(after - before) == 3 == len(before - after), "wrong documents")
    (files.parent / "ids.txt").write_text("copy0.docx\n")
    steps.run("delete", "index", "--delete", files.parent / "ids.txt", index)
    check("copy0.docx" not in Index(index), "the deleted document is there")
    return "quokkas"


def check_new_state(address: str, word: str) -> None:
    """Check that the running server finds the edited files, and not the deleted document."""
    began = time.monotonic()
    while len(found := search(address, word, 100)) != 3:
        check(time.monotonic() - began < WAIT, f"the server finds {len(found)} documents with {word!r}")
        time.sleep(0.2)
    check(all(result["doc_id"].endswith(".md") for result in found), "others than the edited documents are found")


def check_like_new(files: Path, index: Path, steps: Steps) -> None:
    """Check that the merged index is that of a new build, apart from the order of documents and metadata fields."""
    (files / "copy0.docx").unlink()
    steps.run("update to nothing new", "index", "--update", "--merge", index)
    steps.run("check", "check", index)
    steps.run("index again", "index", files, "-o", files.parent / "again")
    merged, again = Index(index), Index(files.parent / "again")
    check(sorted(merged.terms()) == sorted(again.terms()), "the terms differ from those of a new build")
    check({d.doc_id: d for d in merged} == {d.doc_id: d for d in again}, "documents differ from those of a new build")


if __name__ == "__main__":
    main()
