"""Which views a span can show, and which data its capture lacks: file, effect, option that records it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Optional, TypedDict

from tb_npu_plugin.analysis.settings_on import is_recorded, missing_option
from tb_npu_plugin.messages import Message, MessageJson, messages_of
from tb_npu_plugin.model import Capture, SpanData
from tb_npu_plugin.problems import Problem
from tb_npu_plugin.schema.core import Condition, ResultFile
from tb_npu_plugin.schema.formats import FORMATS, TORCH_NPU, Format
from tb_npu_plugin.schema.registry import TABLES
from tb_npu_plugin.views.base import MissingJson, View
from tb_npu_plugin.views.registry import VIEWS
from tb_npu_plugin.views.uses import USES, Use


class ViewStateJson(TypedDict):
    """Whether a view can be shown for a span."""

    id: str
    """Id of the view."""
    available: bool
    """Whether the capture has data for it, as far as known."""
    reason: str
    """Why it is not available; else ""."""
    option: str
    """Profiler option that records its data; else ""."""
    count: Optional[int]
    """Number next to the view's name: rows of its main table; null while unknown."""
    texts: dict[str, MessageJson]
    """Code and parameters of the fields that are messages."""


@dataclass(frozen=True)
class SpanFacts:
    """Facts about a span.

    tables    logical tables (and "trace") that it has
    rows      row counts of the tables that are read
    unusable  names of existing files that gave nothing, by logical table
    format    its format
    rebuilt   members of `tables` rebuilt from the trace for lack of a file
    capture   capture settings; None before they are read
    codes     codes of the problems met
    """

    tables: frozenset[str]
    rows: Mapping[str, Optional[int]] = field(default_factory=dict)
    unusable: Mapping[str, str] = field(default_factory=dict)
    format: Format = TORCH_NPU
    rebuilt: frozenset[str] = frozenset()
    capture: Optional[Capture] = None
    codes: frozenset[str] = frozenset()

    @property
    def is_host_only(self) -> bool:
        """The trace holds no rows of the device, although it was to be recorded."""
        return "no_device_rows" in self.codes

    @property
    def is_trace_alone(self) -> bool:
        """The trace is there without the files beside it and without settings."""
        return "trace_alone" in self.codes and (self.capture is None or self.capture.level is None)


#: Settings that record data of the device.
_DEVICE = re.compile(r"ProfilerActivity\.NPU|profiler_level=")
#: Views that list missing data of the entire capture.
WHOLE_CAPTURE_VIEWS = ("overview", "diagnosis", "diff_ledger", "doctor", "explain", "kernel_ranks")


def facts_of_files(files: Iterable[str], format: Format = TORCH_NPU) -> SpanFacts:
    """Facts before anything is read. `files`: names as the profiler gives them, or paths."""
    found = [format.file(path.rsplit("/", 1)[-1]) for path in files]
    tables = frozenset(table for file in found if file is not None for table in file.tables)
    return SpanFacts(tables, format=format)


def facts_of_span(span: SpanData) -> SpanFacts:
    """Facts of a span whose tables are read."""
    rows = {table: span.rows(table) for table in TABLES}
    present = {table for table, count in rows.items() if count is not None}
    format = FORMATS[span.format]
    trace = facts_of_files(span.kinds.values(), format).tables & {"trace"}
    codes = frozenset(problem.code for problem in span.problems)
    sources = {table: span.rows_by_file(table) for table in present}
    unusable = unusable_tables(span.kinds, format, sources, span.problems, span.timeline is not None)
    rebuilt = frozenset({"kernels"} if "trace_alone" in codes else ())
    return SpanFacts(frozenset(present | trace), rows, unusable, format, rebuilt, span.capture, codes)


def unusable_tables(
    kinds: Mapping[str, str],
    format: Format,
    sources: Mapping[str, Collection[str]],
    problems: Iterable[Problem],
    has_timeline: bool,
) -> dict[str, str]:
    """Names of files that exist but gave nothing, by table. kinds: see SpanData; sources: file names of the tables that were read; problems:
    all reading problems; has_timeline: the trace could be read."""
    unusable: dict[str, str] = {}
    troubled = {problem.file.rsplit("/", 1)[-1] for problem in problems if problem.severity != "info"}
    own = set()
    for path, kind in kinds.items():
        name, file = path.rsplit("/", 1)[-1], format.file(kind)
        is_sound, is_used = name not in troubled, any(name in read for read in sources.values())
        # what a sound file with several tables lacks was not recorded; a database may have no table that is used
        is_partial = (is_sound or is_used) if file is not None and file.fallback else (is_sound and is_used)
        if file is not None and not is_partial:
            unusable.update((table, name) for table in file.tables if table not in sources and table != "trace")
            own.update([name] if "trace" in file.tables else [])
    if has_timeline:  # what a readable trace lacks was not recorded; an unreadable database holds its own trace
        unusable = {table: name for table, name in unusable.items() if name in own or table not in _in_trace(format)}
    return unusable


def _in_trace(format: Format) -> dict[str, Condition]:
    """Tables taken from the trace, and when the trace contains them."""
    return {table: condition for file in format.files for table, condition in file.in_trace}


