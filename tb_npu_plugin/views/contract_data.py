"""JSON of the view of the data pipeline."""

from __future__ import annotations

from typing import Literal, Optional, TypedDict

from tb_npu_plugin.analysis.data_pipeline import Rule


class PipelineOpJson(TypedDict):
    """An operator of the pipeline; 0 is its end. Usages and scores are 0..1, `cpu` percent of one core, `empty` percent
    of the samples. See analysis.data_pipeline.Op."""

    op_id: int
    name: str
    workers: Optional[int]
    parent_id: Optional[int]
    capacity: Optional[int]
    average: Optional[float]
    usage: Optional[float]
    input_usage: Optional[float]
    empty: Optional[float]
    cpu: Optional[float]
    score: Optional[float]


class PipelineQueueJson(TypedDict):
    """Batches after the first, and those that found the queue empty."""

    queue: Literal["host", "device"]
    batches: int
    empty: int


class PipelineFindingJson(TypedDict):
    """A rule that holds, of an operator or (null) of the whole pipeline. held_up, slow_source: usages 0..1;
    busy_workers, idle_workers, busy_machine: percent of CPU."""

    rule: Rule
    op_id: Optional[int]
    value: float
    limit: float


class PipelineRemarkJson(TypedDict):
    """What the recorder itself says."""

    kind: str
    text: str


class LoaderJson(TypedDict):
    """Time that the host waited for PyTorch's DataLoader; `steps_ns`: time from the start of the first step on the host to
    the end of the last."""

    calls: int
    total_ns: int
    longest_ns: int
    steps_ns: Optional[int]
    source: str


class DataPipelineJson(TypedDict):
    """tables: "batches" (one row a batch and queue), "dataset" (operations by stage), "preprocess" (AI CPU tasks);
    "queue" (parameter op: samples of its output queue) comes from /api/table alone. `sources`: files that were read."""

    operators: list[PipelineOpJson]
    queues: list[PipelineQueueJson]
    verdict: Literal["processing", "transfer", "compute", "unknown"]
    bottleneck: Optional[int]
    machine_cpu: Optional[float]
    findings: list[PipelineFindingJson]
    remarks: list[PipelineRemarkJson]
    loader: Optional[LoaderJson]
    sources: list[str]
