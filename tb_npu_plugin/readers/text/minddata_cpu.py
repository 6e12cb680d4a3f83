"""Reads the CPU use of MindSpore's data pipeline over time: minddata_cpu_utilization. Source: docs/facts/mindinsight.md, Files."""

from __future__ import annotations

from typing import Any

from tb_npu_plugin.messages import Message
from tb_npu_plugin.readers.shared.figures import Figures, RowBuilder
from tb_npu_plugin.readers.shared.json_file import read_object
from tb_npu_plugin.readers.shared.json_shapes import member, objects, report_lost_keys
from tb_npu_plugin.readers.shared.reading import Reading
from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.schema import minddata as files
from tb_npu_plugin.schema.columns import columns_of
from tb_npu_plugin.tables import Table
from tb_npu_plugin.units import TIME_UNITS, float_or_none


def read_cpu(reading: Reading) -> dict[str, Table]:
    """Return `minddata_cpu`: percent of the machine (0 to 100), and percent of one core for process and operators. The
    first stamp is the base of the first sample: there is one value less than stamps, or the first value is 0."""
    report = reading.report
    value = read_object(reading, exact=True)
    if value is None:
        return {}
    report_lost_keys(report, value, files.CPU_KEYS, "")
    found = _Samples(report, member(report, value, files.CPU_STAMPS, list))
    machine = member(report, value, files.CPU_DEVICE, dict)
    report_lost_keys(report, machine, files.CPU_MACHINE_KEYS, files.CPU_DEVICE)
    found.detect_base(machine)
    found.add(files.SCOPE_MACHINE, None, machine)
    found.add(files.SCOPE_PROCESS, None, member(report, value, files.CPU_PROCESS, dict))
    for item in objects(report, value, files.CPU_OPS):
        op_id = found.figures.whole(item.get(files.OP_ID), files.OP_ID)
        known = op_id if op_id is not None and op_id >= 0 else None
        found.add(files.SCOPE_OP, known, member(report, item, files.CPU_METRICS, dict))
        report.count("entries", shown=1)
    return {"minddata_cpu": found.rows.table()}


class _Samples:
    """Collects the rows of `minddata_cpu`. stamps: times of the samples, ms as text."""

    def __init__(self, report: FileReport, stamps: list[Any]) -> None:
        self._report = report
        self.figures = Figures(report)
        self._stamps = [self.figures.integer(stamp, TIME_UNITS["ms"], files.CPU_STAMPS) for stamp in stamps]
        self._has_base = False
        self.rows = RowBuilder(columns_of("minddata_cpu"))

    def detect_base(self, machine: dict[str, Any]) -> None:
        """Detect whether the first sample is the base: its shares are all 0, those of a real sample add up to 100."""
        first = [values[0] for values in self._series(machine).values() if values]
        self._has_base = bool(first) and all(isinstance(one, str) and float_or_none(one) == 0 for one in first)

    def add(self, scope: str, op_id: int | None, info: dict[str, Any]) -> None:
        """Add the series of one scope."""
        series = self._series(info)
        length = max(len(values) for values in series.values())
        before = len(self._stamps) - length
        if before < 0:
            self._report.add(
                "unexpected_shape",
                f"{scope}, {files.CPU_STAMPS}",
                expected=Message("expected.stamps", count=length),
                found=str(len(self._stamps)),
                kind=files.CPU_STAMPS,
            )
        base = self._stamps[0] if self._stamps else None
        for row in range(int(self._has_base and before == 0), length):
            stamp = self._stamps[before + row] if before >= 0 else None
            # A shorter series lacks its first values.
            each = (values[row - length] if length - row <= len(values) else None for values in series.values())
            self.rows.add(
                scope,
                op_id,
                None if stamp is None or base is None else stamp - base,
                *(self.figures.real(one, f"value {row}, {scope}") for one in each),
            )

    def _series(self, info: dict[str, Any]) -> dict[str, list[Any]]:
        series = {key: member(self._report, info, name, list) for key, name in files.CPU_FIGURES.items()}
        count = len(self._stamps)
        is_padded = max(map(len, series.values())) == 2 * count and not any(
            float_or_none(one) for values in series.values() for one in values[1::2] if isinstance(one, str)
        )
        # MindSpore 2.10 writes a 0 after each figure of the machine, and cuts some series to the number of stamps.
        if not is_padded:
            return series
        return {key: [*values[::2], *[None] * count][:count] if values else [] for key, values in series.items()}
