"""What the page draws: bars, curves, arrows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
import numpy as np

from tb_npu_plugin.errors import BadRequest, NotFound
from tb_npu_plugin.messages import Message
from tb_npu_plugin.schema.kernel_meaning import meaning_of_slice
from tb_npu_plugin.server.timeline.ask import Answer, IsGone, Window
from tb_npu_plugin.server.timeline.binary import Scale, encode
from tb_npu_plugin.server.timeline.sources import SourceRef, Sources, check_track
from tb_npu_plugin.store.timeline.contract import SourceState
from tb_npu_plugin.store.timeline.drawn import Drawn
from tb_npu_plugin.store.timeline.matches import matching_bars
from tb_npu_plugin.store.timeline.repacked import Repacked, places_of
from tb_npu_plugin.store.timeline.window import BUDGET, ONE_ROW_FACTOR, WindowBars, bars, shift_of
from tb_npu_plugin.tables import IntArray

#: Maximum number of rows of one source.
MAX_ROWS = 20_000
#: Columns of bars that are packed, see `encode`. The bar of one slice ends after its `dur`, all busy.
_PACKED = {
    "start": ("start",),
    "dur": (),
    "id": ("id",),
    "name": (),
    "count": (),
    "end": ("start", "dur"),
    "busy": ("dur",),
    "waiting": ("waiting",),
    "wait": (),
    "work": (),
}
#: ns per pixel.
Pixel = Annotated[float, msgspec.Meta(gt=0, lt=2.0**62)]


class Rows(Window, frozen=True, kw_only=True):
    """Bars of the rows and curves of the counters in [t0, t1), ns after time 0 of each source.

    Attributes:
        px: ns per pixel.
        exact: Rather fewer rows, the first of each source, than wider bins.
        q: Only slices that match this search.
    """

    px: Pixel
    exact: bool = False
    q: str = ""

    def answer(self, found: Sources, is_gone: IsGone) -> Answer:
        """Header `parts`: the state of each source. Of a ready one the column `<number>` holds the bars, and `<number>.<track>` each curve:
        an answer of its own as u32."""
        # An exact answer holds fewer rows instead of wider bins, so it may be larger, as for a single row.
        with_rows = sum(bool(ref.rows) for ref in self.sources)
        budget = min(BUDGET, BUDGET * (ONE_ROW_FACTOR if self.exact else 1) // max(with_rows, 1))
        states: list[SourceState] = []
        columns: dict[str, tuple[str, Any]] = {}
        for number, source in enumerate(found.all):
            if source.placed and source.drawn:
                try:
                    own = dict(self._parts(source.drawn, source.placed.offset, source.ref, budget, is_gone))
                except OSError:  # the files of a preview were removed meanwhile: now its version is stale
                    source = found.renewed(number)
                    if source.placed:
                        raise
                else:
                    columns |= {f"{number}{name}": ("u32", np.frombuffer(one, "<u4")) for name, one in own.items()}
            states.append(source.state)
        return encode({"parts": states}, columns)

    def _parts(
        self, drawn: Drawn, offset: int, ref: SourceRef, budget: int, is_gone: IsGone
    ) -> Iterator[tuple[str, bytes]]:
        t0, t1 = self.t0 - offset, self.t1 - offset
        if ref.rows:
            yield "", self._bars(drawn, ref, t0, t1, budget, is_gone)
        for track in ref.counters:
            yield f".{track}", _curves(drawn, check_track(drawn, track, "counter"), t0, t1, self.px)

    def _bars(self, timeline: Drawn, ref: SourceRef, t0: int, t1: int, budget: int, is_gone: IsGone) -> bytes:
        rows = row_numbers(timeline, ref)
        if self.q.strip():
            found = matching_bars(timeline, rows, t0, t1, self.px, self.q, budget, self.exact, is_gone)
        else:
            found = bars(timeline, rows, t0, t1, self.px, budget, is_exact=self.exact)
        scale = Scale(t0, t1, int(found.start.min()) if len(found.start) else t0)
        names, categories, name, work = _by_category(timeline, found)
        header = {
            "base": str(timeline.base_ns + scale.base),
            "unit": scale.unit,
            "names": names,
            "categories": categories,
            "meanings": [meaning_of_slice(*one) for one in zip(names, categories)],
            "rows": [(*timeline.rows.place(row), first, count) for row, first, count in found.parts],
            "bin": found.bin,
            "far": scale.far(found.start, found.end),
        }
        columns = {
            "start": scale.times(found.start),
            "dur": scale.lengths(found.dur),
            "id": timeline.numbers_of(found.id),
            "name": name,
            "count": found.count,
            "end": scale.times(found.end),
            "busy": scale.lengths(found.busy),
        }
        waiting = np.flatnonzero(found.wait)
        columns |= {"waiting": waiting, "wait": scale.lengths(found.wait[waiting]), "work": work[waiting]}
        return encode(header, {key: ("u32", values) for key, values in columns.items()}, _PACKED)


def row_numbers(timeline: Drawn, ref: SourceRef) -> list[int]:
    """Rows of the row table, each once, in the order of the question. Those that do not exist are left out."""
    out: dict[int, None] = {}
    for track, first, last in ref.rows:
        if 0 <= track < len(timeline.tracks):
            begin, end = timeline.rows.track_row[track : track + 2].tolist()
            out |= dict.fromkeys(range(begin + max(first, 0), min(begin + last + 1, end)))
        if len(out) > MAX_ROWS:
            raise BadRequest(Message("error.too_many_rows", count=MAX_ROWS), Message("hint.fewer"))
    return list(out)


def _by_category(timeline: Drawn, found: WindowBars) -> tuple[list[str], list[str], IntArray, IntArray]:
    """Distinct pairs of name and category ("": none) of the bars, and the numbers of the pairs of the longest slice of each bar, and of
    the longest that does not wait."""
    names, bars = timeline.names.take(found.used), len(found.name)
    has_work = found.work_name is not found.name
    name = np.concatenate([found.name, found.work_name]) if has_work else found.name
    category = np.concatenate([found.category, found.work_category] if has_work else [found.category]).astype(np.int64)
    if not bars or category.max() < 0:
        return names, [""] * len(names), found.name, found.work_name
    count = int(category.max()) + 2
    pairs, number = np.unique(name * count + category + 1, return_inverse=True)
    name_of, category_of = ((pairs // count).tolist(), (pairs % count - 1).tolist())
    texts = [names[one] for one in name_of], [timeline.category_name(one) for one in category_of]
    return *texts, number[:bars], number[-bars:]


def _curves(timeline: Drawn, track: int, t0: int, t1: int, px: float) -> bytes:
    """Curves of one counter in [t0, t1), ns after the base of the timeline."""
    found, shift = timeline.curves.curves(timeline.tracks[track]["series"], t0, t1, shift_of(px))
    scale = Scale(t0, t1, min((int(curve.time[0]) for curve in found if len(curve.time)), default=t0))
    columns: dict[str, Any] = {}
    for index, curve in enumerate(found):
        columns[f"t{index}"] = ("u32", scale.times(curve.time))
        columns[f"min{index}"] = ("f64", curve.low)
        columns[f"max{index}"] = ("f64", curve.high)
        columns[f"last{index}"] = ("f64", curve.last)
    header = {
        "base": str(timeline.base_ns + scale.base),
        "unit": scale.unit,
        "bin": 1 << shift,
        "series": [curve.name for curve in found],
    }
    return encode(header, columns)


class Arrows(Window, frozen=True, kw_only=True):
    """Arrows of one kind of flow of the first source that start or end in [t0, t1).

    Attributes:
        kind: Index in `flow_kinds` of TraceJson.
        px: ns per pixel.
        shown: Layers whose rows the page shows in place of those of the trace.
    """

    kind: int
    px: Pixel
    shown: tuple[str, ...] = ()

    def answer(self, found: Sources, is_gone: IsGone) -> Answer:
        timeline, others = found[0].timeline, shown_layers(found, self.shown)
        t0, t1 = self.t0 - found[0].offset, self.t1 - found[0].offset
        if not 0 <= self.kind < len(timeline.flow_kinds):
            raise NotFound(Message("error.flow_kind", kind=self.kind), Message("hint.flow_kind"))
        arrows = timeline.arrows.arrows(timeline.rows, self.kind, t0, t1, shift_of(self.px))
        scale = Scale.around(t0, t1)
        ends = {"from": arrows.source, "to": arrows.target}
        columns: dict[str, IntArray] = {"count": arrows.count}
        for name, ids in ends.items():
            columns[f"{name}_track"], columns[f"{name}_depth"] = places_of(timeline, ids, others)
            columns[f"{name}_time"] = scale.times(timeline.rows.start[ids])
        header = {
            "base": str(timeline.base_ns + scale.base),
            "unit": scale.unit,
            "bin": arrows.bin,
            "left_out": arrows.left_out,
        }
        return encode(header, {key: ("u32", values) for key, values in columns.items()})


def shown_layers(found: Sources, ids: tuple[str, ...]) -> list[Repacked]:
    """Layers of the first source whose rows stand in place of those of the trace. Raises BadRequest for others."""
    layers = [found.service.layer(found.refs[0].span, one, found.refs[0].version) for one in dict.fromkeys(ids)]
    shown = [one for one in layers if isinstance(one, Repacked)]
    if len(shown) < len(layers):
        raise BadRequest(Message("error.choice", name="shown", value=repr(ids)), Message("hint.query"))
    return shown
