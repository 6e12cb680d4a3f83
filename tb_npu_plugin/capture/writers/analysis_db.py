"""analysis.db: steps and communication, worked out; communication_analyzer.db, which msprof exports for MindSpore.
Source: docs/facts/databases.md, analysis.db; docs/facts/ascend_ms.md, Files of the output folder."""

from __future__ import annotations

from tb_npu_plugin.capture.simulation.records import Segment
from tb_npu_plugin.capture.writers.communication import Json, Steps, bandwidths_of, links_of, times_of
from tb_npu_plugin.capture.writers.database import Database, Row
from tb_npu_plugin.capture.writers.files import Output, Writer
from tb_npu_plugin.capture.writers.steps_csv import StepSums
from tb_npu_plugin.schema import mindspore as names
from tb_npu_plugin.schema import torch_npu_db as schema
from tb_npu_plugin.schema import torch_npu_json as words

_TIMES = (words.START, words.ELAPSE, words.TRANSIT, words.WAIT, words.SYNC, words.IDLE)
_MOVED = (words.TRANSPORT, words.SIZE, words.TRANSIT, words.BANDWIDTH_GBS)
_LINK = (words.SIZE, words.TRANSIT, words.BANDWIDTH_GBS, words.LARGE_PACKETS)


class Analysis(Writer):
    """Writes analysis.db; at level 0 it has steps only. Where nothing ran on the device it is not made."""

    def __init__(self, output: Output) -> None:
        self._device, self._sums = output.process.device, StepSums(output)
        self._database = output.database(schema.ANALYSIS_DB, schema.ANALYSIS_TABLES)
        self._steps = Steps(output, self._communication) if output.options.level >= 1 else None

    def add(self, segment: Segment) -> None:
        """Take the next segment."""
        if self._steps is not None:
            self._steps.add(segment)
        self._sums.add(segment)

    def close(self) -> None:
        """Write what is left of the communication, and the steps."""
        if self._steps is not None:
            self._steps.close()
        self._sums.take_overlap()
        rows = [(self._device, "" if step is None else str(step), *sums.values()) for step, sums in self._sums.exact()]
        self._database.add("StepTraceTime", rows)

    def _communication(self, step: str, times: Json, matrix: Json) -> None:
        """One step: contents of communication.json and communication_matrix.json."""
        sums, bandwidths, moved = list[Row](), list[Row](), list[Row]()
        for kind, entries in times.items():
            for key, entry in entries.items():
                if key != words.COMM_TOTAL:
                    found = entry[words.COMM_TIME_INFO], entry[words.COMM_BANDWIDTH_INFO]
                    time, links = _operator_rows(*_name_and_group(key), *found)
                    sums.append((*time, step, kind))
                    bandwidths += [(*row, step, kind) for row in links]
        for kind, entries in matrix.items():
            for key, links in entries.items():
                for link, figures in links.items():
                    sizes = [figures[word] for word in _MOVED]
                    last = step, kind, figures.get(words.OP_NAME, "")
                    moved.append((*_name_and_group(key), *link.split("-"), *sizes, *last))
        _add(self._database, sums, bandwidths, moved)


def _add(database: Database, times: list[Row], bandwidths: list[Row], matrix: list[Row]) -> None:
    database.add("CommAnalyzerTime", times)
    database.add("CommAnalyzerBandwidth", bandwidths)
    database.add("CommAnalyzerMatrix", matrix)


def _name_and_group(key: str) -> tuple[str, str]:
    name, _, group = key.partition("@")
    return name, group


def _operator_rows(name: str, group: str, times: Json, bandwidths: Json) -> tuple[Row, list[Row]]:
    """Row of CommAnalyzerTime and rows of CommAnalyzerBandwidth of one operator, without step and type."""
    rows: list[Row] = []
    for link, figures in bandwidths.items():
        if figures[words.SIZE]:
            packets = figures[words.COMM_SIZE_DISTRIBUTION] or {"0": (0, 0)}
            rows += [
                (name, group, link, *(figures[word] for word in _LINK), float(size), count, ms)
                for size, (count, ms) in packets.items()
            ]
    return (name, group, *(times[word] for word in _TIMES)), rows


class CommunicationDatabase(Writer):
    """communication_analyzer.db, operator by operator; not made without communication."""

    def __init__(self, output: Output) -> None:
        self._database = output.database(names.COMMUNICATION_DB, names.COMMUNICATION_DB_TABLES)

    def add(self, segment: Segment) -> None:
        """Write the operators of one segment."""
        times, bandwidths, matrix = list[Row](), list[Row](), list[Row]()
        for op in segment.comm:
            time, links = _operator_rows(op.name, op.group.id, times_of(op), bandwidths_of(op))
            times.append(time)
            bandwidths += links
            for (src, dst), moved in links_of(op).items():
                entry = moved.entry(None)
                matrix.append((op.name, op.group.id, str(src), str(dst), *(entry[word] for word in _MOVED)))
        _add(self._database, times, bandwidths, matrix)
