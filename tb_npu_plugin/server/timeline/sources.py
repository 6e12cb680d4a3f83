"""The sources of a question: the rows of one or several readings, placed on one time axis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Optional

import msgspec
import numpy as np

from tb_npu_plugin.errors import NotFound, NotReady, Stale
from tb_npu_plugin.messages import Message
from tb_npu_plugin.service.answers import Service
from tb_npu_plugin.service.layers import TRACE
from tb_npu_plugin.store.timeline.contract import SourceState
from tb_npu_plugin.store.timeline.drawn import Drawn
from tb_npu_plugin.store.timeline.layer import Layer
from tb_npu_plugin.store.timeline.matches import Placed
from tb_npu_plugin.store.timeline.open import Timeline
from tb_npu_plugin.tables import Column, IntArray, Kind, StringColumn, Table, column_texts

#: Largest time, ns: the sum of two does not overflow.
MOST = 2**62 - 1
#: A time in ns, or the number of something.
Whole = Annotated[int, msgspec.Meta(ge=-MOST, le=MOST)]
#: Depths of a track.
Rows = tuple[Whole, Whole, Whole]
#: Columns of a CSV before those of the slices.
_PLACE_COLUMNS = (
    Column("run", Kind.TEXT, *column_texts("run"), "identity"),
    Column("worker", Kind.TEXT, *column_texts("worker"), "identity"),
)


class SourceRef(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Rows of one reading, as a question names them.

    Attributes:
        span: Token of the span.
        version: Version of its reading; "": whichever is read.
        layer: Which rows: an id of service/layers.py.
        zero: Time 0 of the question, ns since the epoch by the clock of the span: as text, since JavaScript counts less. "": the
            base of its times.
        rows: (track, first depth, last depth).
        counters: Tracks of curves.
        tracks: Tracks of a range; None: all.
    """

    span: str
    version: str = ""
    layer: str = TRACE
    zero: Annotated[str, msgspec.Meta(pattern=r"^(-?\d{1,19})?$")] = ""
    rows: tuple[Rows, ...] = ()
    counters: tuple[Whole, ...] = ()
    tracks: Optional[tuple[Whole, ...]] = None

    def __post_init__(self) -> None:
        if self.zero and abs(int(self.zero)) > MOST:
            raise ValueError("zero is out of range")


@dataclass(frozen=True)
class Source:
    """Rows of one reading. placed, drawn: None unless `state` is "ready"; version: of the reading."""

    ref: SourceRef
    state: SourceState
    placed: Placed | None = None
    drawn: Drawn | None = None
    version: str = ""


class Sources:
    """The sources of a question, in its order."""

    def __init__(self, service: Service, refs: Sequence[SourceRef]) -> None:
        self.service, self.refs = service, refs

    def __getitem__(self, number: int) -> Placed:
        """A source. Queues its reading. Raises NotFound, NotReady, Stale."""
        return _placed(self._layer(self.refs[number]), self.refs[number])

    @cached_property
    def all(self) -> list[Source]:
        """All sources with their states. One without a version is not queued: its trace must be read to the end."""
        return [self._source(ref) for ref in self.refs]

    @property
    def ready(self) -> list[Placed]:
        """Those that can be shown."""
        return [one.placed for one in self.all if one.placed]

    def renewed(self, number: int) -> Source:
        """A source looked up again: the files of a preview may have been removed meanwhile."""
        return self._source(self.refs[number])

    def numbers(self, of_ready: IntArray) -> IntArray:
        """Numbers of sources in the question, for numbers among those that are ready."""
        return np.flatnonzero([one.placed is not None for one in self.all])[of_ready]

    def with_place(self, table: Table, numbers: Sequence[int] | None = None) -> Table:
        """The table with the run and the worker of each row, for a file.

        Args:
            numbers: Of the sources that the column "part" numbers; None: those that are ready. A table without that column is of
                the first one.
        """
        if numbers is None:
            numbers = [number for number, one in enumerate(self.all) if one.placed]
        places = [self.service.library.place(self.refs[number].span) for number in numbers]
        code = table.ints("part").astype(np.int32) if table.has("part") else np.zeros(len(table), dtype=np.int32)
        texts: dict[str, Iterable[str]] = {
            "run": [place.run.label for place in places],
            "worker": [place.worker.label for place in places],
        }
        columns = (*_PLACE_COLUMNS, *(column for column in table.columns if column.key != "part"))
        return Table(columns, {**table.data, **{key: StringColumn(code, list(own)) for key, own in texts.items()}})

    def _source(self, ref: SourceRef) -> Source:
        try:
            if not ref.version:
                opened = self.service.read_trace(ref.span)
                if opened is None:
                    return Source(ref, "unread")
                ref = msgspec.structs.replace(ref, version=opened.trace_version)
            layer = self._layer(ref)
            return Source(ref, "ready", _placed(layer, ref), layer.drawn, ref.version)
        except Stale:
            return Source(ref, "stale")
        except NotReady:
            return Source(ref, "unread")
        except NotFound:
            return Source(ref, "none")

    def _layer(self, ref: SourceRef) -> Layer:
        return self.service.layer(ref.span, ref.layer, ref.version)


def _placed(layer: Layer, ref: SourceRef) -> Placed:
    return Placed(layer.timeline, int(ref.zero) if ref.zero else layer.timeline.base_ns)


def check_track(timeline: Timeline | Drawn, number: int, kind: str) -> int:
    """The number, if a track of this kind ("": any) has it. Raises NotFound."""
    if not 0 <= number < len(timeline.tracks) or (kind and timeline.tracks[number]["kind"] != kind):
        raise NotFound(Message("error.track", kind=kind, track=number), Message("hint.tracks"))
    return number


def check_slice(timeline: Timeline, number: int) -> int:
    """The number, if a slice has it. Raises NotFound."""
    if not 0 <= number < timeline.slice_count:
        raise NotFound(Message("error.slice", id=number), Message("hint.slices", last=timeline.slice_count - 1))
    return number


def slice_tracks(timeline: Timeline, ref: SourceRef, kind: str = "slices") -> list[int]:
    """The tracks of a range, each once. kind: "" for tracks of any kind."""
    if ref.tracks is None:
        return list(timeline.tracks_of("slices"))
    return [check_track(timeline, number, kind) for number in dict.fromkeys(ref.tracks)]
