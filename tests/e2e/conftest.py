"""One browser for the session, a TensorBoard for each logdir; a page error fails the test.

A cold start of TensorBoard's page takes five seconds of processor time, the plugin's frame in it half a second. The page
is therefore without TensorBoard's program, unless a test asks for it (`whole`); pages go from test to test, and each loads
the frame anew.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shutil
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from re import Pattern
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

from tb_npu_plugin.errors import NotReady
from tests.conftest import FIXTURES, ROOT
from tests.e2e.tensorboard import log_tail, tensorboard
from tests.support import cli

playwright_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import (  # noqa: E402
    Browser,
    ConsoleMessage,
    Error,
    FrameLocator,
    Locator,
    Page,
    Request,
    Response,
    Route,
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
#: Limit of a wait in ms: longer than any machine needs.
PATIENCE = 60_000
expect.set_options(timeout=PATIENCE)
#: After this, in ms, the address holds the state (state/params.ts waits 150 ms).
ADDRESS = 160
#: Puts a new frame with the plugin into TensorBoard's page, at an address.
RENEW = """([target, name]) => { history.replaceState(null, "", target);
  const frame = document.querySelector(`iframe[src*="name=${name}"]`), renewed = frame.cloneNode();
  renewed.src = `data/plugin_entry.html?name=${name}`; frame.replaceWith(renewed); }"""
#: Body of TensorBoard's page without its program: the plugin's frame at its place. %s: class of its colour mode.
BODY = f"""<body class="%s"><iframe src="data/plugin_entry.html?name={PLUGIN}"
style="position: fixed; top: 64px; width: 100%%; height: calc(100%% - 64px); border: 0"></iframe></body>"""
#: Stops the plugin, forgets what it stored.
IDLE = """name => { localStorage.clear(); sessionStorage.clear();
  document.querySelector(`iframe[src*="name=${name}"]`).src = `about:blank#name=${name}`; }"""
#: Resolves so many ms after the next frame is drawn in its final fonts.
DRAWN = """async () => { await document.fonts.ready;
  await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, %d)))); }"""
#: Limit of a wait in the report of a failed test, in ms.
LOOK = 5_000
#: Views of the demo.
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
def cache(cache_of_run: Path) -> Path:
    return cache_of_run


@pytest.fixture(scope="session")
def demo_server(cache: Path) -> Iterator[str]:
    with tensorboard("--logdir", str(FIXTURES / "demo"), cache=cache) as url:
        yield url


@pytest.fixture(scope="session")
def broken_server(cache: Path) -> Iterator[str]:
    with tensorboard("--logdir", str(FIXTURES / "broken"), cache=cache) as url:
        yield url


@pytest.fixture(scope="session")
def results_server(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Each result of fixtures/results and fixtures/recorded as a run, and "two_devices": two devices in one file."""
    logdir = tmp_path_factory.mktemp("results")
    for group in ("results", "recorded"):
        for fixture in (FIXTURES / group).iterdir():
            (logdir / fixture.name).symlink_to(fixture, target_is_directory=True)
    shutil.copytree(FIXTURES / "results" / "links", logdir / "two_devices")
    file = next((logdir / "two_devices").rglob("step_trace_time.csv"))
    header, *rows = file.read_text().splitlines()
    place = header.split(",").index("Device_id")
    cells = [row.split(",") for row in rows]
    other = [",".join([*row[:place], "7", *row[place + 1 :]]) for row in cells]
    file.write_text("\n".join([header, *rows, *other]) + "\n")
    with tensorboard("--logdir", str(logdir), cache=cache) as url:
        yield url


