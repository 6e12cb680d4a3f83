"""communication_analyzer.db, which msprof exports.
Source: docs/facts/ascend_ms.md, Files of the output folder."""

from __future__ import annotations

from tb_npu_plugin.capture.simulation.records import Segment
from tb_npu_plugin.capture.writers.analysis_db import operator_rows
from tb_npu_plugin.capture.writers.communication_figures import bandwidths_of, links_of, times_of
from tb_npu_plugin.capture.writers.database import Database, Row
from tb_npu_plugin.capture.writers.files import Output
from tb_npu_plugin.schema import mindspore as names
from tb_npu_plugin.schema import torch_npu_json as words


class CommunicationDatabase:
    """communication_analyzer.db, operator by operator; not made without communication."""

    def __init__(self, output: Output) -> None:
        self._path = output.folder / names.COMMUNICATION_DB
        self._database: Database | None = None

    def add(self, segment: Segment) -> None:
        """Write the operators of one segment."""
        if not segment.comm:
            return
        if self._database is None:
            self._database = Database(self._path, names.COMMUNICATION_DB_TABLES)
        times: list[Row] = []
        bandwidths: list[Row] = []
        matrix: list[Row] = []
        for op in segment.comm:
            time, links = operator_rows(op.name, op.group.id, times_of(op), bandwidths_of(op))
            times.append(time)
            bandwidths += links
            for (src, dst), moved in links_of(op).items():
                entry = moved.entry(None)
                figures = (entry[words.SIZE], entry[words.TRANSIT], entry[words.BANDWIDTH_GBS])
                matrix.append((op.name, op.group.id, str(src), str(dst), moved.transport, *figures))
        self._database.add("CommAnalyzerTime", times)
        self._database.add("CommAnalyzerBandwidth", bandwidths)
        self._database.add("CommAnalyzerMatrix", matrix)

    def close(self) -> None:
        """Complete the file."""
        if self._database is not None:
            self._database.close()
