"""Whatever a trace holds: each element of its list is shown in the timeline or told by a problem, with both scanners."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from hypothesis import example, given
from hypothesis import strategies as st

from tb_npu_plugin.errors import BadFile
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.scan import source
from tb_npu_plugin.store.timeline import build
from tb_npu_plugin.store.timeline.open import Timeline
from tests.support.scanners import both_scanners

pytestmark = both_scanners

#: The first slice, which each trace has: without one, there is nothing to show.
GOOD = {"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 5}
ARGS = st.sampled_from(
    [{"name": "n"}, {"sort_index": 1}, {"MHz": 5}, {"MHz": 5}, {"acc_id": 1}, {"MHz": "N/A"}, [], None]
)
EVENTS = st.fixed_dictionaries(
    {
        "ph": st.sampled_from([*"XXXBBBEEiCCMMsssfff", "t", "b", "long", None]),
        "name": st.sampled_from([*"aabb", "thread_name", "process_sort_index", "other", None]),
        "pid": st.sampled_from([1, 1, 1, 2, None]),
        "tid": st.sampled_from([1, 1, 1, 2, 3, None]),
        "ts": st.sampled_from([0, 1, 1, 2, 2, "3.5", 40, 10**15, 2**62, None, "soon"]),
    },
    optional={
        "dur": st.sampled_from([0, 1, 1, 5, 5, -1, 10**15, None]),
        "id": st.sampled_from([1, 1, 2, None]),
        "args": ARGS,
        "bp": st.just("e"),
    },
)
DAMAGED = st.sampled_from(["7", '"x"', "null", "[1]", "{}", '{"ph": ', '{"a": 1]}', "}", '{"ph": "X", {"ph": "i"}'])
ELEMENTS = st.one_of(*[EVENTS.map(json.dumps)] * 9, DAMAGED)


@st.composite
def traces(draw: st.DrawFn) -> bytes:
    """A list of events, sometimes damaged."""
    elements = [json.dumps(GOOD), *draw(st.lists(ELEMENTS, max_size=25))]
    data = bytearray(("[" + ", ".join(elements) + "]").encode())
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
        place = draw(st.integers(0, len(data)))
        data[place : place + draw(st.integers(0, 2))] = draw(st.binary(max_size=2))
    return bytes(data[: draw(st.integers(0, len(data)))] if draw(st.integers(0, 4)) == 0 else data)


@given(data=traces(), chunk=st.sampled_from([40, 1 << 20]), most=st.sampled_from([2, 20_000]))
@example(data=b'[{"ph": "B", "ts": 1, "name": "a"}, {"ph": "E", "ts": 2}' * 300, chunk=1 << 20, most=20_000)
@example(data=json.dumps([{**GOOD, "tid": thread} for thread in range(4)]).encode(), chunk=1 << 20, most=2)
def test_each_event_is_shown_or_told(data: bytes, chunk: int, most: int) -> None:
    with TemporaryDirectory() as folder, patch.object(source, "CHUNK", chunk), patch.object(build, "MAX_TRACKS", most):
        path, out, log = Path(folder) / "trace_view.json", Path(folder) / "timeline", ProblemLog()
        path.write_bytes(data)
        out.mkdir()
        try:
            build.build_timeline(path, out, log, lambda _: None)
        except BadFile:  # the problem of the whole file tells all
            log.seen.lose(path.name, "events")
        counts = log.seen.of(path.name)["events", ""]
        assert min(counts.seen, counts.shown, counts.told) >= 0 and counts.seen == counts.shown + counts.told
        assert not (out / "meta.json").exists() or Timeline.open(out, path).event_count == counts.shown
