"""JSON contracts of the views. Times and durations are integer ns ("time": after `base_ns`), sizes bytes,
unknown is null. frontend/src/api/types.gen.ts is generated from this file (tools/gen_types.py)."""

from __future__ import annotations

from tb_npu_plugin.views.contract_data import (
    DataPipelineJson,
    LoaderJson,
    PipelineFindingJson,
    PipelineOpJson,
    PipelineQueueJson,
    PipelineRemarkJson,
)
from tb_npu_plugin.views.contract_doctor import DoctorFileJson, DoctorJson, FilledJson
from tb_npu_plugin.views.contract_ranks import (
    ClusterJson,
    DiffClassJson,
    DiffJson,
    DiffSideJson,
    DiffStepJson,
    DistributedJson,
    FindingJson,
    LinkJson,
    RankBudgetJson,
    RankStateJson,
)
from tb_npu_plugin.views.contract_shell import (
    CatalogJson,
    ErrorJson,
    RunJson,
    SkippedJson,
    SpanJson,
    ViewJson,
    ViewStateJson,
    WorkerJson,
)
from tb_npu_plugin.views.contract_span import (
    CaptureJson,
    CoreShareJson,
    CurveJson,
    KernelJson,
    MemoryJson,
    MemoryPeakJson,
    OperatorJson,
    OverviewJson,
    ProcessJson,
    RankStepJson,
    StepJson,
    ThreadJson,
    TraceJson,
)
from tb_npu_plugin.views.contract_steps import ReduceJson, StepTimesJson, StepTraceJson

__all__ = [
    "CONTRACTS",
    "CaptureJson",
    "ClusterJson",
    "CatalogJson",
    "CoreShareJson",
    "CurveJson",
    "DataPipelineJson",
    "DiffClassJson",
    "DiffJson",
    "DiffSideJson",
    "DiffStepJson",
    "DistributedJson",
    "DoctorFileJson",
    "DoctorJson",
    "ErrorJson",
    "FindingJson",
    "FilledJson",
    "KernelJson",
    "LinkJson",
    "LoaderJson",
    "MemoryJson",
    "MemoryPeakJson",
    "OperatorJson",
    "OverviewJson",
    "PipelineFindingJson",
    "PipelineOpJson",
    "PipelineQueueJson",
    "PipelineRemarkJson",
    "ProcessJson",
    "RankBudgetJson",
    "RankStateJson",
    "RankStepJson",
    "ReduceJson",
    "RunJson",
    "SkippedJson",
    "SpanJson",
    "StepJson",
    "StepTimesJson",
    "StepTraceJson",
    "ThreadJson",
    "TraceJson",
    "ViewJson",
    "ViewStateJson",
    "WorkerJson",
]

CONTRACTS: tuple[type, ...] = (
    CatalogJson, ViewJson, ErrorJson, OverviewJson, KernelJson, OperatorJson, MemoryJson, DistributedJson, DiffJson,
    TraceJson, StepTraceJson, DataPipelineJson, DoctorJson, RankStepJson,
)  # fmt: skip
