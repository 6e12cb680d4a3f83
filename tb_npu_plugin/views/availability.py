"""Which views a span can show, and what its capture lacks: which file, what that costs, which option records it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Optional

from tb_npu_plugin.model import SpanData
from tb_npu_plugin.schema.core import ResultFile
from tb_npu_plugin.schema.registry import RESULT_FILES, TABLES, file_of
from tb_npu_plugin.views.base import MissingJson, View
from tb_npu_plugin.views.contract import ViewStateJson
from tb_npu_plugin.views.registry import VIEWS


@dataclass(frozen=True)
class SpanFacts:
    """What is known of a span.

    tables    logical tables (and "trace") that it has
    rows      row counts of those that are read
    unusable  logical tables whose file is there but gave nothing
    """

    tables: frozenset[str]
    rows: Mapping[str, Optional[int]] = field(default_factory=dict)
    unusable: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Use:
    """What a result file is for: the views that show it and what they cannot show without it."""

    views: tuple[str, ...]
    cost: str


#: Said of a file that is there and gave no table.
UNUSABLE = "Nothing in it could be read: see the problems."

#: By id of the result file. Files that no view shows are not here: they are not missed.
USES: dict[str, Use] = {
    "trace": Use(("trace",), "No timeline."),
    "step_trace": Use(
        ("overview", "distributed", "diff"),
        "Step budgets are computed from the kernels; bubble and preparing are unknown.",
    ),
    "kernels": Use(("kernel", "overview", "diff"), "No device time by kernel, type and core."),
    "op_statistic": Use(("kernel",), "Time by type and core is computed from the kernels."),
    "operators": Use(
        ("operator", "overview", "diff"), "Times by operator are rebuilt from the trace, where that is there."
    ),
    "op_memory": Use(("memory",), "No table of allocations."),
    "memory_record": Use(("memory",), "No memory curves and peaks."),
    "module_memory": Use(("memory",), "No memory by CANN module."),
    "communication": Use(("distributed",), "No split of the communication time, no communication operators."),
    "comm_links": Use(("distributed",), "No matrix of links."),
}


def facts_of_files(files: Iterable[str]) -> SpanFacts:
    """Facts before anything is read. `files`: paths relative to the result folder."""
    names = [path.rsplit("/", 1)[-1] for path in files]
    found = {file.id for file in RESULT_FILES if any(file.matches(name) for name in names)}
    tables = {table for table in TABLES if file_of(table).id in found}
    return SpanFacts(frozenset(tables | ({"trace"} & found)))


def facts_of_span(span: SpanData) -> SpanFacts:
    """Facts of a span whose tables are read."""
    rows = {table: span.rows(table) for table in TABLES}
    present = {table for table, count in rows.items() if count is not None}
    promised = facts_of_files(span.files).tables
    return SpanFacts(frozenset(present | (promised & {"trace"})), rows, promised - present - {"trace"})


def view_states(facts: SpanFacts) -> list[ViewStateJson]:
    """One entry per view, in sidebar order."""
    return [_state(view, facts) for view in VIEWS]


def is_available(view: View, facts: SpanFacts) -> bool:
    """Every group of tables that the view needs has a member."""
    return all(any(table in facts.tables for table in group) for group in view.needs)


def missing(facts: SpanFacts, view: str | None = None) -> list[MissingJson]:
    """What a capture lacks, of one view or (view None, or the overview) of all."""
    chosen = None if view == "overview" else view
    out: list[MissingJson] = []
    for file in RESULT_FILES:
        use = USES.get(file.id)
        if use is None or (chosen is not None and chosen not in use.views) or _filled(file) & facts.tables:
            continue
        unusable = bool(_filled(file) & facts.unusable)
        out.append(
            {
                "table": file.id,
                "file": file.name,
                "title": file.title,
                "views": list(use.views),
                "option": "" if unusable else file.condition.option,
                "text": f"{use.cost} {UNUSABLE if unusable else file.condition.text}",
            }
        )
    return out


def _filled(file: ResultFile) -> set[str]:
    """Logical tables that a file fills; of the trace: itself."""
    return {table for table in TABLES if file_of(table).id == file.id} or {file.id}


def _reason(group: tuple[str, ...], facts: SpanFacts) -> tuple[str, str]:
    """Why none of these tables can be shown, and the option that records them."""
    unusable = [table for table in group if table in facts.unusable]
    if unusable:
        return f"{file_of(unusable[0]).name} is there. {UNUSABLE}", ""
    files = list(dict.fromkeys(file_of(table).name for table in group))
    options = list(dict.fromkeys(file_of(table).condition.option for table in group))
    reason = f"{files[0]} is not there." if len(files) == 1 else f"None of {', '.join(files)} is there."
    return reason, "; or ".join(options)


def _state(view: View, facts: SpanFacts) -> ViewStateJson:
    state: ViewStateJson = {"id": view.id, "available": True, "reason": "", "option": "", "count": None}
    if not is_available(view, facts):
        group = next(group for group in view.needs if not any(table in facts.tables for table in group))
        state["available"] = False
        state["reason"], state["option"] = _reason(group, facts)
    elif view.count:
        state["count"] = facts.rows.get(view.count)
    return state
