"""Addresses of the page in TensorBoard (frontend/src/state/url.ts, frontend/src/widgets/diagnosis/finding.tsx)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from tb_npu_plugin.report.markup import LONGEST

PLUGIN = "npu_profiler"
#: Parameter that chooses the table of a view, if it shows one at a time.
_TABS = {"kernel": "kernel.tab", "operator": "operator.tab", "memory": "m.tab"}
#: Parameter that chooses the step of a view.
_STEPS = {"distributed": "d.step", "idle": "idle.step"}


def address(url: str, run: str, evidence: Mapping[str, Any]) -> str:
    """Where TensorBoard at `url` shows a piece of evidence: a time range, a row of a table, or a view. Absent fields are
    null.

    Tokens of runs and spans are hashes of paths below the logdir: the address holds for a TensorBoard whose --logdir is the
    folder that was diagnosed, also a copy of it.
    """
    view, table = evidence["view"], evidence.get("table")
    start, end = evidence.get("start_ns"), evidence.get("end_ns")
    params = {"view": view, "run": run, "span": evidence.get("span") or ""}
    if table is not None:
        row = (evidence.get("row") or "")[:LONGEST].replace("%", "%25").replace("~", "%7E")
        params[f"t.{view}.{table}"] = f"q:{row}" if row else ""
        if view in _TABS:
            params[_TABS[view]] = table
    if view in _STEPS:
        params[_STEPS[view]] = evidence.get("step") or ""
    if start is not None and end is not None:
        params["at"] = f"{start},{end - start}"
    pairs = (f"p.{PLUGIN}.{name}={_quote(value)}" for name, value in params.items() if value)
    return f"{url.rstrip('/')}/#{'&'.join((PLUGIN, *pairs))}"


def _quote(text: str) -> str:
    return quote(text, safe="", errors="replace")
