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
QUERY = "choose an implementation according to the type of the first argument"
DOCUMENT = "functools"
RERANKED = ("sched", "queue", "collections", "heapq")
RERANK_QUERY = "find the ten largest items of a huge list without sorting all of it"


def main(folder: Path) -> None:
    """Write page-search.png, page-compare.png, page-document.png and page-rerank.png into a folder."""
    collection = load(Notes())
    with (
        tempfile.TemporaryDirectory() as temporary,
        serving(collection, Path(temporary)) as url,
        sync_playwright() as driver,
    ):
        path = shutil.which("chromium") or shutil.which("google-chrome")
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])

        def opened(hash_: str, width: int, height: int, scheme: str = "light") -> Any:
            size = {"width": width, "height": height}
            page = browser.new_page(viewport=size, color_scheme=scheme, reduced_motion="reduce")
            page.goto(f"{url}/#{hash_}")
            return page

        def save(page: Any, name: str) -> None:
            page.screenshot(path=folder / f"page-{name}.png")

        page = opened(asking("search", "mixed"), 1280, 1000)
        page.wait_for_selector(".card")
        save(page, "search")

        page = opened(asking("search", "mixed", "lexical", "bm25"), 1500, 1000)
        page.wait_for_selector("[data-pipeline=bm25] .card .place")
        page.locator(f"[data-pipeline=mixed] [data-doc='{DOCUMENT}'] h3").hover()
        save(page, "compare")

        page = opened(asking("document", "mixed", "lexical", id=DOCUMENT, **{"in": "mixed"}), 1280, 880, "dark")
        page.wait_for_selector(".text .heat")
        for _ in range(4):
            page.keyboard.press("n")
        page.wait_for_timeout(500)
        save(page, "document")

        page = opened("rerank", 1280, 1000)
        page.fill("#rerank-query", RERANK_QUERY)
        texts = {one.doc_id: one.text for one in collection.documents}
        page.fill("#texts", "\n---\n".join(texts[name] for name in RERANKED))
        page.get_by_role("button", name="Rank", exact=True).click()
        page.wait_for_selector("#ranking .card")
        page.evaluate("scrollTo(0, 0)")
        save(page, "rerank")
        browser.close()


def asking(view: str, *pipelines: str, **more: str) -> str:
    """Return the page's address of a search, or of a document of it."""
    return f"{view}?{urlencode([('q', QUERY), *(('p', name) for name in pipelines), ('k', '10'), *more.items()])}"


@contextmanager
def serving(collection: DemoCollection, folder: Path) -> Iterator[str]:
    """Index the collection and serve it until the block ends; the value is the server's address."""
    write(collection, folder / "collection")
    subprocess.run(
        [*LONGRANK, "index", "collection/docs.jsonl", "-o", INDEX, "--vectors", "minilm"], cwd=folder, check=True
    )
    pipelines = [word for name in ("mixed", "minilm", "lexical", "bm25") for word in ("--pipeline", name)]
    command = [*LONGRANK, "serve", INDEX, *pipelines, "--port", "0"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield next(line for line in server.stdout if line.startswith("listening on ")).split()[-1]
        finally:
            server.terminate()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
