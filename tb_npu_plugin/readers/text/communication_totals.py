"""Checks the rollup entry of communication.json against the sums of the operators."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any, Optional

from tb_npu_plugin.messages import Message
from tb_npu_plugin.readers.shared.figures import Figures
from tb_npu_plugin.readers.shared.reading import Reading
from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.schema import torch_npu_json as names
from tb_npu_plugin.tables import Table
from tb_npu_plugin.units import DECIMAL_SIZE_UNITS, TIME_UNITS

# Compares the steps of communication.json and communication_matrix.json.
#
# Both files name each step: each operator has at least one link, the one to its own rank.

#: Main table of a file -> main table and name of the other file.
_OTHER = {
    "comm_ops": ("comm_links", names.COMMUNICATION_MATRIX.name),
    "comm_links": ("comm_ops", names.COMMUNICATION.name),
}


def report_lost_steps(reading: Reading, main: str, own: Table) -> None:
    """Report steps that only one file has, once both are read. main, own: name and content of the main table."""
    other_main, other_file = _OTHER[main]
    other = reading.before.get(other_main)
    if other is None or not len(other) or not len(own):
        return
    other_report = FileReport(reading.log, str(PurePosixPath(reading.relative).with_name(other_file)))
    own_steps, other_steps = (set(table.text("step").values) for table in (own, other))
    for report, lost in ((reading.report, other_steps - own_steps), (other_report, own_steps - other_steps)):
        for step in sorted(lost):
            report.add("lost_key", f"{names.STEP_KEY}{step}", kind=names.STEP_KEY)


_TIME_KEYS = (names.ELAPSE, names.TRANSIT, names.WAIT, names.SYNC, names.IDLE)
_MS, _MB = TIME_UNITS["ms"], DECIMAL_SIZE_UNITS["MB"]
#: Largest difference of a sum, ns or bytes: each operator is rounded, and the file adds floats.
_TOLERANCE = 1_000

_Key = tuple[Optional[str], str, str, str]  # step, kind, transport or "", figure


class Totals:
    """Sums the operators of a file and compares the sums with those in the file."""

    def __init__(self, report: FileReport) -> None:
        self._report = report
        self._figures = Figures(report)
        self._sums: dict[_Key, int] = {}
        self._unknown: set[_Key] = set()
        self._expected: dict[_Key, int] = {}

    def add_times(self, step: str | None, kind: str, values: Sequence[int | None]) -> None:
        """Add the elapsed, transit, wait, synchronization and idle time of one operator (ns)."""
        for name, value in zip(_TIME_KEYS, values):
            self._add((step, kind, "", name), value)

    def add_transport(self, step: str | None, kind: str, transport: str, values: Sequence[int | None]) -> None:
        """Add the bytes and time (ns) of one operator on a transport."""
        for name, value in zip((names.SIZE, names.TRANSIT), values):
            self._add((step, kind, transport, name), value)

    def _add(self, key: _Key, value: int | None) -> None:
        if value is None:
            self._unknown.add(key)
        else:
            self._sums[key] = self._sums.get(key, 0) + value

    def expect(self, step: str | None, kind: str, rollup: dict[str, Any]) -> None:
        """Store the rollup entry of a step and kind for `check`."""
        for name in _TIME_KEYS:
            self._expect((step, kind, "", name), rollup.get(names.COMM_TIME_INFO), _MS)
        transports = rollup.get(names.COMM_BANDWIDTH_INFO)
        for transport, info in transports.items() if isinstance(transports, dict) else ():
            self._expect((step, kind, transport, names.SIZE), info, _MB)
            self._expect((step, kind, transport, names.TRANSIT), info, _MS)

    def _expect(self, key: _Key, info: Any, factor: int) -> None:
        figure = info.get(key[3]) if isinstance(info, dict) else None
        value = self._figures.integer(figure, factor, f"{_place_of(key)}, {key[3]}")
        if value is not None:
            self._expected[key] = value

    def check(self) -> None:
        """Report every sum that differs from the file's. Sums with an unknown summand are not compared."""
        for key, stated in self._expected.items():
            computed = self._sums.get(key, 0)
            if key not in self._unknown and abs(stated - computed) > _TOLERANCE:
                self._report.add(
                    "inconsistent",
                    f"{_place_of(key)}, {key[3]}",
                    expected=Message("expected.operator_sum", value=computed),
                    found=str(stated),
                    kind="total",
                )


def _place_of(key: _Key) -> str:
    step, kind, transport, _ = key
    return ", ".join(part for part in (f"step {step or '?'}", kind, names.COMM_TOTAL, transport) if part)
