"""Result files with csv and json alone: nothing of tb_npu_plugin is imported, so that it cannot be wrong the same way.

Times are Decimal microseconds with every digit of the file; `ns` makes them integers.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
import sys
from collections import defaultdict
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import pytest

from tests.support.real_data import REAL_DATA, marks_of, skip_without

ROOT = Path(__file__).resolve().parents[2]
REAL_RUN = REAL_DATA / "ascend_pt_text_level1"
COMMUNICATION = ("HCCL", "COMMUNICATION")
FULL = pytest.mark.full
Row = dict[str, str]
Event = dict[str, Any]

csv.field_size_limit(sys.maxsize)


def ns(us: Decimal | str) -> int:
    """Integer ns of microseconds; fails when there are digits below."""
    value = Decimal(us) * 1000
    assert value == int(value), f"{us} us has digits below a ns"
    return int(value)


def number(text: str) -> Decimal | None:
    """A figure of a CSV cell; None for N/A and nothing."""
    return None if text in ("", "N/A") else Decimal(text)


def whole(value: Decimal | str | float | None, factor: int) -> int | None:
    """A figure times its unit, rounded half to even; None for N/A and nothing."""
    if value is None or value in ("", "N/A"):
        return None
    return int((Decimal(str(value)) * factor).to_integral_value(ROUND_HALF_EVEN))


def us(value: Decimal | str | None) -> int | None:
    """us -> ns."""
    return whole(value, 1000)


def ms(value: Decimal | float) -> int:
    """ms -> ns."""
    return whole(value, 1_000_000) or 0


def mean(total: int, count: int) -> int:
    """Mean in whole ns, half to even."""
    return int((Decimal(total) / count).to_integral_value(ROUND_HALF_EVEN))


@dataclass(frozen=True)
class Raw:
    """One `*_ascend_pt` folder."""

    folder: Path

    @property
    def output(self) -> Path:
        """The folder of the parsed files."""
        return self.folder / "ASCEND_PROFILER_OUTPUT"

    def path(self, name: str) -> Path:
        """The file, or the compressed one where only that exists."""
        plain = self.output / name
        packed = plain.with_name(name + ".gz")
        return packed if packed.exists() and not plain.exists() else plain

    def content(self, name: str) -> bytes:
        """Bytes of the file, unpacked."""
        found = self.path(name).read_bytes()
        return gzip.decompress(found) if self.path(name).suffix == ".gz" else found

    def has(self, *names: str) -> bool:
        return all(self.path(name).exists() for name in names)

    @cache  # noqa: B019  (a few dozen folders in one test run)
    def csv(self, name: str) -> list[Row]:
        """Rows by header, cells stripped."""
        with self.path(name).open(newline="", encoding="utf-8") as file:
            rows = csv.reader(file)
            header = [cell.strip() for cell in next(rows)]
            return [dict(zip(header, (cell.strip() for cell in row))) for row in rows]

    @cache  # noqa: B019
    def json(self, name: str) -> Any:
        return json.loads(self.path(name).read_text(encoding="utf-8"))

    # -- trace --------------------------------------------------------------------------------------
    @cached_property
    def events(self) -> list[Event]:
        """Events of the trace; `ts` and `dur` Decimal us."""
        events: list[Event] = json.loads(self.content("trace_view.json"), parse_float=Decimal)
        for event in events:
            for key in ("ts", "dur"):
                if key in event:
                    event[key] = Decimal(event[key])
        return events

    @cached_property
    def exact_ts(self) -> bool:
        """ts is text with every digit; the float of 2023 has steps of 0.25 us."""
        return b'"ts": "' in self.content("trace_view.json")[:100_000]

    @cached_property
    def processes(self) -> dict[int, str]:
        return {e["pid"]: e["args"]["name"] for e in self.events if e["ph"] == "M" and e["name"] == "process_name"}

    @cached_property
    def slices(self) -> list[Event]:
        return [event for event in self.events if event["ph"] == "X"]

    def process(self, *names: str) -> list[Event]:
        """Slices of a process by name, in file order."""
        return [event for event in self.slices if self.processes.get(event["pid"]) in names]

    @cached_property
    def by_place(self) -> dict[tuple[int, int, Decimal], Event]:
        return {(event["pid"], event["tid"], event["ts"]): event for event in self.slices}

    @cached_property
    def steps(self) -> list[tuple[str, Decimal, Decimal]]:
        """(step, start, start of the next step) on the host; [] without a schedule."""
        marks = sorted((e["ts"], e["name"].split("#")[1]) for e in self.slices if e["name"].startswith("ProfilerStep#"))
        ends = [*(ts for ts, _ in marks[1:]), Decimal("Infinity")]
        return [(name, ts, end) for (ts, name), end in zip(marks, ends)]

    def overlap(self, step: str) -> dict[str, list[Event]]:
        """Overlap Analysis rows of one step by name, in file order. Every step ends with the device at rest."""
        start, end = next(((s, e) for name, s, e in self.steps if name == step), (Decimal(0), Decimal("Infinity")))
        if len(self.steps) <= 1:
            start, end = Decimal(0), Decimal("Infinity")
        out: dict[str, list[Event]] = defaultdict(list)
        for event in self.process("Overlap Analysis"):
            if start <= event["ts"] < end:
                out[event["name"]].append(event)
        return out

    # -- kernels ------------------------------------------------------------------------------------
    @cached_property
    def kernels(self) -> list[Row]:
        return self.csv("kernel_details.csv")

    @cached_property
    def computing(self) -> list[Row]:
        return [row for row in self.kernels if row["Accelerator Core"] not in COMMUNICATION]

    @cached_property
    def communicating(self) -> list[Row]:
        return [row for row in self.kernels if row["Accelerator Core"] in COMMUNICATION]


@cache
def raw(folder: Path) -> Raw:
    """One folder, read once in a test run; skips where it is real data that is absent."""
    return Raw(skip_without(folder))


#: Fixtures whose first rank every commit tests: each spelling and each set of files once. The others are `full`.
QUICK = ("cpu_only", "level0", "level2", "metrics_Memory", "no_steps", "old_spellings", "two_ranks", "two_steps")


def every_result(*needs: str) -> list[Any]:
    """Test parameters: all good fixtures that have these files, and both real ranks."""
    from tests.support.fixtures import folders, label

    own = [folder for group in ("results", "demo") for folder in folders(group)]
    quick = {next(folder for folder in own if folder.parent.name == name) for name in QUICK}
    found = {folder: label(folder) for folder in own if Raw(folder).has(*needs)}
    assert found, f"no fixture has {needs}"
    found |= {REAL_RUN / f"rank{rank}_ascend_pt": f"real/rank{rank}" for rank in (0, 1)}
    quick.add(REAL_RUN / "rank1_ascend_pt")
    return [
        pytest.param(path, id=name, marks=(*marks_of(path), *(() if path in quick else (FULL,))))
        for path, name in found.items()
    ]


def folded(name: str) -> tuple[str, ...]:
    """hcom_allReduce__509_0_1 -> hcom_allReduce, 509; trans_TransData_3 -> trans_TransData; Conv2D12 -> Conv2D."""
    operation, of_call, numbers = name.partition("__")
    if of_call and operation.startswith("hcom_"):
        return operation, numbers.partition("_")[0]
    return (re.sub(r"^(trans_TransData)_\d+$|^((?:Conv2D|ReduceSum)[A-Za-z]*)\d+(?=$|_MemSet$)", r"\1\2", name),)
