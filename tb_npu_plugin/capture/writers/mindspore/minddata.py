"""The files of the data pipeline: dataset.csv, and with data_process those of minddata.
Source: docs/facts/ascend_ms.md, Data pipeline files."""

from __future__ import annotations

import json
from typing import Any

from tb_npu_plugin.capture.simulation.data_pipeline import BATCH, DEVICE_QUEUE, LONG_WAIT, OPERATORS, Operator, Pipeline
from tb_npu_plugin.capture.simulation.records import Segment
from tb_npu_plugin.capture.writers.files import Output
from tb_npu_plugin.capture.writers.mindspore.minddata_summary import summary
from tb_npu_plugin.capture.writers.mindspore.record import GET_NEXT
from tb_npu_plugin.capture.writers.text import CsvFile, cell
from tb_npu_plugin.schema import minddata as schema
from tb_npu_plugin.schema.torch_npu_json import OUTPUT_FOLDER

FRAMEWORK = "FRAMEWORK"
_CORES = 192
_NEWLINE = "\r\n"


class MindData:
    """Collects when the training took its batches; everything else follows from that when it is closed."""

    def __init__(self, output: Output) -> None:
        self._root, self._process, self._options = output.folder.parent, output.process, output.options
        self._waits: list[tuple[int, int]] = []

    def add(self, segment: Segment) -> None:
        """Note the batches of one segment."""
        self._waits += [(op.start, op.end) for op in segment.ops if op.info.name == GET_NEXT]

    def close(self) -> None:
        """Write the files."""
        if not self._waits or not self._options.cpu:
            return
        process = self._process
        slow = sum(end - start for start, end in self._waits) > LONG_WAIT * len(self._waits)
        pipeline = Pipeline([end for _, end in self._waits], slow)
        text = "text" in self._options.export
        if text:
            self._dataset(pipeline)
        if not self._options.data_process:
            return
        raw, cpu = self._pipeline_json(pipeline), self._cpu(pipeline)
        batches = self._batches(pipeline)
        folder = self._root / FRAMEWORK
        folder.mkdir(exist_ok=True)
        (folder / schema.name_for_rank(schema.PIPELINE_PROFILING, process.rank)).write_text(
            json.dumps(raw), encoding="utf-8"
        )
        (folder / schema.name_for_rank(schema.CPU, process.rank)).write_text(json.dumps(cpu), encoding="utf-8")
        lines = "".join(" ".join(map(str, record)) + "\n" for record in batches)
        (folder / schema.name_for_rank(schema.BATCHES, process.rank)).write_text(lines, encoding="utf-8")
        if text:
            self._table(raw)
            self._summary(summary(raw, cpu, batches))

    def _dataset(self, pipeline: Pipeline) -> None:
        start, end = self._process.start, self._process.end
        keys = tuple(column.headers[0] for column in schema.DATASET.columns)
        file = CsvFile(self._root / OUTPUT_FOLDER / schema.DATASET.name, keys, _NEWLINE)
        waits = [end - start for start, end in self._waits]
        file.write([f"GetNext,DataQueue,{len(waits)},{sum(waits) / len(waits) / 1000:.2f},"])
        for operator in OPERATORS:
            if not operator.capacity and operator is not DEVICE_QUEUE:
                continue  # runs inside its parent
            count, each = pipeline.count(operator, start, end)
            if count:
                stage = "Push" if operator is DEVICE_QUEUE else "WorkerEntry"
                file.write([f"{operator.type}Op,{stage},{count},{each / 1000:.2f},workers={operator.workers}"])
        file.close()

    # -- raw data -----------------------------------------------------------------------------------
    def _interval(self) -> int:
        """ms between two samples: some hundred of them, and 10 ms for most captures."""
        whole = (self._process.end - self._process.start) // 1_000_000
        return 1 if whole < 200 else max(10, whole // 2000)

    def _moments(self, interval: int) -> list[int]:
        return list(range(self._process.start, self._process.end, interval * 1_000_000))

    def _pipeline_json(self, pipeline: Pipeline) -> dict[str, Any]:
        """Content of pipeline_profiling: leaf first, as the producer walks the tree."""
        interval = self._interval()
        moments = self._moments(interval)
        infos = []
        for operator in reversed(OPERATORS):
            info: dict[str, Any] = {
                schema.OP_ID: operator.id,
                schema.OP_TYPE: f"{operator.type}Op",
                schema.OP_WORKERS: operator.workers,
                schema.RAW_METRICS: _queue(pipeline, operator, moments),
            }
            if operator.children:
                info[schema.OP_CHILDREN] = list(operator.children)
            infos.append(info)
        return {schema.RAW_INTERVAL: interval, schema.RAW_OPS: infos}

    def _cpu(self, pipeline: Pipeline) -> dict[str, Any]:
        interval = self._interval()
        moments = self._moments(interval)
        count = len(moments)
        per_op = {op: 100 * pipeline.busy(op) * op.workers for op in OPERATORS}
        whole = sum(per_op.values()) / _CORES

        def times(percent: float) -> dict[str, list[int]]:
            return {
                schema.CPU_FIGURES["user"]: [round(0.9 * percent)] * count,
                schema.CPU_FIGURES["sys"]: [round(0.1 * percent)] * count,
            }

        return {
            schema.CPU_INTERVAL: interval,
            schema.CPU_COUNT: _CORES,
            schema.CPU_STAMPS: [moment // 1_000_000 for moment in moments],
            schema.CPU_DEVICE: {
                **times(whole + 3),
                schema.CPU_FIGURES["io"]: [0] * count,
                schema.CPU_FIGURES["idle"]: [100 - round(0.9 * (whole + 3)) - round(0.1 * (whole + 3))] * count,
                schema.CPU_RUNNABLE: [4] * count,
                schema.CPU_SWITCHES: [1800] * count,
            },
            schema.CPU_PROCESS: times(whole + 1),
            schema.CPU_OPS: [
                {schema.CPU_METRICS: times(percent), schema.OP_ID: id_}
                for id_, percent in [(-1, 0.0), *((op.id, percent) for op, percent in per_op.items())]
            ],
        }

    def _batches(self, pipeline: Pipeline) -> list[tuple[int, int, int, int, int]]:
        """Lines of device_queue_profiling."""
        out = []
        found = pipeline.taken_between(self._process.start, self._process.end)
        sizes = pipeline.sizes(BATCH, [batch.got - 1 for _, batch in found])
        for number, ((_, batch), size) in enumerate(zip(found, sizes), 1):
            get, push = (batch.got - batch.asked) // 1_000_000, (batch.pushed - batch.got) // 1_000_000
            at = batch.pushed // 1_000_000
            for kind, value in ((schema.GET, get), (schema.PUSH, push), (schema.TOTAL, get + push)):
                out.append((schema.TIME_RECORD, kind, number, value, at))
            out.append((schema.QUEUE_RECORD, BATCH.capacity, number, size, at))
        return out

    # -- parsed -------------------------------------------------------------------------------------
    def _table(self, raw: dict[str, Any]) -> None:
        """minddata_pipeline_raw: breadth-first from the root; children without a queue are stepped over."""
        by_id = {info[schema.OP_ID]: info for info in raw[schema.RAW_OPS]}
        path = self._root / OUTPUT_FOLDER / schema.name_for_rank(schema.PIPELINE, self._process.rank)
        file = CsvFile(path, schema.RAW_HEADER, _NEWLINE)
        waiting: list[tuple[int, str]] = [(0, "")]
        for id_, parent in waiting:
            info = by_id[id_]
            children = _with_queues(info, by_id)
            waiting += [(child, str(id_)) for child in children]
            queue = (info[schema.RAW_METRICS] or {}).get(schema.RAW_QUEUE)
            cells = ["", "", "", ""]
            if queue:
                sizes, length = queue[schema.QUEUE_SIZES], queue[schema.QUEUE_LENGTH]
                average = sum(sizes) / len(sizes)
                cells = [json.dumps(sizes), str(average), str(length), str(average / length)]
            front = [str(id_), info[schema.OP_TYPE], str(info[schema.OP_WORKERS])]
            back = [str(raw[schema.RAW_INTERVAL]), parent, json.dumps(children) if children else ""]
            file.write([",".join(map(cell, [*front, *cells, *back]))])
        file.close()

    def _summary(self, content: dict[str, list[Any]]) -> None:
        output, rank = self._root / OUTPUT_FOLDER, self._process.rank
        path = output / schema.name_for_rank(schema.SUMMARY, rank)
        path.write_text(json.dumps(content), encoding="utf-8")
        lines = [",".join(cell(str(value)) for value in (key, *values)) for key, values in content.items()]
        text = "".join(line + _NEWLINE for line in lines)
        path.with_suffix(".csv").write_bytes(text.encode())


def _queue(pipeline: Pipeline, operator: Operator, moments: list[int]) -> dict[str, Any] | None:
    if not operator.capacity:
        return None
    sizes = pipeline.sizes(operator, moments)
    return {schema.RAW_QUEUE: {schema.QUEUE_SIZES: sizes, schema.QUEUE_LENGTH: operator.capacity}}


def _with_queues(info: dict[str, Any], by_id: dict[int, dict[str, Any]]) -> list[int]:
    """The next operators below that have a queue."""
    out: list[int] = []
    for child in info.get(schema.OP_CHILDREN, ()):
        below = by_id[child]
        out += [child] if below[schema.RAW_METRICS] else _with_queues(below, by_id)
    return out
