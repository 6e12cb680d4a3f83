"""Access to members of decoded JSON objects; members of an unexpected type are reported and skipped."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from tb_npu_plugin.messages import Message
from tb_npu_plugin.readers.shared.report import FileReport


def member(report: FileReport, owner: dict[str, Any], key: str, kind: Callable[[], Any]) -> Any:
    """Return a member that is a list or an object (`kind`); an empty one if it is missing, or, with a problem, of
    another type."""
    value = owner.get(key)
    if value is not None and type(value) is not kind:
        report.add("unexpected_shape", key, found=str(value), kind=key)
        value = None
    return kind() if value is None else value


def objects(report: FileReport, owner: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """Return the objects of a list; report its other items. Counts the entries."""
    found = []
    items = member(report, owner, key, list)
    report.count("entries", seen=len(items))
    for item in items:
        if isinstance(item, dict):
            found.append(item)
        else:
            report.leave_out_entry(key, item, kind=key)
    return found


def members(report: FileReport, value: Any, where: str) -> list[tuple[str, Any]]:
    """Return the members of an object; none, and a problem, for any other value. where: its place in the file."""
    if isinstance(value, dict):
        return list(value.items())
    report.add("unexpected_shape", where, expected=Message("expected.object"), found=str(value))
    return []


def object_members(report: FileReport, value: Any, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """As `members`, but yield only members that are objects, and report the others. Counts the entries."""
    items = members(report, value, where)
    report.count("entries", seen=len(items))
    for key, item in items:
        if isinstance(item, dict):
            yield key, item
        else:
            report.leave_out_entry(f"{where}, {key}", item)


def lost_of_most(written: Collection[str], found: Collection[str]) -> list[str]:
    """Return the names of `written` that are not in `found`, if these are few: one, or a quarter."""
    lost = [name for name in written if name not in found]
    return lost if len(lost) < len(written) and len(lost) <= max(1, len(written) // 4) else []


def report_lost_keys(report: FileReport, owner: Mapping[str, Any], keys: Collection[str], where: str) -> None:
    """Report keys that an object lacks although it has most of those that the profiler writes together."""
    for key in lost_of_most(keys, owner):
        report.add("lost_key", ", ".join(filter(None, (where, key))), kind=key)


def report_lost_older_keys(
    report: FileReport, owner: Mapping[str, Any], releases: Sequence[Sequence[str]], where: str
) -> None:
    """Report keys that an object lacks although it has one of the same or a later release. releases: the keys that each added,
    oldest first."""
    newest = max((number for number, keys in enumerate(releases, 1) if not owner.keys().isdisjoint(keys)), default=0)
    for key in chain.from_iterable(releases[:newest]):
        if key not in owner:
            report.add("lost_key", f"{where}, {key}", kind=key)


def int64_or_none(value: Any) -> int | None:
    """Return the value if it is an integer that fits int64, else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63 else None