def view_states(facts: SpanFacts) -> list[ViewStateJson]:
    """One entry per view, in sidebar order."""
    return [_state(view, facts) for view in VIEWS]


def is_available(view: View, facts: SpanFacts) -> bool:
    """Whether the span has a member of each table group that the view needs."""
    return all(any(table in facts.tables for table in group) for group in view.needs)


def missing_data(facts: SpanFacts, view: str | None = None) -> list[MissingJson]:
    """Data that a capture lacks, for one view, or for all (view None, or a view of WHOLE_CAPTURE_VIEWS)."""
    chosen = None if view in WHOLE_CAPTURE_VIEWS else view
    read = facts.tables - facts.rebuilt
    out: list[MissingJson] = []
    for file in facts.format.files:
        use = USES.get(file.id)
        if (
            use is None
            or not use.missed
            or (use.if_set and not _is_lost(file, file.condition, facts))
            or (chosen is not None and chosen not in use.views)
            or read.intersection(file.tables)
        ):
            continue
        unusable = any(table in facts.unusable for table in file.tables)
        is_rebuilt = file.id == "kernels" and file.id in facts.tables
        cost = Message("cost.kernels_rebuilt") if is_rebuilt else use.cost
        why = Message("missing.unreadable") if unusable else _why(file, file.condition, facts)
        option = "" if unusable else _option(file, file.condition, facts)
        out.append(_missing(file.id, file, use, option, Message("missing.both", cost=cost, why=why)))
    for table, use, condition, file in _not_recorded(facts):
        if chosen is None or chosen in use.views:
            text = Message("missing.both", cost=use.cost, why=condition.text)
            out.append(_missing(table, file, use, condition.option, text))
    return out


def _missing(table: str, file: ResultFile, use: Use, option: str, text: Message) -> MissingJson:
    return {
        "table": table,
        "file": file.name,
        "title": file.title,
        "views": list(use.views),
        "option": option,
        "text": text,
        "texts": messages_of({"title": file.title, "option": option, "text": text}),
    }


def _is_lost(file: ResultFile, condition: Condition, facts: SpanFacts) -> bool:
    """Whether the file is missing although its settings were on."""
    exported = facts.capture.export_types if facts.capture is not None else None
    is_text_off = exported is not None and not any(kind.lower() == "text" for kind in exported)
    return not (is_text_off and not file.is_database) and is_recorded(condition, facts.capture)


def _option(file: ResultFile, condition: Condition, facts: SpanFacts) -> str:
    """Option that records the file; "" if it was set."""
    return "" if facts.is_trace_alone or _is_lost(file, condition, facts) else missing_option(condition, facts.capture)


def _why(file: ResultFile, condition: Condition, facts: SpanFacts) -> Message:
    """One sentence: why a file is missing."""
    if facts.is_trace_alone:
        return Message("missing.trace_alone")
    if not _is_lost(file, condition, facts):
        return condition.text
    if facts.is_host_only and _DEVICE.search(file.condition.option):
        return Message("missing.host_only")
    return Message("missing.not_copied", option=condition.option, file=file.name)


def _not_recorded(facts: SpanFacts) -> Iterator[tuple[str, Use, Condition, ResultFile]]:
    """Missing data of a trace that fills all tables, once for each option that records them."""
    told = set()
    for file in facts.format.files:
        for table, condition in file.in_trace:
            if table not in {*facts.tables, *facts.unusable} and table in USES and condition not in told:
                told.add(condition)
                yield table, USES[table], condition, file


def _reason(group: tuple[str, ...], facts: SpanFacts) -> tuple[Message, str]:
    """Reason why no table of the group can be shown, and the option that records them."""
    unusable = [facts.unusable[table] for table in group if table in facts.unusable]
    if unusable:
        return Message("missing.unreadable_file", file=unusable[0]), ""
    declared = [file for file in map(facts.format.file_of, group) if file is not None]
    lacking = [condition for table, condition in _in_trace(facts.format).items() if table in group]
    if lacking:
        return Message("missing.not_in_file", file=declared[0].name, why=lacking[0].text), lacking[0].option
    if not declared:
        return Message("missing.no_such_result", format=facts.format.title), ""
    files = list(dict.fromkeys(file.name for file in declared))
    options = list(dict.fromkeys(_option(file, file.condition, facts) for file in declared))
    reason = (
        Message("missing.file", file=files[0]) if len(files) == 1 else Message("missing.files", files=", ".join(files))
    )
    lost = next((file for file in declared if _is_lost(file, file.condition, facts)), None)
    if lost is not None:
        return Message("missing.both", cost=reason, why=_why(lost, lost.condition, facts)), ""
    return reason, reduce(lambda one, other: Message("option.alternatives", one=one, other=other), options)


def _state(view: View, facts: SpanFacts) -> ViewStateJson:
    state: ViewStateJson = {"id": view.id, "available": True, "reason": "", "option": "", "count": None, "texts": {}}
    if not is_available(view, facts):
        group = next(group for group in view.needs if not any(table in facts.tables for table in group))
        state["available"] = False
        state["reason"], state["option"] = _reason(group, facts)
        state["texts"] = messages_of(state)
    elif view.count:
        state["count"] = facts.rows.get(view.count)
    return state
