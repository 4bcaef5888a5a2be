"""Take the pictures of the page that the documentation shows: python docs/screenshots.py [FOLDER, docs by default]

The documents are the demo's, the docstrings of Python's standard library. Needs the extras neural, minilm, serve and
dev, and Chromium on PATH.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import sync_playwright

from longrank.demo.collection import DemoCollection, load, write
from longrank.types import Notes

LONGRANK = (sys.executable, "-m", "longrank")
INDEX = "python-docs"
KEY = "secret"
JUDGING = ("--judgments", "qrels.txt", "--topics", "collection/queries.jsonl", "--key-file", "key.txt")
QUERY = "choose an implementation according to the type of the first argument"
DOCUMENT = "functools"
RERANKED = ("sched", "queue", "collections", "heapq")
RERANK_QUERY = "find the ten largest items of a huge list without sorting all of it"


def main(folder: Path) -> None:
    """Write page-search.png, page-compare.png, page-document.png, page-judge.png and page-rerank.png into a folder."""
    collection = load(Notes())
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as driver:
        work = Path(temporary)
        index(collection, work)
        path = shutil.which("chromium") or shutil.which("google-chrome")
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])

        with serving(work) as url:
            take(browser, url, collection, folder)
        with serving(work, *JUDGING) as url:
            page = opened(browser, f"{url}/#label", 1280, 820)
            page.wait_for_selector(".label-document")
            page.keyboard.press("2")
            page.locator(".progress", has_text="1 of").wait_for()
            save(page, folder, "judge")
        browser.close()


def opened(browser: Any, address: str, width: int, height: int, scheme: str = "light") -> Any:
    """Open a view of the page in a new window."""
    size, key = {"width": width, "height": height}, {"Authorization": f"Bearer {KEY}"}
    page = browser.new_page(viewport=size, color_scheme=scheme, reduced_motion="reduce", extra_http_headers=key)
    page.set_default_timeout(180_000)  # a busy machine is slow
    page.goto(address)
    return page


def save(page: Any, folder: Path, name: str) -> None:
    """Write a picture of the page."""
    page.screenshot(path=folder / f"page-{name}.png")


def take(browser: Any, url: str, collection: DemoCollection, folder: Path) -> None:
    """Take the pictures of searching, comparing, reading and reranking."""
    first = opened(browser, url, 1280, 1000)
    first.wait_for_selector("#view-search:not([hidden])")  # the models are loaded
    for name in ("mixed", "lexical", "bm25"):  # the first search of a pipeline compiles its loops
        first.request.post(f"{url}/search", data={"query": QUERY, "pipeline": name, "passages": 5}, timeout=180_000)
    page = opened(browser, asking(url, "search", "mixed"), 1280, 1000)
    page.wait_for_selector(".card")
    save(page, folder, "search")

    page = opened(browser, asking(url, "search", "mixed", "lexical", "bm25"), 1500, 1000)
    page.wait_for_selector("[data-pipeline=bm25] .card .place")
    page.locator(f"[data-pipeline=mixed] [data-doc='{DOCUMENT}'] h3").hover()
    save(page, folder, "compare")

    page = opened(
        browser, asking(url, "document", "mixed", "lexical", id=DOCUMENT, **{"in": "mixed"}), 1280, 880, "dark"
    )
    page.wait_for_selector(".text .heat")
    for _ in range(4):
        page.keyboard.press("n")
    page.wait_for_timeout(500)
    save(page, folder, "document")

    page = opened(browser, f"{url}/#rerank", 1280, 1000)
    page.fill("#rerank-query", RERANK_QUERY)
    texts = {one.doc_id: one.text for one in collection.documents}
    page.fill("#texts", "\n---\n".join(texts[name] for name in RERANKED))
    page.get_by_role("button", name="Rank", exact=True).click()
    page.wait_for_selector("#ranking .card")
    page.evaluate("scrollTo(0, 0)")
    save(page, folder, "rerank")


def asking(url: str, view: str, *pipelines: str, **more: str) -> str:
    """Return the page's address of a search, or of a document of it."""
    return (
        f"{url}/#{view}?{urlencode([('q', QUERY), *(('p', name) for name in pipelines), ('k', '10'), *more.items()])}"
    )


def index(collection: DemoCollection, folder: Path) -> None:
    """Index the collection, with vectors."""
    write(collection, folder / "collection")
    subprocess.run(
        [*LONGRANK, "index", "collection/docs.jsonl", "-o", INDEX, "--vectors", "minilm"], cwd=folder, check=True
    )
    (folder / "key.txt").write_text(KEY, encoding="utf-8")


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[str]:
    """Serve the index until the block ends; the value is the server's address."""
    pipelines = [word for name in ("mixed", "minilm", "lexical", "bm25") for word in ("--pipeline", name)]
    command = [*LONGRANK, "serve", INDEX, *pipelines, *options, "--port", "0"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield next(line for line in server.stdout if line.startswith("listening on ")).split()[-1]
        finally:
            server.terminate()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
