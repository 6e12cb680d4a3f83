"""Step figures of all ranks of a MindSpore job up to 2.2.
Source: docs/facts/mindinsight.md, Units and definitions, Cluster page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Optional

from tb_npu_plugin.analysis.steps.partition import averaged_steps
from tb_npu_plugin.analysis.steps.parts import mean_of
from tb_npu_plugin.tables import Table, nullable

#: Source of a row: our mean of the steps without the first; the average in the file; one step.
Basis = Literal["mean", "recorded", "step"]
ITERATION = ("interval_ns", "fp_bp_ns", "tail_ns", "total_ns")
PARALLEL = ("computation_ns", "communication_alone_ns", "stage_ns", "receive_alone_ns", "collective_alone_ns")
FIGURES = (*ITERATION, *PARALLEL)


@dataclass(frozen=True)
class Row:
    """Figures of a rank, ns by name of FIGURES; None: unknown. `count`: steps in a mean."""

    basis: Basis
    step: Optional[str]
    count: int
    figures: dict[str, Optional[int]]


@dataclass(frozen=True)
class RankCourse:
    """A rank with its rows: mean, recorded average if there is one, steps."""

    rank: Optional[int]
    stage: Optional[int]
    rows: list[Row] = field(default_factory=list)

    def row(self, basis: Basis) -> Row | None:
        """The mean or the recorded average."""
        return next((row for row in self.rows if row.basis == basis), None)


def stage_of(rank: int | None, ranks: int | None, stages: int | None) -> int | None:
    """Pipeline stage of a rank, from 1; each stage has the same number of consecutive ranks."""
    if rank is None or not ranks or not stages or ranks < stages:
        return None
    return min(rank // (ranks // stages), stages - 1) + 1


def course(rank: int | None, stage: int | None, iterations: Table | None, parallel: Table | None) -> RankCourse:
    """Rows of one rank from its step trace and its cluster file; their n-th rows match."""
    both = [_columns(iterations, ITERATION), _columns(parallel, PARALLEL)]
    count = max(len(steps) for steps, _ in both)
    names = [] if iterations is None else [step for step in iterations.text("step").tolist() if step is not None]
    steps = [
        Row(
            "step",
            names[at] if at < len(names) else str(at + 1),
            1,
            _merge([_row_or_empty(steps, at) for steps, _ in both]),
        )
        for at in range(count)
    ]
    used = [steps[at] for at in averaged_steps([None] * count, "points")]
    means = {key: mean_of([row.figures.get(key) for row in used]) for key in FIGURES}
    rows = [Row("mean", None, len(used), means)]
    recorded = _merge([average for _, average in both if average])
    if recorded:
        rows.append(Row("recorded", None, 0, recorded))
    return RankCourse(rank, stage, [*rows, *steps])


Figures = Mapping[str, Optional[int]]


def _columns(table: Table | None, keys: Sequence[str]) -> tuple[list[Figures], Figures]:
    """Figures of each step, and of the recorded average."""
    if table is None:
        return [], {}
    is_average = table.ints("average").tolist()
    rows = [dict(zip(keys, values)) for values in zip(*(nullable(table.ints(key)) for key in keys))]
    steps: list[Figures] = [row for row, average in zip(rows, is_average) if average != 1]
    return steps, next((row for row, average in zip(rows, is_average) if average == 1), {})


def _row_or_empty(rows: Sequence[Figures], at: int) -> Figures:
    return rows[at] if at < len(rows) else {}


def _merge(parts: Sequence[Figures]) -> dict[str, int | None]:
    return {key: value for part in parts for key, value in part.items()}
