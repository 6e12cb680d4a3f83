"""Reads all results below a folder in this process, without cache and server."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

from tb_npu_plugin.discovery.scan import scan
from tb_npu_plugin.problems import Problem, ProblemLog
from tb_npu_plugin.store.cache.disk import Entry
from tb_npu_plugin.store.pool.worker import run
from tb_npu_plugin.store.span import Span
from tb_npu_plugin.store.stages import Request, files_of, stages_of


def read_all(logdir: Path, out: Path) -> list[dict[str, Any]]:
    """The meta.json of each stage of each span, as the worker returns it, without internal errors."""
    metas = []
    for place in scan({"": logdir}).places():
        for stage in stages_of(place.span):
            folder = out / f"{place.span.token}-{stage}"
            folder.mkdir(parents=True)
            span = place.span
            request = Request(
                stage, span.folder, files_of(span, stage), folder, span.format, span.part, span.lacks_kernels
            )
            metas.append(run(request, lambda message: None))
    assert not [one for meta in metas for one in silent(meta)]
    assert not [one for meta in metas for one in meta["problems"] if one["code"] == "reader_defect"]
    return metas


def open_spans(logdir: Path, out: Path) -> list[Span]:
    """All spans below a folder, each stage read into a folder of `out`."""
    spans = []
    for number, place in enumerate(scan({"": logdir}).places()):
        entries = {}
        for stage in stages_of(place.span):
            target = out / f"{number}-{stage}"
            target.mkdir(parents=True)
            files = files_of(place.span, stage)
            span = place.span
            request = Request(stage, span.folder, files, target, span.format, span.part, span.lacks_kernels)
            entries[stage] = Entry(target, run(request, lambda message: None))
        spans.append(Span(place, entries.get("tables"), entries.get("trace")))
    return spans


#: Logical table -> the tables of a database whose rows it has one by one.
_OF_DATABASE = {
    "step_trace": ("StepTraceTime",),
    "comm_ops": ("CommAnalyzerTime",),
    "op_memory": ("OP_MEMORY",),
    "module_memory": ("NPU_MODULE_MEM",),
    "kernels": ("COMPUTE_TASK_INFO", "COMMUNICATION_OP"),
}


def silent(meta: dict[str, Any]) -> list[str]:
    """What the counts of a stage prove to be lost silently."""
    named = {whole_of(name_of(file)) for problem in meta["problems"] for file in problem["file"].split(", ")}
    rows: Counter[str] = Counter()
    sources = sources_of(meta)
    for table, file in sources.items():
        rows[file] += meta["tables"][table]["rows"]
    out = []
    if meta.get("timeline") and not any(
        kind == "events" and not part for one in meta["seen"].values() for kind, part, *_ in one
    ):
        out.append("a timeline of no events")
    for file, found in meta["seen"].items():
        kinds = {kind for kind, *_ in found}
        for kind, part, seen, shown, told in found:
            is_lost = (
                min(seen, shown, told) < 0 or seen != shown + told or (told and whole_of(name_of(file)) not in named)
            )
            is_of_one = "cells" in kinds and not name_of(file).startswith(
                "cluster_"
            )  # a cluster's ranks share their files
            if is_lost or (kind == "rows" and is_of_one and shown != rows[name_of(file)]):
                out.append(
                    f"{file} {kind} {part}: {seen} seen, {shown} shown, {told} told, {rows[name_of(file)]} in tables"
                )
        shown_rows = {part: shown for kind, part, _, shown, _ in found if kind == "rows"}
        for table, parts in _OF_DATABASE.items():
            own = [shown_rows[part] for part in parts if part in shown_rows]
            if own and sources.get(table) == name_of(file) and sum(own) != meta["tables"][table]["rows"]:
                out.append(f"{file} {parts}: {own} shown, {meta['tables'][table]['rows']} in {table}")
    return out


def sources_of(meta: dict[str, Any]) -> dict[str, str]:
    """The main file of each table of a stage."""
    return {name: next(iter(table["files"])) for name, table in meta["tables"].items() if table["files"]}


def whole_of(file: str) -> str:
    """A name for all pieces of a split file: the first one counts for all, and a problem names the one that has it."""
    return re.sub(r"_slice_\d+_", "_slice_", file)


def losses(log: ProblemLog) -> list[Problem]:
    """The problems, without that of what no view shows, which each database holds."""
    return [problem for problem in log.list() if problem.code != "not_shown"]


def name_of(file: str) -> str:
    """The name in a path."""
    return file.rpartition("/")[2]
