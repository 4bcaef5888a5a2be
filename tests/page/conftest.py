"""The page in a real browser, served by the real application over a small index."""

from __future__ import annotations

import asyncio
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest

from longrank.types import Document, Notes
from page.documents import DOCUMENTS

SET = ("passages.options={length=40, stride=20}",)
_NAMES = ("chromium", "chromium-browser", "google-chrome")
_LACKS = (
    *("WebUIOmniboxPopup", "WebUIOmniboxAimPopup"),  # a second of a processor for each window, of which nothing is seen
    # The last list counts, so these are of Playwright's own.
    *("AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "HttpsUpgrades", "MediaRouter"),
    *("HttpsFirstBalancedModeAutoEnable", "PaintHolding", "ThirdPartyStoragePartitioning", "OptimizationHints"),
    *("AvoidCorsURLLoaderRestartOnRedirect", "LensOverlay", "NetworkTimeServiceQuerying", "PreconnectToSearch"),
)
"""Features of Chromium that tests of a page do without."""

WATCH = """
window.violations = [];
addEventListener("securitypolicyviolation", (one) => violations.push(`${one.violatedDirective} ${one.blockedURI}`));
"""


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    """Headless Chromium; for this folder only, because its driver's event loop is in the way of other tests' loops."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs the package playwright (extra dev)")
    path = next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None:
        pytest.skip(f"needs Chromium on PATH ({', '.join(_NAMES)})")
    with playwright.sync_playwright() as driver:
        flags = ["--no-sandbox", "--disable-gpu", f"--disable-features={','.join(_LACKS)}"]
        browser = driver.chromium.launch(executable_path=path, args=flags)
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def make_engine(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """Make an engine that serves `lexical`, `bm25` and `rm3` over documents."""
    pytest.importorskip("fastapi", reason="needs the extra serve")
    from fakes import index_of
    from longrank.service.engine import Engine
    from longrank.service.served import PipelineChoice

    def make(documents: list[Document], *, load: bool = True) -> Any:
        folder = tmp_path_factory.mktemp("page")
        wanted = [PipelineChoice(name) for name in ("lexical", "bm25", "rm3")]
        engine = Engine(wanted, index_of(documents, folder / "animals"), assignments=SET, notes=Notes())
        if load:
            engine.load()
        return engine

    return make


@pytest.fixture(scope="package")
def engine(make_engine: Callable[..., Any]) -> Any:
    return make_engine(DOCUMENTS)


@pytest.fixture(scope="package")
def serving() -> Callable[..., AbstractContextManager[str]]:
    """Serve an engine on a free port as long as the block lasts; the value is the page's address."""
    import uvicorn

    from longrank.service.app import create_app
    from longrank.service.settings import ServiceSettings
    from served import opened

    @contextmanager
    def serve(engine: Any, *, judging: Any = None, **settings: Any) -> Iterator[str]:
        desk = opened(engine, ServiceSettings(**settings), judging)
        server = uvicorn.Server(uvicorn.Config(create_app(desk), port=0, log_config=None, lifespan="off"))

        async def run() -> None:
            desk.scheduler.start()
            await server.serve()
            await desk.scheduler.close()

        thread = threading.Thread(target=lambda: asyncio.run(run()))
        thread.start()
        until = time.monotonic() + 60
        while not server.started and thread.is_alive() and time.monotonic() < until:
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/"
        finally:
            server.should_exit = True
            thread.join()

    return serve


@pytest.fixture(scope="package")
def server(engine: Any, serving: Callable[..., AbstractContextManager[str]]) -> Iterator[str]:
    with serving(engine) as url:
        yield url


@pytest.fixture(scope="package")
def profiles() -> dict[str, list[Any]]:
    """Empty profiles that tests have left, by their options: a new one takes a second of a processor."""
    return {}


@pytest.fixture
def show(browser: Any, profiles: dict[str, list[Any]]) -> Iterator[Callable[..., Any]]:
    """Open an address in an empty profile; at the end nothing may have complained, popped up or been blocked.

    ``failing=True``: answers that are no 200 are part of the test.
    """
    opened: list[tuple[str, Any, list[str]]] = []

    def show(url: str, *, failing: bool = False, prepare: Callable[[Any], None] | None = None, **options: Any) -> Any:
        options = {"viewport": {"width": 1280, "height": 900}, "reduced_motion": "reduce", **options}
        left = profiles.setdefault(str(options), [])
        if not left:
            left.append(browser.new_context(**options))
            left[-1].add_init_script(WATCH)
            left[-1].route("**/none", lambda route: route.abort())  # Chromium lets requests pass a page's first route
        page, seen = left.pop().new_page(), []
        page.set_default_timeout(30_000)  # a browser beside a full suite on two cores is slow

        def hear(message: Any) -> None:
            if message.type in ("error", "warning") and not (failing and "Failed to load resource" in message.text):
                seen.append(message.text)

        page.on("console", hear)
        page.on("pageerror", lambda error: seen.append(str(error)))
        page.on("dialog", lambda dialog: (seen.append(f"dialog {dialog.message}"), dialog.dismiss()))
        if prepare is not None:
            prepare(page)
        opened.append((str(options), page, seen))
        page.goto(url)
        return page

    yield show
    for options, page, seen in opened:
        assert page.evaluate("violations") == []
        assert seen == []
        _empty(page)
        profiles[options].append(page.context)


def _empty(page: Any) -> None:
    """Leave nothing of a page in its profile."""
    everything = {"origin": page.evaluate("origin"), "storageTypes": "all"}
    page.context.new_cdp_session(page).send("Storage.clearDataForOrigin", everything)
    page.context.clear_cookies()
    page.context.clear_permissions()
    page.context.set_offline(False)
    for one in page.context.pages:
        one.close()


@pytest.fixture(scope="package")
def texts() -> dict[str, str]:
    return {document.doc_id: document.text for document in DOCUMENTS}