@pytest.fixture(scope="session")
def many_server(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """64 ranks on eight hosts; rank 22 computes three times as long. Beside it 4 ranks without traces."""
    logs = tmp_path_factory.mktemp("many")
    options = [
        "--model",
        "tiny",
        "--steps",
        "1",
        "--layers",
        "1",
        "--seq",
        "2048",
        "--batch",
        "4",
        "--no-stack",
        "--no-shapes",
        "--no-memory",
    ]
    made = cli.run("mock", "--out", logs / "many", *options, "--ranks", "64", "--tp", "8", "--fault", "slow-rank:22:3")
    bare = cli.run("mock", "--out", logs / "bare", "--model", "tiny", "--ranks", "4", "--steps", "1", "--layers", "1")
    assert made.returncode == bare.returncode == 0
    for trace in (logs / "bare").rglob("trace_view.json"):
        trace.unlink()
    with tensorboard("--logdir", str(logs), cache=cache) as url:
        yield url


def is_data_request(request: Request) -> bool:
    kinds = ("view", "table", "timeline")
    return request.resource_type == "fetch" and any(f"/{PLUGIN}/api/{kind}/" in request.url for kind in kinds)


def is_expected(message: ConsoleMessage) -> bool:
    """The browser logs every status from 400 on, also the expected answers: to a request for an older version of a trace, for a
    step or device of another span, or for what is still being read."""
    place = str(message.location)
    if str(NotReady.status) in message.text and "/api/timeline/" in place:
        return True
    is_stale = "404" in message.text and "/api/timeline/" in place and "version" in place
    return is_stale or ("400" in message.text and "/api/view/" in place and ("step=" in place or "device=" in place))


@dataclass
class Plugin:
    """The plugin's tab in a browser page; records errors."""

    page: Page
    url: str
    #: TensorBoard's program runs in the page around it.
    is_whole: bool = False
    #: Class of TensorBoard's colour mode, without its program.
    mode: str = ""
    defects: list[str] = field(default_factory=list)
    #: Requests for data without an answer; not those that poll.
    pending: set[Request] = field(default_factory=set)
    #: Number of requests for data.
    requests: int = 0
    #: Lines of the console, for the report of a failed test.
    console: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._handlers = {
            "request": self._on_request,
            "requestfinished": lambda request: self.pending.discard(request),
            "requestfailed": lambda request: self.pending.discard(request),
            "pageerror": lambda error: self.defects.append(f"page error: {error}"),
            "console": self._on_console,
            "response": self._on_response,
        }
        for event, handler in self._handlers.items():
            self.page.on(event, handler)  # type: ignore[call-overload]

    def unwatch(self) -> None:
        for event, handler in self._handlers.items():
            self.page.remove_listener(event, handler)

    def _on_console(self, message: ConsoleMessage) -> None:
        self.console.append(f"{message.type}: {message.text}")
        if message.type == "error" and PLUGIN in str(message.location) + message.text and not is_expected(message):
            self.defects.append(f"console {message.type}: {message.text} ({message.location})")

    def _on_response(self, response: Response) -> None:
        if response.status >= 500 and response.status != NotReady.status and PLUGIN in response.url:
            self.defects.append(f"status {response.status}: {response.url}")

    def _on_request(self, request: Request) -> None:
        address = urlsplit(request.url)
        if address.scheme in ("http", "https") and address.netloc != urlsplit(self.url).netloc:
            self.defects.append(f"foreign request: {request.url}")
        if is_data_request(request):
            self.pending.add(request)
            self.requests += 1

    def reset(self) -> None:
        """Make the page fit for another test."""
        self.page.unroute_all()
        if self.frame_holder.count():
            self.page.evaluate(IDLE, PLUGIN)
        self.page.mouse.move(0, 0)

    def go(self, target: str) -> FrameLocator:
        """Load the plugin at this address; the page around it stays if it is there."""
        is_there = self.page.url.startswith(self.url) and self.frame_holder.count()
        self.pending.clear()  # aborted; not each is reported as failed
        if is_there:
            self.page.evaluate(RENEW, [target, PLUGIN])
        else:
            if not self.is_whole:
                self.page.route(self.url, self._without_program, times=1)
            self.page.goto(target)
        return self.frame

    def _without_program(self, route: Route) -> None:
        """Answer with TensorBoard's page: its policy and its fonts, and the plugin's frame alone in it."""
        found = route.fetch()
        route.fulfill(response=found, body=re.sub("<body.*", BODY % self.mode, found.text(), flags=re.DOTALL))

    def open(self, view: str = "", wait: bool = True, **state: str) -> FrameLocator:
        """Load the plugin with this state in the URL and wait until the view is ready, unless `wait` is False."""
        if view:
            state["view"] = view
        pairs = {f"p.{PLUGIN}.{key}": value for key, value in state.items()}
        target = f"{self.url}#{PLUGIN}" + (f"&{urlencode(pairs)}" if pairs else "")
        self.go(target)
        if view and wait:
            self.ready(view)
        return self.frame

    def switch(self, view: str) -> None:
        """Choose a view in the sidebar."""
        self.frame.locator(f'nav.side a[data-view="{view}"]').click()
        self.ready(view)

    def choose(self, heading: str, option: str | Pattern[str], words: str = "") -> None:
        """Choose in the dropdown below a heading of the sidebar, if `words` are given after typing them into its filter."""
        self.frame.locator(f'nav.side h2:text-is("{heading}") + *').first.locator("button").first.click()
        if words:
            self.page.keyboard.type(words)
        self.frame.get_by_role("option", name=option).first.click()

    def choose_period(self, option: str) -> None:
        """Choose a step, or all, in the header."""
        self.frame.locator(".period-chip button").first.click()
        self.frame.get_by_role("option", name=re.compile(f"^{option}")).first.click()

    def pick(self, face: str, option: str) -> None:
        """Choose in a dropdown of the view by the text on its button."""
        self.main.locator("button", has_text=re.compile(f"^{face}")).first.click()
        self.frame.get_by_role("option", name=option, exact=True).click()

    def download(self, button: Locator) -> bytes:
        """Content of the file that a click saves."""
        with self.page.expect_download() as download:
            button.click()
        return download.value.path().read_bytes()

    def get(self, path: str) -> dict[str, Any]:
        """Answer of the plugin's server."""
        return dict(self.page.request.get(f"{self.url}data/plugin/{PLUGIN}/api/{path}").json())

    def catalog(self) -> dict[str, Any]:
        """Runs and skipped folders, when the scan is finished."""
        found: dict[str, Any] = {}

        def is_scanned() -> bool:
            found.update(self.get("catalog"))
            return not found["scanning"]

        wait_until(self, is_scanned)
        return found

    def span_of(self, name: str) -> dict[str, str]:
        """URL state of the first span whose labels hold this name; {} where none does."""
        for run in self.catalog()["runs"]:
            for worker in run["workers"]:
                for span in worker["spans"]:
                    if name in run["label"] + worker["label"] + span["label"]:
                        return {"run": run["id"], "worker": worker["id"], "span": span["id"]}
        return {}

    def close(self) -> None:
        """Leave the page before its server ends."""
        self.page.goto("about:blank")

    @property
    def frame_holder(self) -> Locator:
        return self.page.locator(f'iframe[src*="name={PLUGIN}"]')

    @property
    def frame(self) -> FrameLocator:
        return self.frame_holder.content_frame

    @property
    def main(self) -> Locator:
        return self.frame.locator("main")

    def card(self, heading: str) -> Locator:
        return self.frame.locator("section.card", has=self.frame.get_by_role("heading", name=heading, exact=True))

    def rows(self, table: str) -> Locator:
        """Rows of a table, without its header."""
        return self.frame.locator(f'[data-table="{table}"] .data-row.body')

    @property
    def row_count(self) -> Locator:
        """Text with the number of rows of the first table."""
        return self.frame.locator(".table-tools [role=status]").first

    def drawn(self, ms: int = 0) -> None:
        """Wait until the page has drawn, and `ms` longer by the clock of the page."""
        self.frame.locator("#shell").evaluate(DRAWN % ms)

    def quiet(self) -> None:
        """Wait until no request is pending, the answers are drawn and the address is updated."""
        end = time.monotonic() + PATIENCE / 1000
        while True:
            # An answer that came during the wait may lead to the next request.
            was_quiet, requests = not self.pending, self.requests
            self.drawn(ADDRESS)
            if was_quiet and not self.pending and self.requests == requests:
                return
            assert time.monotonic() < end, f"no answer: {[request.url for request in self.pending]}"

    def ready(self, view: str) -> None:
        """Wait until this view shows its data, or why it has none."""
        self.drawn()  # the click: the previous view is ready as well
        settled = ", ".join(
            f'#shell[data-view="{view}"] .view-frame[data-state="{state}"]' for state in ("ready", "missing", "failed")
        )
        self.frame.locator(settled).wait_for(state="attached", timeout=2 * PATIENCE)

    def state(self) -> str:
        """State of the view that is shown: loading, reading, ready, missing, failed or error."""
        return self.frame.locator(".view-frame").get_attribute("data-state") or ""

    def report(self) -> str:
        """Address, console, states and text of the page, log of the server."""
        parts = [f"address: {self.page.url}", f"no answer to: {[request.url for request in self.pending]}"]
        parts.append("\n".join(["console:", *self.console[-20:]]))
        with contextlib.suppress(Error):  # the page may be closed
            states = self.frame.locator(".view-frame, .tl").evaluate_all(
                "found => found.map(one => ({...one.dataset}))"
            )
            parts.append(f"states: {states}")
            text = self.frame.locator("body").inner_text(timeout=LOOK)
            parts.append(f"page: {' '.join(text.split())[:4000]}")
        return "\n".join([*parts, f"TensorBoard logged:\n{log_tail(self.url)}"])


Open = Callable[..., Plugin]


def wait_until(plugin: Plugin, is_so: Callable[[], bool]) -> None:
    """Wait for a condition that the page itself does not show."""
    end = time.monotonic() + PATIENCE / 1000
    while not is_so():
        assert time.monotonic() < end, "timed out"
        plugin.page.wait_for_timeout(100)


#: Pages of a test; True where it failed.
PAGES = pytest.StashKey[list[Plugin]]()
FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Add what the pages showed to the report of a failed test: a CI run leaves nothing else to look at."""
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    if call.when == "call" and report.failed:
        item.stash[FAILED] = True
        if "from pytest-timeout" not in report.longreprtext:
            for number, plugin in enumerate(item.stash.get(PAGES, [])):
                report.sections.append((f"page {number + 1}", plugin.report()))


@pytest.fixture(scope="session")
def idle_pages(browser: Browser) -> Iterator[dict[str, list[Page]]]:
    """Pages that no test uses, by the options of their context."""
    pages: dict[str, list[Page]] = defaultdict(list)
    yield pages
    for page in itertools.chain.from_iterable(pages.values()):
        page.context.close()


@pytest.fixture
def open_plugin(browser: Browser, idle_pages: dict[str, list[Page]], request: pytest.FixtureRequest) -> Iterator[Open]:
    """`open_plugin(url, **context options)`: a page; at the end of the test no defect may be recorded."""
    used: list[tuple[str, Plugin]] = []
    plugins: list[Plugin] = request.node.stash.setdefault(PAGES, [])

    def start(url: str, width: int = 1440, height: int = 900, whole: bool = False, **options: object) -> Plugin:
        key = f"{whole} {sorted(options.items())}"
        idle = idle_pages[key]
        idle.sort(key=lambda page: page.url.startswith(url))
        page = idle.pop() if idle else new_page(**options)
        page.set_viewport_size({"width": width, "height": height})
        plugin = Plugin(page, url, whole, "dark-mode" if options.get("color_scheme") == "dark" else "")
        used.append((key, plugin))
        plugins.append(plugin)
        return plugin

    def new_page(**options: object) -> Page:
        settings: dict[str, object] = {"locale": "en-US", "timezone_id": "UTC", "reduced_motion": "reduce", **options}
        context = browser.new_context(**settings)  # type: ignore[arg-type]
        context.set_default_timeout(PATIENCE)
        return context.new_page()

    yield start
    for key, plugin in used:
        plugin.unwatch()
        if request.node.stash.get(FAILED, False) or plugin.defects:
            plugin.page.context.close()
        else:
            plugin.reset()
            idle_pages[key].append(plugin.page)
    assert not [defect for plugin in plugins for defect in plugin.defects]


@pytest.fixture
def shot(request: pytest.FixtureRequest) -> Callable[[Plugin, str], None]:
    """`shot(plugin, name)`: a screenshot into e2e-out/, with --docs into docs/img/."""
    folder = ROOT / ("docs/img" if request.config.getoption("--docs") else "e2e-out")
    folder.mkdir(parents=True, exist_ok=True)

    def take(plugin: Plugin, name: str) -> None:
        plugin.page.locator(f'iframe[src*="name={PLUGIN}"]').screenshot(path=str(folder / f"{name}.png"))

    return take
