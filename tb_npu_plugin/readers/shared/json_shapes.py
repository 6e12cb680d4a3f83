"""Members of decoded JSON objects that may be of another type than the profiler writes: each costs itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tb_npu_plugin.messages import Message
from tb_npu_plugin.readers.shared.report import FileReport


def member(report: FileReport, owner: dict[str, Any], key: str, kind: Callable[[], Any]) -> Any:
    """A member that is a list or an object (`kind`); an empty one where it is not there, or is something else: a
    problem."""
    value = owner.get(key)
    if value is not None and type(value) is not kind:
        report.add("unexpected_shape", key, found=str(value), kind=key)
        value = None
    return kind() if value is None else value


def objects(report: FileReport, owner: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """The objects of a list; what else is in it is a problem."""
    found = []
    for item in member(report, owner, key, list):
        if isinstance(item, dict):
            found.append(item)
        else:
            report.add("unexpected_shape", key, expected=Message("expected.object"), found=str(item), kind=key)
    return found


def members(report: FileReport, value: Any, where: str) -> list[tuple[str, Any]]:
    """The members of an object; none of anything else, which is a problem. where: its place in the file."""
    if isinstance(value, dict):
        return list(value.items())
    report.add("unexpected_shape", where, expected=Message("expected.object"), found=str(value))
    return []


def object_members(report: FileReport, value: Any, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """As `members`, of an object that holds objects alone; another member is a problem."""
    for key, item in members(report, value, where):
        if isinstance(item, dict):
            yield key, item
        else:
            report.add("unexpected_shape", f"{where}, {key}", expected=Message("expected.object"), found=str(item))


def whole(value: Any) -> int | None:
    """An integer that a column holds; None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63 else None
