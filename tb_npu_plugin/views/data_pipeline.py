"""Data pipeline: whether data arrive in time for the device, and the bottleneck operator if not."""

from __future__ import annotations

from typing import Literal, Optional, TypedDict

from tb_npu_plugin.analysis import data_pipeline as analysis
from tb_npu_plugin.analysis.data_pipeline import PipelineFinding, PipelineOp, PipelineQueue
from tb_npu_plugin.analysis.steps.of_span import elapsed_steps
from tb_npu_plugin.errors import BadRequest
from tb_npu_plugin.messages import Message
from tb_npu_plugin.model import SpanData
from tb_npu_plugin.schema.columns import columns_of
from tb_npu_plugin.tables import empty
from tb_npu_plugin.views.base import Param, View, ViewInput, ViewResult, ViewTable, fields_of


class PipelineRemarkJson(TypedDict):
    """A remark of the recorder."""

    kind: str
    """Subject."""
    text: str
    """Text of the file."""


class LoaderJson(TypedDict):
    """Time that the host waited for the PyTorch DataLoader."""

    calls: int
    """Number of batches."""
    total_ns: int
    """Sum of all waits."""
    longest_ns: int
    """The longest wait."""
    steps_ns: Optional[int]
    """From the start of the first step on the host to the end of the last; null if unknown, or if the waits of several
    threads sum to more."""
    source: str
    """File of the waits."""


class DataPipelineJson(TypedDict):
    """Whether data arrive in time for the device.

    Tables: "batches" (one row for each batch and queue), "dataset" (operations by stage), "preprocess" (AI CPU tasks).
    /api/table/data_pipeline.queue (`op`) has samples of an operator's output queue.
    """

    operators: list[PipelineOp]
    """Operators of the dataset pipeline; 0 is its end."""
    queues: list[PipelineQueue]
    """Host and device queue."""
    verdict: Literal["processing", "transfer", "compute", "unknown"]
    """The bottleneck: "processing", "transfer" to the device, or none ("compute")."""
    bottleneck: Optional[int]
    """Id of the operator that delays the others most."""
    machine_cpu: Optional[float]
    """CPU use of the machine in percent."""
    findings: list[PipelineFinding]
    """Findings of the rules."""
    remarks: list[PipelineRemarkJson]
    """Remarks of the recorder."""
    loader: Optional[LoaderJson]
    """Waits for the PyTorch DataLoader; null if not recorded."""
    sources: list[str]
    """Files that were read."""


#: Logical tables that the view uses.
PIPELINE = ("minddata_ops", "minddata_queues", "minddata_batches", "minddata_cpu", "minddata_remarks", "dataset")
OTHERS = ("data_preprocess", "operators")


def build(source: ViewInput) -> ViewResult:
    """See DataPipelineJson."""
    span = source.spans[0]
    ops, batches, cpu = (span.table(name) for name in ("minddata_ops", "minddata_batches", "minddata_cpu"))
    found = analysis.analyse_pipeline(ops, batches, cpu)
    data = fields_of(
        DataPipelineJson,
        found,
        operators=list(found.ops),
        queues=list(found.queues),
        findings=list(found.findings),
        remarks=_remarks_json(span),
        loader=_loader(span),
        sources=list(dict.fromkeys(file for name in PIPELINE for file in span.rows_by_file(name))),
    )
    return ViewResult(data, _tables(span), span.base_ns)


def queue(source: ViewInput) -> ViewTable:
    """Table "queue": samples of an operator's output queue (parameter op)."""
    text = source.params.get("op", "")
    if not text.isdecimal() or len(text) > 9:
        raise BadRequest(Message("error.operator", op=repr(text[:40])), Message("hint.operator"))
    samples = source.spans[0].table("minddata_queues")
    if samples is None:
        return ViewTable(empty(columns_of("minddata_queues")), "time_ns", desc=False)
    return ViewTable(samples.take(samples.ints("op_id") == int(text)), "time_ns", desc=False)


def _remarks_json(span: SpanData) -> list[PipelineRemarkJson]:
    table = span.table("minddata_remarks")
    if table is None:
        return []
    pairs = zip(table.text("kind").tolist(), table.text("text").tolist())
    return [{"kind": kind or "", "text": text} for kind, text in pairs if text]


def _loader(span: SpanData) -> LoaderJson | None:
    operators = span.table("operators")
    found = None if operators is None else analysis.loader(operators)
    if found is None:
        return None
    elapsed = elapsed_steps(span)
    # The waits of loaders on several threads may sum to more than the elapsed time.
    is_longer = elapsed is not None and found.total_ns <= elapsed
    return fields_of(LoaderJson, found, steps_ns=elapsed if is_longer else None, source=span.source("operators"))


def _tables(span: SpanData) -> dict[str, ViewTable]:
    wanted = {
        "batches": ("minddata_batches", "batch", False),
        "dataset": ("dataset", "avg_ns", True),
        "preprocess": ("data_preprocess", "total_ns", True),
    }
    out = {}
    for name, (table, sort, desc) in wanted.items():
        found = span.table(table)
        if found is not None and len(found):
            out[name] = ViewTable(found, sort, desc=desc)
    return out


VIEW = View(
    id="data_pipeline",
    scope="span",
    needs=((*PIPELINE, *OTHERS),),
    build=build,
    contract=DataPipelineJson,
    params=(Param("op", doc='Table "queue": number of the operator.'),),
    extra_tables={"queue": queue},
)
