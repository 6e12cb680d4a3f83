"""Derived rows of the Trace view, and the facts about their slices. See analysis/derived."""

from __future__ import annotations

from typing import Any, TypedDict

from tb_npu_plugin.analysis.derived.model import Row
from tb_npu_plugin.analysis.parts import Part
from tb_npu_plugin.messages import MessageJson, messages_of
from tb_npu_plugin.store.timeline.contract import DerivedFactsJson
from tb_npu_plugin.store.timeline.open import Timeline
from tb_npu_plugin.views.derived_timeline import Derived
from tb_npu_plugin.views.trace import ThreadJson, thread_json


class DerivedRowJson(ThreadJson):
    """A derived row."""

    help: str
    """What it shows."""
    texts: dict[str, MessageJson]
    """Code and parameters of `name` and `help`."""


class DerivedLabelJson(TypedDict):
    """What the slices of a name are."""

    name: str
    """Name of the slices in answers."""
    text: str
    """Shown instead of it."""
    color: str
    """CSS variable of the colour."""
    texts: dict[str, MessageJson]
    """Code and parameters of `text`."""


class DerivedJson(TypedDict):
    """Answer of /api/timeline/derived. Rows are requested like those of the trace, a request for derived rows alone."""

    rows: list[DerivedRowJson]
    """In the order of the page. Empty: nothing can be derived from the trace."""
    labels: list[DerivedLabelJson]
    """The names of all slices."""


def derived_json(derived: Derived) -> DerivedJson:
    """See DerivedJson."""
    timeline = derived.timeline
    return {
        "rows": [_row(row, timeline.first_track + at, timeline.tracks[at]) for at, row in enumerate(derived.rows)],
        "labels": [_label(name, part) for name, part in derived.parts.items()],
    }


def _row(row: Row, number: int, track: dict[str, Any]) -> DerivedRowJson:
    texts = messages_of({"name": row.title, "help": row.help})
    return {**thread_json(number, track), "help": row.help, "texts": texts}


def _label(name: str, part: Part) -> DerivedLabelJson:
    texts = messages_of({"text": part.title})
    return {"name": name, "text": part.title, "color": part.color, "texts": texts}


def facts_json(derived: Derived, slice_id: int, trace: Timeline) -> DerivedFactsJson:
    """Facts about a slice of a derived row. slice_id: as in requests; trace: the timeline that the rows derive from."""
    row, place = derived.row_of(slice_id - derived.timeline.first_slice)
    facts = row.facts_of(place)
    return {
        "lines": [line.as_json() for line in facts.lines],
        "related": [
            {"role": role, "texts": messages_of({"role": role}), "slice": trace.brief(found)}
            for role, found in facts.related
        ],
        "late_rank": facts.late_rank,
        "view": row.view,
    }
