"""One browser and one TensorBoard for the session; each test has its own context and fails on any page error."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest

from tests.conftest import FIXTURES, ROOT, real_data
from tests.e2e.tensorboard import said, tensorboard

playwright_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import (  # noqa: E402
    Browser,
    BrowserContext,
    ConsoleMessage,
    Error,
    FrameLocator,
    Page,
    Request,
    expect,
)

CHROMIUM = next(
    (
        found
        for name in (os.environ.get("CHROMIUM"), "chromium", "chromium-browser", "google-chrome")
        if name and (found := shutil.which(name))
    ),
    None,
)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--force-color-profile=srgb",
    "--font-render-hinting=none",
    "--disable-lcd-text",
]
PLUGIN = "npu_profiler"
#: A wait that takes longer is a defect, however busy the machine is, in ms. Nothing waits for as long where all is well.
PATIENCE = 60_000
expect.set_options(timeout=PATIENCE)
#: After this, in ms, the address tells what was done (state/params.ts waits 150 ms).
ADDRESS = 160
#: Resolves so many ms after what was done before has been drawn, in the fonts that it is to have: they come late, and
#: move what stands below them.
DRAWN = """async () => { await document.fonts.ready;
  await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, %d)))); }"""
#: For what is only looked at where a test has failed already, in ms.
LOOK = 5_000
#: What the demo shows.
VIEWS = ("overview", "trace", "step_trace", "kernel", "operator", "memory", "distributed", "diff", "doctor")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/e2e/" in item.nodeid:
            item.add_marker(pytest.mark.e2e)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no Chromium found and none could be installed (tools/ensure_chromium.sh)")
    with playwright_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS, timeout=3 * PATIENCE)
        yield running
        running.close()


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("e2e") / "cache"


@pytest.fixture(scope="session")
def demo_server(cache: Path) -> Iterator[str]:
    with tensorboard("--logdir", str(FIXTURES / "demo"), cache=cache) as url:
        yield url


@pytest.fixture(scope="session")
def real_server(cache: Path) -> Iterator[str]:
    data = real_data()
    if data is None:
        pytest.skip("no real data: set NPU_REAL_DATA to the folder that holds ascend_pt_text_level1")
    with tensorboard("--logdir", str(data / "ascend_pt_text_level1"), cache=cache) as url:
        yield url


@pytest.fixture(scope="session")
def broken_server(cache: Path) -> Iterator[str]:
    with tensorboard("--logdir", str(FIXTURES / "broken"), cache=cache) as url:
        yield url


def is_question(request: Request) -> bool:
    kinds = ("view", "table", "timeline")
    return request.resource_type == "fetch" and any(f"/{PLUGIN}/api/{kind}/" in request.url for kind in kinds)


def is_agreed(message: ConsoleMessage) -> bool:
    """The browser notes every 400 and 404; on a question about an older reading of a trace, and about a step or device
    of another span, that is the agreed answer."""
    place = str(message.location)
    is_stale = "404" in message.text and "/api/timeline/" in place and "version=" in place
    return is_stale or ("400" in message.text and "/api/view/" in place and ("step=" in place or "device=" in place))


@dataclass
class Plugin:
    """The plugin's tab in one browser page; records what a user must never see."""

    page: Page
    url: str
    defects: list[str] = field(default_factory=list)
    #: Questions to the server without an answer so far, but those that are asked again and again.
    asked: set[Request] = field(default_factory=set)
    #: How many there were.
    count: int = 0
    #: What the console said, for the report of a test that fails.
    console: list[str] = field(default_factory=list)

    def watch(self) -> None:
        self.page.on("request", self.note_question)
        self.page.on("console", lambda message: self.console.append(f"{message.type}: {message.text}"))
        self.page.on("requestfinished", lambda request: self.asked.discard(request))
        self.page.on("requestfailed", lambda request: self.asked.discard(request))
        host = urlsplit(self.url).netloc
        self.page.on("pageerror", lambda error: self.defects.append(f"page error: {error}"))
        self.page.on(
            "console",
            lambda message: (
                self.defects.append(f"console {message.type}: {message.text} ({message.location})")
                if message.type == "error" and PLUGIN in str(message.location) + message.text and not is_agreed(message)
                else None
            ),
        )
        self.page.on(
            "request",
            lambda request: (
                self.defects.append(f"foreign request: {request.url}")
                if urlsplit(request.url).scheme in ("http", "https") and urlsplit(request.url).netloc != host
                else None
            ),
        )
        self.page.on(
            "response",
            lambda response: (
                self.defects.append(f"status {response.status}: {response.url}")
                if response.status >= 500 and PLUGIN in response.url
                else None
            ),
        )

    def note_question(self, request: Request) -> None:
        if is_question(request):
            self.asked.add(request)
            self.count += 1

    def open(self, view: str = "", wait: bool = True, **state: str) -> FrameLocator:
        """Go to the plugin with this state in the URL and wait until the view is ready, unless `wait` is False."""
        if view:
            state["view"] = view
        pairs = {f"p.{PLUGIN}.{key}": value for key, value in state.items()}
        target = f"{self.url}#{PLUGIN}" + (f"&{urlencode(pairs)}" if pairs else "")
        self.page.goto("about:blank")
        self.asked.clear()  # nobody waits for these any more, and not each is told to have failed
        self.page.goto(target)
        if view and wait:
            self.ready(view)
        return self.frame

    def close(self) -> None:
        """Leave the page, before its server ends."""
        self.page.goto("about:blank")

    @property
    def frame(self) -> FrameLocator:
        return self.page.frame_locator(f'iframe[src*="name={PLUGIN}"]')

    def drawn(self, ms: int = 0) -> None:
        """Wait until the page has drawn what was done before; and `ms` longer, counted by the page itself."""
        self.frame.locator("#shell").evaluate(DRAWN % ms)

    def quiet(self) -> None:
        """Wait until nothing is asked of the server any more, the answers are drawn and the address tells of them."""
        end = time.monotonic() + PATIENCE / 1000
        while True:
            # An answer that came during the wait may be about to be drawn, and to lead to the next question.
            was_quiet, count = not self.asked, self.count
            self.drawn(ADDRESS)
            if was_quiet and not self.asked and self.count == count:
                return
            assert time.monotonic() < end, f"no answer: {[request.url for request in self.asked]}"

    def ready(self, view: str) -> None:
        """Wait until this view shows its data, or says why it has none."""
        self.drawn()  # what was chosen last: the view of before is ready as well
        settled = ", ".join(
            f'#shell[data-view="{view}"] .view-frame[data-state="{state}"]' for state in ("ready", "missing", "failed")
        )
        self.frame.locator(settled).wait_for(state="attached", timeout=2 * PATIENCE)

    def state(self) -> str:
        """State of the view that is shown: loading, reading, ready, missing, failed or error."""
        return self.frame.locator(".view-frame").get_attribute("data-state") or ""

    def report(self) -> str:
        """What a person would look at first where a test fails."""
        parts = [f"address: {self.page.url}", f"no answer to: {[request.url for request in self.asked]}"]
        parts.append("\n".join(["console:", *self.console[-20:]]))
        with contextlib.suppress(Error):  # the page may not be there any more
            states = self.frame.locator(".view-frame, .tl").evaluate_all(
                "found => found.map(one => ({...one.dataset}))"
            )
            parts.append(f"states: {states}")
            text = self.frame.locator("body").inner_text(timeout=LOOK)
            parts.append(f"page: {' '.join(text.split())[:4000]}")
        return "\n".join([*parts, f"TensorBoard said:\n{said(self.url)}"])


