"""minddata_pipeline_summary: what MindSpore's analyser makes of the pipeline.
Source: docs/facts/ascend_ms.md, Data pipeline files; docs/facts/mindinsight.md, Rules with thresholds.

Its rules are followed as they are, the remarks are in our words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tb_npu_plugin.schema import minddata as schema

_BUSY, _LAZY = 75.0, 20.0  # CPU per worker
_LEAF, _EMPTY, _DIFFERENCE, _STARVED = 50, 60, 50, 10
_SINGLE = {"Barrier", "Concat", "EpochCtrl", "Rename", "Repeat", "Shuffle", "Skip", "Take", "Zip"}
Json = dict[str, Any]


def summary(raw: Json, cpu: Json, batches: Sequence[tuple[int, int, int, int, int]]) -> dict[str, list[Any]]:
    """Key -> list, in the order of the file."""
    infos = sorted(raw[schema.RAW_OPS], key=lambda info: info[schema.OP_ID])
    types = [info[schema.OP_TYPE][:-2] for info in infos]
    queues = [_queue(info) for info in infos]
    children = [info.get(schema.OP_CHILDREN, []) for info in infos]
    parents = {child: number for number, below in enumerate(children) for child in below}
    used = {op[schema.OP_ID]: op[schema.CPU_METRICS] for op in cpu[schema.CPU_OPS]}
    percents = [
        _mean_of(a + b for a, b in zip(*(used[number][schema.CPU_FIGURES[kind]] for kind in ("sys", "user"))))
        for number in range(len(infos))
    ]
    out: dict[str, list[Any]] = {
        schema.SUMMARY_OPS: [f"{name}(id={number})" for number, name in enumerate(types)],
        schema.SUMMARY_TYPES: types,
        schema.SUMMARY_IDS: list(range(len(infos))),
        schema.SUMMARY_WORKERS: [info[schema.OP_WORKERS] for info in infos],
        schema.SUMMARY_AVERAGE: [queue[0] for queue in queues],
        schema.SUMMARY_USAGE: [queue[1] for queue in queues],
        schema.SUMMARY_EMPTY: [queue[2] for queue in queues],
        schema.SUMMARY_CHILDREN: children,
        schema.SUMMARY_PARENT: [parents.get(number, -1) for number in range(len(infos))],
        schema.SUMMARY_CPU: percents,
    }
    for key, kind in (
        (schema.BATCH_TIME, schema.TOTAL),
        (schema.PIPELINE_TIME, schema.GET),
        (schema.PUSH_TIME, schema.PUSH),
    ):
        values = [r[3] for r in batches if r[0] == schema.TIME_RECORD and r[1] == kind and r[2] >= 2]
        out[key] = [round(sum(values) / len(values), 3) if values else -1]
    out[schema.SUMMARY_WORKER_CPU] = [round(p / info[schema.OP_WORKERS], 2) for p, info in zip(percents, infos)]
    return {**out, **_Remarks(out).all()}


def _mean_of(values: Any) -> float:
    found = list(values)
    return round(sum(found) / len(found), 2) if found else 0


def _queue(info: Json) -> tuple[float, float, float]:
    """Average, usage and emptiness in percent of the output queue; -1 without one."""
    queue = (info[schema.RAW_METRICS] or {}).get(schema.RAW_QUEUE)
    if not queue:
        return -1, -1, -1
    sizes, length = queue[schema.QUEUE_SIZES], queue[schema.QUEUE_LENGTH]
    average = round(sum(sizes) / len(sizes), 2)
    return average, round(100 * average / length, 2), round(100 * sizes.count(0) / len(sizes), 2)


class _Remarks:
    """The analyser's remarks on a summary."""

    def __init__(self, found: dict[str, list[Any]]) -> None:
        self._names, self._types = found[schema.SUMMARY_OPS], found[schema.SUMMARY_TYPES]
        self._usage, self._empty = found[schema.SUMMARY_USAGE], found[schema.SUMMARY_EMPTY]
        self._children, self._workers = found[schema.SUMMARY_CHILDREN], found[schema.SUMMARY_WORKERS]
        self._cpu = found[schema.SUMMARY_WORKER_CPU]

    def all(self) -> dict[str, list[Any]]:
        """Those that apply."""
        warning, suggestion = self._bottleneck()
        cpu = [text for op in self._parallel_operators() for text in self._of_cpu(op)]
        queues = [text for op in self._parallel_operators() for text in self._of_queue(op)]
        found = zip(schema.REMARKS, (cpu, queues, [warning], [suggestion]))
        return {key: texts for key, texts in found if any(texts)}

    def _parallel_operators(self) -> list[int]:
        return [op for op, type_ in enumerate(self._types) if type_ not in _SINGLE]

    def _input(self, op: int) -> int:
        """The nearest operator below that has a queue; -1 without one."""
        while self._children[op]:
            op = self._children[op][0]
            if self._usage[op] != -1:
                return op
        return -1

    def _of_cpu(self, op: int) -> list[str]:
        name, cpu, workers = self._names[op], self._cpu[op], self._workers[op]
        if cpu > _BUSY:
            return [f"{name}: {cpu}% CPU per worker; num_parallel_workers>{workers} may help."]
        if cpu < _LAZY and workers > 1:
            return [f"{name}: {cpu}% CPU per worker; num_parallel_workers={workers} may be more than it needs."]
        return []

    def _of_queue(self, op: int) -> list[str]:
        source, out, name = self._input(op), self._usage[op], self._names[op]
        if self._types[op] == "Batch":
            return []
        if source == -1:
            return [f"{name}: a leaf with {out}% of its output queue used."] if -1 != out < _LEAF else []
        if self._types[op] == "DeviceQueue":
            empty = self._empty[source]
            return [f"{name}: its input queue is empty {empty}% of the time."] if empty > _EMPTY else []
        if out != -1 and self._usage[source] - out > _DIFFERENCE:
            return [f"{name}: {self._usage[source]}% of the input queue and {out}% of the output queue used."]
        return []

    def _bottleneck(self) -> tuple[str, str]:
        """The last hit, from the highest id down."""
        warning, suggestion = "", ""
        for op in reversed(self._parallel_operators()):
            cpu, source = self._cpu[op], self._input(op)
            if self._types[op] == "DeviceQueue":
                continue
            if cpu > _BUSY:
                warning, suggestion = self._names[op], f"{cpu}% CPU per worker: more than {self._workers[op]} workers."
            elif cpu < _LAZY and source != -1:
                inside, out = self._usage[source], self._usage[op]
                if inside < _STARVED or out - inside > _DIFFERENCE:
                    warning, suggestion = self._names[op], f"{cpu}% CPU per worker: a larger prefetch_size."
        return warning, suggestion
