"""Timelines of result folders, built once in a test run, and what their routes answer."""

from __future__ import annotations

import tempfile
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.store.timeline.build import build_timeline
from tb_npu_plugin.store.timeline.open import Timeline
from tests.oracle.raw import raw
from tests.support import ask as support

_FOLDERS: list[tempfile.TemporaryDirectory[str]] = []  # removed when the test run ends


@lru_cache(maxsize=2)  # each holds some thirty files open, and a process may often have no more than 1024
def timeline(folder: Path) -> Timeline:
    """The timeline of one result folder."""
    return Timeline.open(_built(folder), raw(folder).path("trace_view.json"))


@cache
def _built(folder: Path) -> Path:
    _FOLDERS.append(tempfile.TemporaryDirectory(prefix="timeline-"))
    log, out = ProblemLog(), Path(_FOLDERS[-1].name)
    build_timeline(raw(folder).path("trace_view.json"), out, log, lambda _: None)
    assert {problem.code for problem in log.list()} <= {"unmatched_flow"}
    return out


def ask(folder: Path, question: str, **fields: Any) -> Any:
    """Answer to a question about the trace of a folder."""
    return support.ask(timeline(folder), question, **fields)


def bars(folder: Path, **fields: Any) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """Header and columns of the bars of rows."""
    header, found = support.bars(timeline(folder), **fields)
    return header, {name: values.tolist() for name, values in found.items()}