def wait_until(plugin: Plugin, is_so: Callable[[], bool]) -> None:
    """Wait for what the page itself does not show."""
    end = time.monotonic() + PATIENCE / 1000
    while not is_so():
        assert time.monotonic() < end, "it does not come"
        plugin.page.wait_for_timeout(100)


#: Pages of a test.
PAGES = pytest.StashKey[list[Plugin]]()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """A test that fails says what its pages showed: where it was run there may be nothing else to look at."""
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    if call.when == "call" and report.failed and "from pytest-timeout" not in report.longreprtext:
        for number, plugin in enumerate(item.stash.get(PAGES, [])):
            report.sections.append((f"page {number + 1}", plugin.report()))


@pytest.fixture
def open_plugin(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Callable[..., Plugin]]:
    """`open_plugin(url, **context options)`: a fresh page; at the end of the test no defect may be recorded."""
    contexts: list[BrowserContext] = []
    plugins: list[Plugin] = request.node.stash.setdefault(PAGES, [])

    def start(url: str, **options: object) -> Plugin:
        settings: dict[str, object] = {
            "viewport": {"width": 1440, "height": 900},
            "locale": "en-US",
            "timezone_id": "UTC",
            "reduced_motion": "reduce",
            **options,
        }
        context = browser.new_context(**settings)  # type: ignore[arg-type]
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        plugin = Plugin(context.new_page(), url)
        plugin.watch()
        plugins.append(plugin)
        return plugin

    yield start
    for context in contexts:
        context.close()
    assert not [defect for plugin in plugins for defect in plugin.defects]


@pytest.fixture
def shot(request: pytest.FixtureRequest) -> Callable[[Plugin, str], None]:
    """`shot(plugin, name)`: a screenshot into e2e-out/, with --docs into docs/img/."""
    folder = ROOT / ("docs/img" if request.config.getoption("--docs") else "e2e-out")
    folder.mkdir(parents=True, exist_ok=True)

    def take(plugin: Plugin, name: str) -> None:
        plugin.page.locator(f'iframe[src*="name={PLUGIN}"]').screenshot(path=str(folder / f"{name}.png"))

    return take
