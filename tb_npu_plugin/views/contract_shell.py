"""JSON of what stands around the views: catalog, view answer, error."""

from __future__ import annotations

from typing import Any, Literal, Optional, TypedDict

from tb_npu_plugin.messages import MessageJson
from tb_npu_plugin.views.base import MissingJson, ProblemJson, ProgressJson, TableJson


class ViewStateJson(TypedDict):
    """Whether a view can be shown for a span, and why not. `count` is the number beside its name."""

    id: str
    available: bool
    reason: str
    option: str
    count: Optional[int]
    texts: dict[str, MessageJson]


class SpanJson(TypedDict):
    """One capture in time. `format`: kind of result, an id of schema.formats. `fingerprint` changes when its files change. `simulated`: it was read, and a mock device wrote
    its device side."""

    id: str
    label: str
    format: str
    start_ns: Optional[str]
    bytes: int
    fingerprint: str
    state: Literal["new", "reading", "partial", "ready", "failed"]
    problems: int
    views: list[ViewStateJson]
    has_trace: bool
    simulated: bool


class WorkerJson(TypedDict):
    """One process or rank."""

    id: str
    label: str
    rank: Optional[int]
    rank_source: str
    host: Optional[str]
    pid: Optional[int]
    spans: list[SpanJson]


class RunJson(TypedDict):
    """The folder that holds captures, relative to its logdir."""

    id: str
    label: str
    workers: list[WorkerJson]


class SkippedJson(TypedDict):
    """A folder that looked like a result and was not taken. command: the shell command that action names, or ""."""

    path: str
    reason: str
    action: str
    command: str
    texts: dict[str, MessageJson]


class CatalogJson(TypedDict):
    """Answer of /api/catalog. `generation` grows when anything changed; `scanning` while a scan runs.
    `logdirs`: the folders that are looked through; `scanner`: what reads traces (installation.py)."""

    generation: int
    scanning: bool
    logdirs: list[str]
    runs: list[RunJson]
    skipped: list[SkippedJson]
    scanner: Literal["c", "python"]
    version: str


class ViewJson(TypedDict):
    """Answer of /api/view/<id>. `data` is the view's own contract below when state is "ready", else null; but the
    trace has data while its state is "reading" as well, once its beginning can be shown."""

    view: str
    state: Literal["ready", "reading", "missing", "failed"]
    fingerprint: str
    base_ns: str
    data: Optional[dict[str, Any]]
    tables: dict[str, TableJson]
    problems: list[ProblemJson]
    missing: list[MissingJson]
    progress: list[ProgressJson]


class ErrorJson(TypedDict):
    """Body of every answer with a status of 400 or more."""

    code: str
    message: str
    hint: str
    texts: dict[str, MessageJson]
