"""operator_details.csv from the trace alone; shares no code with the package.
Source: docs/facts/ascend_pt.md, operator_details.csv."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Optional

from tests.oracle.raw import Event, Raw

ZERO = Decimal(0)


@dataclass
class Node:
    """An operator call and the queue elements that it and those below it put in."""

    event: Optional[Event]
    parent: Optional[Node]
    children: list[Node] = field(default_factory=list)
    own: list[object] = field(default_factory=list)
    all: list[object] = field(default_factory=list)

    @property
    def end(self) -> Decimal:
        assert self.event is not None
        return Decimal(self.event["ts"] + self.event["dur"])


@dataclass
class Operator:
    """One row, in us."""

    name: str
    host_self: Decimal
    host_total: Decimal
    device_self: Decimal
    device_total: Decimal
    aicore_self: Decimal
    aicore_total: Decimal
    #: 1: within a call of the same operator, 2: of one with the same shapes, 0: neither.
    nested: int


def _tree(raw: Raw) -> list[Node]:
    """Nodes by start; nesting by time alone, whatever the thread."""
    wanted = [e for e in raw.slices if e.get("cat") == "cpu_op"] + (_enqueues(raw) or _launches(raw))
    root = Node(None, None)
    last, nodes = root, []
    for event in sorted(wanted, key=lambda e: e["ts"]):
        while last is not root and event["ts"] > last.end:
            assert last.parent is not None
            last = last.parent
        if event["cat"] == "cpu_op":
            node = Node(event, last)
            last.children.append(node)
            nodes.append(node)
            last = node
        elif last.event is not None and event["tid"] in (last.event["tid"], None):
            last.own.append(event["args"]["correlation_id"])
            above: Optional[Node] = last
            while above is not None and above is not root:
                above.all.append(event["args"]["correlation_id"])
                above = above.parent
    return nodes


def _enqueues(raw: Raw) -> list[Event]:
    return [e for e in raw.slices if e.get("cat") == "enqueue"]


def _launches(raw: Raw) -> list[Event]:
    """Without a task queue: the moments at which CANN is called stand for the enqueues, whatever their thread."""
    return [
        {"ts": e["ts"], "cat": "launch", "tid": None, "args": {"correlation_id": e["id"]}}
        for e in raw.events
        if e.get("cat") == "HostToDevice" and e["ph"] == "s"
    ]


def _tasks_by_correlation(raw: Raw) -> dict[object, list[Event]]:
    """Queue element -> device slices that it launched: flow, its start inside a dequeue. Without a queue: flow -> slices."""
    starts = {e["id"]: e["ts"] for e in raw.events if e.get("cat") == "HostToDevice" and e["ph"] == "s"}
    first: dict[str, Event] = {}
    for event in raw.events:
        if event.get("cat") == "HostToDevice" and event["ph"] == "f":
            first.setdefault(event["id"], event)
    dequeues = [e for e in raw.slices if e.get("cat") == "dequeue"]
    out: dict[object, list[Event]] = {}
    for id_, end in first.items():
        task = raw.by_place.get((end["pid"], end["tid"], end["ts"]))
        at = starts.get(id_)
        if task is None or at is None:
            continue
        if not dequeues:
            out.setdefault(id_, []).append(task)
        for dequeue in dequeues:
            if dequeue["ts"] <= at <= dequeue["ts"] + dequeue["dur"]:
                out.setdefault(dequeue["args"]["correlation_id"], []).append(task)
                break
    return out


def _nested(node: Node) -> int:
    found, above = 0, node.parent
    while above is not None and above.event is not None and node.event is not None:
        if above.event["name"] == node.event["name"]:
            shapes = [event["args"].get("Input Dims") for event in (above.event, node.event)]
            found = max(found, 2 if shapes[0] == shapes[1] else 1)
        above = above.parent
    return found


def operators(raw: Raw) -> list[Operator]:
    """Rows by start, without the step marks."""
    tasks = _tasks_by_correlation(raw)

    def device(ids: list[object], aicore: bool) -> Decimal:
        found = [task for id_ in ids for task in tasks.get(id_, ())]
        return sum((t["dur"] for t in found if not aicore or t["args"].get("Task Type") == "AI_CORE"), ZERO)

    out = []
    for node in _tree(raw):
        assert node.event is not None
        if "ProfilerStep#" in node.event["name"]:
            continue
        total = node.event["dur"]
        own = total - sum((child.event["dur"] for child in node.children if child.event), ZERO)
        figures = [device(ids, aicore) for aicore in (False, True) for ids in (node.own, node.all)]
        out.append(Operator(node.event["name"], own, total, *figures, _nested(node)))
    return out
