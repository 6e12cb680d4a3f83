"""The causes of a slice: Python frames, operator, queue and launch that led to a device task."""

from __future__ import annotations

from tb_npu_plugin.schema import trace as words
from tb_npu_plugin.store.timeline.contract import ChainJson, ChainLinkJson, SliceJson
from tb_npu_plugin.store.timeline.open import Timeline

#: Maximum number of links; a call stack is rarely deeper than a few hundred frames.
_MAX_LINKS = 1000


def chain(timeline: Timeline, slice_id: int) -> ChainJson:
    """The causes of a slice: its callers and the flows between them."""
    ids, via = [slice_id], [""]
    seen = {slice_id}
    while len(ids) < _MAX_LINKS:
        before, kind = _cause(timeline, ids[-1])
        if before < 0 or before in seen:
            break
        seen.add(before)
        ids.append(before)
        via.append(kind)
    links: list[ChainLinkJson] = [
        {**timeline.brief(one), "category": timeline.category_of(one), "via": ""} for one in ids
    ]
    for link, kind in zip(links[1:], via[1:]):
        link["via"] = kind
    forward, backward = _autograd(timeline, ids)
    return {"links": links[::-1], "forward": forward, "backward": backward}


def _cause(timeline: Timeline, slice_id: int) -> tuple[int, str]:
    """(slice that caused this one or -1, flow kind or "" for a call)."""
    flows = {flow["kind"]: flow["from"]["id"] for flow in timeline.flows(slice_id) if flow["to"]["id"] == slice_id}
    for kind in words.CAUSES:
        if kind in flows:
            return flows[kind], kind
    parent = int(timeline.parent[slice_id])
    return (parent, "") if parent >= 0 else (_caller(timeline, slice_id), "")


def _caller(timeline: Timeline, slice_id: int) -> int:
    """The deepest slice of the program that encloses a CANN call on the same host thread; -1 without one."""
    track, _ = timeline.place(slice_id)
    own = timeline.tracks[track]
    if own["process"] not in words.CANN:
        return -1
    start = int(timeline.rows.start[slice_id])
    end = start + int(timeline.rows.dur[slice_id])
    for number, other in enumerate(timeline.tracks):
        if other["kind"] != "slices" or other["tid"] != own["tid"] or other["process"] not in words.PROGRAM:
            continue
        found = -1
        for row in range(int(timeline.rows.track_row[number]), int(timeline.rows.track_row[number + 1])):
            low, high = timeline.rows.overlapping(row, start, start + 1)
            if (
                low < high
                and timeline.rows.start[low] <= start
                and timeline.rows.start[low] + timeline.rows.dur[low] >= end
            ):
                found = low
        if found >= 0:
            return found
    return -1


def _autograd(timeline: Timeline, ids: list[int]) -> tuple[SliceJson | None, SliceJson | None]:
    """(forward, backward) operator linked to the innermost operator of a chain that has such a link."""
    for one in ids:
        for flow in timeline.flows(one):
            if flow["kind"] == words.FORWARD_BACKWARD:
                return (None, flow["to"]) if flow["from"]["id"] == one else (flow["from"], None)
    return None, None
