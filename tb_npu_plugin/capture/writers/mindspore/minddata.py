"""The files of the data pipeline: dataset.csv, and with data_process those of minddata.
Source: docs/facts/ascend_ms.md, Data pipeline files; docs/facts/mindinsight.md, Rules with thresholds.

The pipeline is always that of simulation/data_pipeline.py. The rules of MindSpore's analyser are followed as they are, the
remarks are in our words.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from tb_npu_plugin.capture.simulation import data_pipeline as pipe
from tb_npu_plugin.capture.simulation.records import Segment
from tb_npu_plugin.capture.writers.files import Output, Writer, cell
from tb_npu_plugin.capture.writers.mindspore.record import GET_NEXT
from tb_npu_plugin.schema import minddata as schema
from tb_npu_plugin.schema.core import ResultFile

FRAMEWORK = "FRAMEWORK"
_CORES = 192
#: pipe.Operator -> the next one towards the reader that has a queue.
_INPUTS = {pipe.DEVICE_QUEUE: pipe.BATCH, pipe.BATCH: pipe.MAP, pipe.MAP: pipe.READER}
#: Limits of the remarks, percent: CPU per worker, queues.
_BUSY, _LAZY = 75.0, 20.0
_LEAF, _EMPTY, _DIFFERENCE, _STARVED = 50, 60, 50, 10
Json = dict[str, Any]
#: Type of record, number or kind of time, number of the batch, value, ms.
_Record = tuple[int, int, int, int, int]


class MindData(Writer):
    """Collects when the training took its batches; everything else follows from that when it is closed."""

    def __init__(self, output: Output) -> None:
        self._output, self._folder = output, output.folder
        self._process, self._options = output.process, output.options
        self._waits: list[tuple[int, int]] = []

    def add(self, segment: Segment) -> None:
        self._waits += [(op.start, op.end) for op in segment.ops if op.info.name == GET_NEXT]

    def close(self) -> None:
        if not self._waits or not self._options.cpu:
            return
        slow = sum(end - start for start, end in self._waits) > pipe.LONG_WAIT * len(self._waits)
        pipeline = pipe.Pipeline([end for _, end in self._waits], slow)
        text = "text" in self._options.export
        if text:
            self._dataset(pipeline)
        if not self._options.data_process:
            return
        start, end = self._process.start, self._process.end
        whole = (end - start) // 1_000_000
        interval = 1 if whole < 200 else max(10, whole // 2000)  # ms: some hundred samples, and 10 ms for most captures
        moments = range(start, end, interval * 1_000_000)
        sizes = {operator: pipeline.sizes(operator, moments) for operator in pipe.OPERATORS if operator.capacity}
        batches = _batches(pipeline, start, end)
        (self._folder.parent / FRAMEWORK).mkdir(exist_ok=True)
        self._write(FRAMEWORK, schema.PIPELINE_PROFILING, json.dumps(_profiling(sizes, interval)))
        self._write(FRAMEWORK, schema.CPU, json.dumps(_cpu(pipeline, moments, interval)))
        self._write(FRAMEWORK, schema.BATCHES, "".join(" ".join(map(str, record)) + "\n" for record in batches))
        if text:
            self._table(sizes, interval)
            summary = _summary(_figures(pipeline, sizes), batches)
            self._write(self._folder.name, schema.SUMMARY, json.dumps(summary))
            rows = [",".join(cell(str(value)) for value in (key, *values)) for key, values in summary.items()]
            self._write(self._folder.name, schema.SUMMARY, "\r\n".join([*rows, ""]), ".csv")

    def _write(self, folder: str, file: ResultFile, text: str, suffix: str = "") -> None:
        path = self._folder.parent / folder / schema.name_for_rank(file, self._process.rank)
        path.with_suffix(suffix or path.suffix).write_bytes(text.encode())

    def _dataset(self, pipeline: pipe.Pipeline) -> None:
        file, waits = self._output.csv(schema.DATASET), [end - start for start, end in self._waits]
        file.add([f"GetNext,DataQueue,{len(waits)},{sum(waits) / len(waits) / 1000:.2f},"])
        for operator in pipe.OPERATORS:
            # one runs inside its parent
            is_inside = operator is pipe.EPOCH_CTRL
            count, each = (0, 0) if is_inside else pipeline.count(operator, self._process.start, self._process.end)
            if count:
                stage = "Push" if operator is pipe.DEVICE_QUEUE else "WorkerEntry"
                file.add([f"{operator.type}Op,{stage},{count},{each / 1000:.2f},workers={operator.workers}"])

    def _table(self, sizes: dict[pipe.Operator, list[int]], interval: int) -> None:
        """minddata_pipeline_raw: from the root on; an operator without a queue is stepped over."""
        parent, lines = "", [",".join(schema.RAW_HEADER)]
        for operator in (pipe.DEVICE_QUEUE, *_INPUTS.values()):
            found, queue = sizes.get(operator), ["", "", "", ""]
            if found:
                average = sum(found) / len(found)
                queue = [json.dumps(found), str(average), str(operator.capacity), str(average / operator.capacity)]
            children = json.dumps([_INPUTS[operator].id]) if operator in _INPUTS else ""
            front = [str(operator.id), f"{operator.type}Op", str(operator.workers)]
            lines.append(",".join(map(cell, [*front, *queue, str(interval), parent, children])))
            parent = str(operator.id)
        self._write(self._folder.name, schema.PIPELINE, "\r\n".join([*lines, ""]))


def _profiling(sizes: dict[pipe.Operator, list[int]], interval: int) -> Json:
    """Content of pipeline_profiling: leaf first, as the producer walks the tree."""
    infos: list[Json] = []
    for operator in reversed(pipe.OPERATORS):
        queue = {schema.QUEUE_SIZES: sizes.get(operator), schema.QUEUE_LENGTH: operator.capacity}
        info = {schema.OP_ID: operator.id, schema.OP_TYPE: f"{operator.type}Op", schema.OP_WORKERS: operator.workers}
        info |= {schema.RAW_METRICS: {schema.RAW_QUEUE: queue} if operator in sizes else None}
        infos.append({**info, schema.OP_CHILDREN: list(operator.children)} if operator.children else info)
    return {schema.RAW_INTERVAL: interval, schema.RAW_OPS: infos}


def _percent(pipeline: pipe.Pipeline, operator: pipe.Operator) -> float:
    return 100 * pipeline.busy(operator) * operator.workers


def _user_and_system(percent: float) -> tuple[int, int]:
    return round(0.9 * percent), round(0.1 * percent)


def _cpu(pipeline: pipe.Pipeline, moments: range, interval: int) -> Json:
    """Content of minddata_cpu_utilization: the same at all moments."""

    def times(percent: float) -> dict[str, list[int]]:
        user, system = _user_and_system(percent)
        return {schema.CPU_FIGURES["user"]: [user] * len(moments), schema.CPU_FIGURES["sys"]: [system] * len(moments)}

    percents = [(-1, 0.0), *((operator.id, _percent(pipeline, operator)) for operator in pipe.OPERATORS)]
    whole = sum(percent for _, percent in percents) / _CORES
    others = {schema.CPU_FIGURES["io"]: 0, schema.CPU_FIGURES["idle"]: 100 - sum(_user_and_system(whole + 3))}
    others |= {schema.CPU_RUNNABLE: 4, schema.CPU_SWITCHES: 1800}
    return {
        schema.CPU_INTERVAL: interval,
        schema.CPU_COUNT: _CORES,
        schema.CPU_STAMPS: [moment // 1_000_000 for moment in moments],
        schema.CPU_DEVICE: {**times(whole + 3), **{key: [value] * len(moments) for key, value in others.items()}},
        schema.CPU_PROCESS: times(whole + 1),
        schema.CPU_OPS: [{schema.CPU_METRICS: times(percent), schema.OP_ID: id_} for id_, percent in percents],
    }


def _batches(pipeline: pipe.Pipeline, start: int, end: int) -> list[_Record]:
    out = list[_Record]()
    found = pipeline.pushed_between(start, end)
    sizes = pipeline.sizes(pipe.BATCH, [batch.got - 1 for batch in found])
    for number, (batch, size) in enumerate(zip(found, sizes), 1):
        get, push = (batch.got - batch.asked) // 1_000_000, (batch.pushed - batch.got) // 1_000_000
        at, times = batch.pushed // 1_000_000, ((schema.GET, get), (schema.PUSH, push), (schema.TOTAL, get + push))
        out += [(schema.TIME_RECORD, kind, number, value, at) for kind, value in times]
        out.append((schema.QUEUE_RECORD, pipe.BATCH.capacity, number, size, at))
    return out


@dataclass(frozen=True)
class _Figures:
    """One operator in the summary."""

    operator: pipe.Operator
    cpu: float  # percent of all workers
    source: _Figures | None  # whose output queue is its input
    average: float = -1  # entries of its output queue; -1 without one
    used: float = -1  # percent
    empty: float = -1  # percent

    @property
    def name(self) -> str:
        return f"{self.operator.type}(id={self.operator.id})"

    @property
    def worker_cpu(self) -> float:
        return round(self.cpu / self.operator.workers, 2)

    def remarks(self) -> tuple[str, str, str]:
        """Too few workers, or too many; its queues are too empty; what to do about it if it holds up the others."""
        cpu, workers, used, source = self.worker_cpu, self.operator.workers, self.used, self.source
        of_cpu = of_queues = advice = ""
        if cpu > _BUSY:
            of_cpu = f"{self.name}: {cpu}% CPU per worker; num_parallel_workers>{workers} may help."
            advice = f"{cpu}% CPU per worker: more than {workers} workers."
        elif cpu < _LAZY:
            more = f"{self.name}: {cpu}% CPU per worker; num_parallel_workers={workers} may be more than it needs."
            of_cpu = more if workers > 1 else ""
            is_starved = source is not None and (source.used < _STARVED or used - source.used > _DIFFERENCE)
            advice = f"{cpu}% CPU per worker: a larger prefetch_size." if is_starved else ""
        if source is None:
            of_queues = f"{self.name}: a leaf with {used}% of its output queue used." if -1 != used < _LEAF else ""
        elif self.operator is pipe.DEVICE_QUEUE and source.empty > _EMPTY:
            of_queues = f"{self.name}: its input queue is empty {source.empty}% of the time."
        elif self.operator is pipe.MAP and source.used - used > _DIFFERENCE:
            of_queues = f"{self.name}: {source.used}% of the input queue and {used}% of the output queue used."
        return of_cpu, of_queues, advice


def _figures(pipeline: pipe.Pipeline, sizes: dict[pipe.Operator, list[int]]) -> list[_Figures]:
    out: dict[pipe.Operator, _Figures] = {}
    for operator in reversed(pipe.OPERATORS):
        source = out[_INPUTS[operator]] if operator in _INPUTS else None
        figures = _Figures(operator, float(sum(_user_and_system(_percent(pipeline, operator)))), source)
        if found := sizes.get(operator):
            average = round(sum(found) / len(found), 2)
            used, empty = round(100 * average / operator.capacity, 2), round(100 * found.count(0) / len(found), 2)
            figures = replace(figures, average=average, used=used, empty=empty)
        out[operator] = figures
    return [out[operator] for operator in pipe.OPERATORS]


def _summary(figures: list[_Figures], batches: list[_Record]) -> dict[str, list[Any]]:
    """minddata_pipeline_summary: key -> list, in the order of the file. figures: by id of the operator."""
    parents = {child: operator.id for operator in pipe.OPERATORS for child in operator.children}
    out: dict[str, list[Any]] = {
        schema.SUMMARY_OPS: [each.name for each in figures],
        schema.SUMMARY_TYPES: [operator.type for operator in pipe.OPERATORS],
        schema.SUMMARY_IDS: [operator.id for operator in pipe.OPERATORS],
        schema.SUMMARY_WORKERS: [operator.workers for operator in pipe.OPERATORS],
        schema.SUMMARY_AVERAGE: [each.average for each in figures],
        schema.SUMMARY_USAGE: [each.used for each in figures],
        schema.SUMMARY_EMPTY: [each.empty for each in figures],
        schema.SUMMARY_CHILDREN: [list(operator.children) for operator in pipe.OPERATORS],
        schema.SUMMARY_PARENT: [parents.get(operator.id, -1) for operator in pipe.OPERATORS],
        schema.SUMMARY_CPU: [each.cpu for each in figures],
    }
    times = ((schema.BATCH_TIME, schema.TOTAL), (schema.PIPELINE_TIME, schema.GET), (schema.PUSH_TIME, schema.PUSH))
    for key, kind in times:
        values = [record[3] for record in batches if record[:2] == (schema.TIME_RECORD, kind) and record[2] >= 2]
        out[key] = [round(sum(values) / len(values), 3) if values else -1]
    out[schema.SUMMARY_WORKER_CPU] = [each.worker_cpu for each in figures]
    judged = [each for each in figures if each.operator is not pipe.EPOCH_CTRL]
    cpu, queues, advice = zip(*(each.remarks() for each in judged))
    slow = next(((each.name, text) for each, text in zip(judged[1:], advice[1:]) if text), ("", ""))  # of the lowest id
    remarks = cpu, queues, slow[:1], slow[1:]
    return {**out, **{key: list(filter(None, texts)) for key, texts in zip(schema.REMARKS, remarks) if any(texts)}}
