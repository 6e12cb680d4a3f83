"""What the Trace view paints is what the trace holds: gaps, shares and hits, read from the pixels of its canvas."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.e2e.conftest import Open, Plugin
from tests.e2e.tensorboard import tensorboard
from tests.e2e.timeline import box, copied_time, panel, ranks_settled, settled, shown, trace

STREAMS, SLICES, LENGTH = 200, 500, 1_000_000
#: CSS pixels of the timeline: header of a process, a track, its bar (frontend/src/timeline/rows.ts), the names.
HEADER, TRACK, BAR, GUTTER = 22, 17, 13, 210
#: A line of pixels in the strip above the ruler that the marks of a search cross.
MARKS_TOP = 19
PIXELS = """c => { const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
  let s = ''; for (let i = 0; i < d.length; i += 32768) s += String.fromCharCode(...d.subarray(i, i + 32768));
  return [c.width, c.height, btoa(s)]; }"""

Spans = list[tuple[int, int]]


def streams() -> list[Spans]:
    """(start, end) in ns of the slices of each stream, 66 % of the time busy, gaps and slices of all lengths."""
    chance = random.Random(13)
    found = []
    for _ in range(STREAMS):
        lengths = [chance.expovariate(1) for _ in range(2 * SLICES)]
        busy, idle = sum(lengths[::2]), sum(lengths[1::2])
        time, spans = 0.0, Spans()
        for length, gap in zip(lengths[::2], lengths[1::2]):
            end = time + length * LENGTH * 0.66 / busy
            spans.append((int(time), max(int(end), int(time) + 1)))
            time = end + gap * LENGTH * 0.34 / idle
        found.append(spans)
    return found


def name_of(place: int) -> str:
    """Name of a slice by its place in its stream."""
    return "RareOp" if place % 41 == 20 else "MatMul"


def write(folder: Path, events: list[dict[str, Any]]) -> None:
    """A result of which only the trace was copied."""
    output = folder / "host_1_20250101000000000_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True)
    (output / "trace_view.json").write_text(json.dumps(events))


@pytest.fixture(scope="module")
def many_streams(tmp_path_factory: pytest.TempPathFactory) -> list[Spans]:
    return streams()


@pytest.fixture(scope="module")
def streams_server(many_streams: list[Spans], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("streams")
    names = [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "Ascend Hardware"}}]
    for number in range(STREAMS):
        args = {"name": f"Stream {number:03}"}
        names.append({"ph": "M", "name": "thread_name", "pid": 1, "tid": number, "args": args})
    slices = [
        {
            "ph": "X",
            "name": name_of(place),
            "pid": 1,
            "tid": number,
            "ts": f"{start // 1000}.{start % 1000:03}",
            "dur": (end - start) / 1000,
        }
        for number, spans in enumerate(many_streams)
        for place, (start, end) in enumerate(spans)
    ]
    write(folder / "logs", [*names, *slices])
    with tensorboard("--logdir", str(folder / "logs"), cache=folder / "cache") as url:
        yield url


def image(found: tuple[int, int, str]) -> NDArray[np.uint32]:
    width, height, text = found
    return np.frombuffer(base64.b64decode(text), dtype="<u4").reshape(height, width)


@dataclass
class Picture:
    """The canvas of the rows. scale: ns per device pixel."""

    pixels: NDArray[np.uint32]
    start: float
    scale: float
    ratio: int

    @staticmethod
    def of(plugin: Plugin, ratio: int) -> Picture:
        settled(plugin)
        pixels = image(plugin.frame.locator(".tl-base").evaluate(PIXELS))[:, GUTTER * ratio :]
        start, end = shown(plugin)
        return Picture(pixels, start, (end - start) / pixels.shape[1], ratio)

    def lane(self, top: int) -> NDArray[np.bool_]:
        """Which pixels of a bar at `top` (CSS pixels) are painted: others look like the line below it."""
        first, stop = top * self.ratio, (top + BAR) * self.ratio
        return np.asarray(self.pixels[first:stop] != self.pixels[stop])

    def columns(self, span: tuple[int, int]) -> slice:
        """Columns that a span of time touches."""
        first, last = ((moment - self.start) / self.scale for moment in span)
        return slice(int(first), int(np.ceil(last)))


@pytest.mark.parametrize("ratio", [1, pytest.param(2, marks=pytest.mark.full)])
@pytest.mark.full
def test_each_gap_of_a_pixel_is_seen(
    open_plugin: Open, streams_server: str, many_streams: list[Spans], ratio: int
) -> None:
    # A high screen, of which one answer does not hold all.
    plugin = trace(open_plugin, streams_server, device_scale_factor=ratio, height=2000)
    picture = Picture.of(plugin, ratio)
    in_sight = (picture.pixels.shape[0] // ratio - HEADER) // TRACK
    assert in_sight > 80
    gaps = missing = 0
    for number in range(in_sight):
        full = picture.lane(HEADER + number * TRACK).mean(axis=0)
        spans = many_streams[number]
        for (_, end), (start, _) in zip(spans, spans[1:]):
            if start - end < picture.scale:
                continue
            gaps += 1
            missing += not (full[picture.columns((end, start))] <= 0.55).any()
        busy = sum(end - start for start, end in spans)
        columns = picture.columns((0, LENGTH))
        assert full[columns].sum() * picture.scale == pytest.approx(busy, rel=0.02)
    assert gaps > 1000 * ratio
    assert not missing, f"{missing} of {gaps} gaps"


def searched(plugin: Plugin, text: str) -> Plugin:
    """Search, and leave what is in sight as it is."""
    plugin.frame.locator(".trace-search input").fill(text)
    plugin.frame.locator(".trace-place", has_text="found").wait_for()
    settled(plugin)
    return plugin


def test_each_hit_is_lit_also_in_merged_bars(open_plugin: Open, streams_server: str, many_streams: list[Spans]) -> None:
    picture = Picture.of(searched(trace(open_plugin, streams_server), "rareop"), 1)
    rows = [HEADER + number * TRACK for number in range(25)]
    hits = [
        (top, span)
        for top, spans in zip(rows, many_streams)
        for place, span in enumerate(spans)
        if name_of(place) == "RareOp"
    ]
    top, widest = max(hits, key=lambda hit: hit[1][1] - hit[1][0])
    colour = picture.pixels[top + BAR // 2, picture.columns(widest)][2]
    lit = [bool((picture.pixels[top : top + BAR, picture.columns(span)] == colour).any()) for top, span in hits]
    short = sum(end - start < picture.scale for _, (start, end) in hits)
    assert short > 50, "many of them are merged with others"
    assert all(lit), f"{sum(lit)} of {len(hits)}"
    # What is not found is not lit.
    assert np.mean(picture.pixels[rows[0] : rows[-1]] == colour) < 0.1


def test_marks_are_of_all_hits(open_plugin: Open, streams_server: str) -> None:
    plugin = searched(trace(open_plugin, streams_server), "matmul")
    top = plugin.frame.locator(".tl-top")
    with_marks = top.evaluate(PIXELS)
    plugin.frame.locator(".trace-search input").fill("")
    plugin.frame.locator(".trace-place").wait_for(state="detached")
    settled(plugin)
    marked = image(with_marks)[MARKS_TOP, GUTTER:] != image(top.evaluate(PIXELS))[MARKS_TOP, GUTTER:]
    assert marked.mean() > 0.9, "97,000 hits, in each part of the time"


#: Ranks, their streams, and the slices of a stream; clocks of the ranks (ns since the epoch), and offsets by hand.
RANKS, RANK_STREAMS, RANK_SLICES = 3, 4, 300
CLOCKS = tuple(1_700_000_000_000_000_000 + clock for clock in (0, 3_000_123, -9_999_223))
OFFSETS = (0, -3_000_500, 9_999_001)
#: CSS pixels of the rows of a rank.
RANK_HEIGHT = HEADER + RANK_STREAMS * TRACK + 3


@pytest.fixture(scope="module")
def ranks_slices() -> list[list[Spans]]:
    """Slices of each stream of each rank by the clock of the rank."""
    found = streams()[: RANKS * RANK_STREAMS]
    return [
        [
            [(start + CLOCKS[rank], end + CLOCKS[rank]) for start, end in spans[:RANK_SLICES]]
            for spans in found[rank::RANKS]
        ]
        for rank in range(RANKS)
    ]


@pytest.fixture(scope="module")
def ranks_server(ranks_slices: list[list[Spans]], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("ranks")
    for rank, rows in enumerate(ranks_slices):
        events: list[dict[str, Any]] = [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "Device"}}]
        for number, spans in enumerate(rows):
            args = {"name": f"Stream {number}"}
            events.append({"ph": "M", "name": "thread_name", "pid": 1, "tid": number, "args": args})
            for start, end in spans:
                time = {"ts": f"{start // 1000}.{start % 1000:03}", "dur": (end - start) / 1000}
                events.append({"ph": "X", "name": "MatMul", "pid": 1, "tid": number, **time})
        result = folder / "logs" / "run" / f"host_{rank + 1}_20250101000000000_ascend_pt"
        (result / "ASCEND_PROFILER_OUTPUT").mkdir(parents=True)
        (result / f"profiler_info_{rank}.json").write_text("{}")
        (result / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").write_text(json.dumps(events))
    with tensorboard("--logdir", str(folder / "logs"), cache=folder / "cache") as url:
        yield url


def covered(picture: Picture, spans: Spans) -> NDArray[np.float64]:
    """Share of the time of each column in which a slice runs."""
    edges = picture.start + picture.scale * np.arange(picture.pixels.shape[1] + 1)
    start, end = np.array(spans, dtype=np.float64).T
    before = np.array([np.clip(edge - start, 0, end - start).sum() for edge in edges])
    return np.asarray(np.diff(before) / picture.scale)


@pytest.mark.full
def test_rows_of_other_ranks_are_drawn_at_their_aligned_times(
    open_plugin: Open, ranks_server: str, ranks_slices: list[list[Spans]]
) -> None:
    plugin = open_plugin(ranks_server, height=1000)
    (run,) = plugin.get("catalog")["runs"]
    tokens = [worker["spans"][0]["id"] for worker in run["workers"]]
    state = {
        "run": run["id"],
        "span": tokens[0],
        "trace.ranks": "all",
        "trace.unfolded": ".".join(tokens[1:]),
        "trace.offsets": ",".join(f"{token}:{offset}" for token, offset in zip(tokens, OFFSETS)),
    }
    base = min(spans[0][0] for spans in ranks_slices[0])
    middle = LENGTH // 3
    for length in (LENGTH, LENGTH // 80, LENGTH // 900):
        plugin.open("trace", **state, **{"trace.range": f"{middle - length / 2},{middle + length / 2}"})
        ranks_settled(plugin)
        picture = Picture.of(plugin, 1)
        for rank, rows in enumerate(ranks_slices):
            for number, spans in enumerate(rows):
                lane = picture.lane(rank * RANK_HEIGHT + HEADER + number * TRACK).mean(axis=0)
                shift = OFFSETS[rank] - base
                share = covered(picture, [(start + shift, end + shift) for start, end in spans])
                where = f"rank {rank}, stream {number}, {length} ns"
                assert (lane[share == 0] == 0).all() and (lane[share == 1] == 1).all(), where
                assert lane.sum() == pytest.approx(share.sum(), rel=0.03, abs=2), where

    widest = max(ranks_slices[2][1], key=lambda span: span[1] - span[0])
    area = box(plugin)
    start, end = (time + OFFSETS[2] - base for time in widest)
    plugin.open("trace", **state, **{"trace.range": f"{start - 1000},{end + 1000}"})
    ranks_settled(plugin)
    x = area["x"] + GUTTER + (area["width"] - GUTTER) / 2
    plugin.page.mouse.click(x, area["y"] + 2 * RANK_HEIGHT + HEADER + TRACK + 5)
    panel(plugin).get_by_text("rank 2 · Device · Stream 1").wait_for()
    assert copied_time(plugin) == (widest[0], widest[1] - widest[0])
