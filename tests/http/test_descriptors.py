"""A server that may open few files: requests wait, and none takes a lack of descriptors for an answer."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from tb_npu_plugin.server.admission import Admission
from tests.http.conftest import PREFIX, serving
from tests.support.trace import event, metadata
from tests.unit.store.results import write_result

SPANS, AT_ONCE = 15, 64
#: Serves a logdir with at most so many descriptors, and prints its port.
SERVER = """
import resource, sys
logdir, limit = sys.argv[1], int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_NOFILE, (limit // 2, limit))
from types import SimpleNamespace
from werkzeug.serving import make_server
from tensorboard.plugins import base_plugin
from tb_npu_plugin.plugin import NpuPlugin
plugin = NpuPlugin(base_plugin.TBContext(logdir=logdir, flags=SimpleNamespace(logdir=logdir)))
plugin.watcher().update()
server = make_server("127.0.0.1", 0, plugin.get_plugin_apps()["/api/*"], threaded=True)
print(server.server_port, flush=True)
server.serve_forever()
"""


Request = tuple[str, dict[str, Any]]
Answer = tuple[int, bytes]


@contextmanager
def limited(logs: Path, cache: Path, limit: int) -> Iterator[Callable[[str], Answer]]:
    """What asks a server process."""
    command = [sys.executable, "-c", SERVER, str(logs), str(limit)]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "TB_NPU_CACHE_DIR": str(cache), "TB_NPU_WORKERS": "2"},
    ) as server:
        try:
            port = server.stdout.readline().strip()  # type: ignore[union-attr]
            yield lambda path: ask(f"http://127.0.0.1:{port}{PREFIX}{path}")
        finally:
            server.kill()


def ask(address: str) -> Answer:
    """(status, body)."""
    try:
        with urllib.request.urlopen(address, timeout=60) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def trace(length: int) -> str:
    """A trace with two streams."""
    streams = [metadata("thread_name", 2, tid, name=f"Stream {tid}") for tid in (1, 2)]
    slices = [event(f"k{at % 7}", 10.0 * at, 5, 2, 1 + at % 2, args={"n": at}) for at in range(length)]
    return json.dumps([metadata("process_name", 2, name="Ascend Hardware"), *streams, *slices])


def requests(spans: Iterable[str]) -> Iterator[Request]:
    """What a page asks for each span."""
    for span in spans:
        yield "/api/view/trace", {"span": span}
        source = {"span": span, "version": "", "rows": [[0, 0, 0], [1, 0, 0]]}
        for question, fields in (
            ("slice", {"sources": [source], "id": 7}),
            ("rows", {"sources": [source], "t0": 0, "t1": 100_000, "px": 100}),
            ("layer", {"sources": [{**source, "layer": "derived"}]}),
            ("layer", {"sources": [{**source, "layer": "streams"}]}),
        ):
            yield f"/api/timeline/{question}", {"query": json.dumps(fields)}
        yield "/api/view/kernel", {"span": span}


@pytest.fixture(scope="module")
def unlimited(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Answer]]:
    """A folder with the logdir and its cache, and all answers."""
    folder = tmp_path_factory.mktemp("descriptors")
    for rank in range(SPANS):
        write_result(folder / "logs" / f"host1_{rank}_20250109154804123_ascend_pt", rank=rank, trace=trace(300))
    with serving(folder, str(folder / "logs")) as browser:
        spans = browser.spans()
        assert len(spans) == SPANS
        for span, view in itertools.product(spans, ("kernel", "trace")):
            browser.view(view, span=span)
        found = [(route, query, browser.ask(route, **query)) for route, query in requests(spans)]
    assert {answer.status_code for _, _, answer in found} == {200}
    return folder, {f"{route}?{urlencode(query)}": (200, answer.data) for route, query, answer in found}


@pytest.mark.slow
@pytest.mark.parametrize("limit", [256, pytest.param(1024, marks=pytest.mark.full)])
def test_parallel_requests_over_many_spans_are_answered_with_few_descriptors(
    limit: int, unlimited: tuple[Path, dict[str, Answer]]
) -> None:
    folder, expected = unlimited
    entries = folder / "cache" / "entries"
    before = {path.stat().st_ino for path in entries.iterdir()}
    with limited(folder / "logs", folder / "cache", limit) as get, ThreadPoolExecutor(AT_ONCE) as pool:
        found = dict(zip(expected, pool.map(get, expected)))
    wrong = {path: answer for path, answer in found.items() if answer != expected[path]}
    assert not wrong, f"{len(wrong)}, as {next(iter(wrong.items()))}"
    assert {path.stat().st_ino for path in entries.iterdir()} == before, "an entry was dropped and read again"


@pytest.mark.parametrize(("limit", "at_once"), [(None, 1024), (100, 1), (135, 1), (136, 2), (1_000_000, 1024)])
def test_the_descriptors_of_the_process_limit_the_requests_at_once(limit: int | None, at_once: int) -> None:
    free = Admission(limit)._free
    assert all(free.acquire(blocking=False) for _ in range(at_once)) and not free.acquire(blocking=False)
