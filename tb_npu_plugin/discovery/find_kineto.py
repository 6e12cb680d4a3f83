"""Finds traces by their content: of torch.profiler on GPUs, and of NPUs under any name. Each file is a span."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timezone

from tb_npu_plugin.discovery import layout, report
from tb_npu_plugin.discovery.found import FinderResult, Folder, Found, found_file, is_file
from tb_npu_plugin.discovery.identity import Identity, fold
from tb_npu_plugin.discovery.looks import TRACE_HEAD, TraceHead
from tb_npu_plugin.discovery.model import FoundFile
from tb_npu_plugin.discovery.report import Skipped, decode_name
from tb_npu_plugin.messages import Message
from tb_npu_plugin.problems import Problem, problem_of
from tb_npu_plugin.schema import kineto, scan_keys
from tb_npu_plugin.schema.formats import FORMATS, KINETO, TORCH_NPU
from tb_npu_plugin.schema.torch_npu_json import TRACE_VIEW

#: Names that people give to traces.
_TRACE_NAME = re.compile(r"trace[^/]*$", re.IGNORECASE)


def find_kineto(folder: Folder) -> FinderResult | None:
    """Take files named as torch.profiler's handler names traces."""
    return _take(folder, [entry for entry in folder.entries if kineto.HANDLER_NAME.fullmatch(entry.name)])


def find_exported(folder: Folder) -> FinderResult | None:
    """Take other JSON files that hold a trace, from export_chrome_trace."""
    return _take(folder, [entry for entry in folder.entries if _may_be_exported(entry.name)])


def _may_be_exported(name: str) -> bool:
    return (
        name.lower().endswith(kineto.JSON_ENDS)
        and kineto.HANDLER_NAME.fullmatch(name) is None
        # another format declares its name
        and all(format.file(name) is None for format in FORMATS.values() if format is not KINETO)
    )


def _take(folder: Folder, entries: Sequence[os.DirEntry[str]]) -> FinderResult | None:
    taken = FinderResult()
    for entry in filter(is_file, entries):
        notes: list[Problem] = []
        file = found_file(entry, entry.name, kineto.KINETO_TRACE.stages, notes)
        head = None if file is None else folder.look(TRACE_HEAD, file)
        if file is None or head is None:
            continue  # the walk reports why
        if kineto.HANDLER_NAME.fullmatch(entry.name) or (head.writer and head.has_events):
            taken.found.append(_found(folder, file, head, notes))
        else:
            taken.skipped += _skipped(folder.label_of(entry.name), head)
    return taken if taken.found or taken.skipped else None


def _found(folder: Folder, file: FoundFile, head: TraceHead, notes: list[Problem]) -> Found:
    """Take a trace. One of an NPU is a result that lost all other files."""
    format, name = KINETO, file.name
    if head.writer == scan_keys.TORCH_NPU:
        format = TORCH_NPU
        file = replace(file, known_as=TRACE_VIEW.name, stages=TRACE_VIEW.stages)
    elif head.is_damaged:
        notes.append(_damaged_head(name, head))
    parts = (*folder.parts, name)
    return folder.result(format, _identity(parts, head.rank), (file,), notes, parts, fold(parts), decode_name(name))


def _skipped(label: str, head: TraceHead) -> list[Skipped]:
    """The reason to skip a JSON file; none for one that has nothing of a trace."""
    if head.has_events and not head.writer:
        return [report.skip("foreign_trace", label)]
    return (
        [report.skip("damaged_trace", label)] if head.is_damaged and (head.writer or _TRACE_NAME.search(label)) else []
    )


def _damaged_head(name: str, head: TraceHead) -> Problem:
    return problem_of(
        "damaged_head",
        name,
        lost=Message("lost.trace_settings") if head.rank is None else Message("lost.trace_settings_but_rank"),
    )


def _identity(parts: tuple[str, ...], recorded: int | None) -> Identity:
    """Identity of a trace: the rank that it records, else that in names; host and process from the name that
    tensorboard_trace_handler gives."""
    named = kineto.HANDLER_NAME.fullmatch(parts[-1])
    worker = named.group("worker") if named else ""
    by_pid = layout.WORKER_PID.fullmatch(worker)
    rank, source = _rank(parts, worker or parts[-1].partition(".")[0], recorded)
    return Identity(
        rank=rank,
        rank_source=source,
        worker_name="" if layout.RANK_FOLDER.fullmatch(worker) else decode_name(worker),
        host=decode_name(by_pid.group("host")) if by_pid else None,
        pid=int(by_pid.group("pid")) if by_pid else None,
        stamp=_utc_digits(named.group("stamp") or "") if named else "",
        node="/".join(decode_name(part) for part in parts[len(fold(parts)) : -1] if layout.NODE_FOLDER.fullmatch(part)),
    )


def _rank(parts: tuple[str, ...], name: str, recorded: int | None) -> tuple[int | None, str]:
    if recorded is not None:
        return recorded, scan_keys.DISTRIBUTED
    named = layout.RANK_FOLDER.fullmatch(name) or layout.RANK_IN_NAME.search(name)
    if named:
        return int(named.group("rank")), "file name"
    for part in reversed(parts[len(fold(parts)) : -1]):
        above = layout.RANK_FOLDER.fullmatch(part)
        if above:
            return int(above.group("rank")), "folder name"
    return None, ""


def _utc_digits(digits: str) -> str:
    """UTC time digits, as in result names, of a time in ms or ns since the epoch."""
    if not digits:
        return ""
    seconds, rest = divmod(int(digits), 10 ** (len(digits) - 10))
    try:
        moment = datetime.fromtimestamp(seconds, timezone.utc)
    except (ValueError, OverflowError, OSError):
        return ""
    return f"{moment:%Y%m%d%H%M%S}{rest // 10 ** (len(digits) - 13):03d}"
