"""Laws of the ledger, on fixtures, recorded runs, mocks of which files are missing, and random tables."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_npu_plugin.analysis.findings.diagnose import diagnose
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.analysis.ledger.chains import chains_of
from tb_npu_plugin.capture.models.catalog import Sizes
from tb_npu_plugin.capture.models.run import Recipe
from tb_npu_plugin.capture.writers.framework import remove
from tb_npu_plugin.capture.writers.options import Options
from tb_npu_plugin.model import Capture
from tests.support.fixtures import FIXTURES
from tests.support.ledger_laws import (
    NOISE,
    check_fewer,
    check_laws,
    check_names_and_order,
    check_stakes,
    exposed_of,
    facts_of,
    with_clock,
)
from tests.support.mock import written
from tests.support.reading import open_spans
from tests.support.real_data import REAL_DATA, skip_without
from tests.support.span import TestSpan, found_spans, table_of

MS, BASE = 1_000_000, 1_700_000_000_000_000_000
QUICK = ("results/kineto_gpu", "results/mindinsight_cluster", "recorded/cluster_db")
RUNS = sorted(
    f"{group}/{path.name}"
    for group in ("demo", "results", "recorded")
    for path in (FIXTURES / group).iterdir()
    if path.is_dir()
)
REAL = ("ascend_pt_text_level1", "ascend_pt_db_level1", "ascend_pt_llm_4ranks", "mindinsight_cluster", "gpu_kineto")


def marks_of(case: Any, quick: Collection[Any]) -> list[Any]:
    """Marks of a case: few are quick."""
    return [] if case in quick else [pytest.mark.full]


# -- random tables ----------------------------------------------------------------------------------
@dataclass(frozen=True)
class Phase:
    """Between two collectives. Times are ns, by rank."""

    computing: tuple[int, ...]
    idle: tuple[int, ...]
    transfer: int


TIMES = st.one_of(st.just(0), st.integers(100_000, 2 * MS), st.integers(5 * MS, 60 * MS))


@st.composite
def phases(draw: st.DrawFn) -> list[Phase]:
    ranks = draw(st.integers(2, 4))
    computing = st.tuples(*[st.integers(MS, 40 * MS)] * ranks)
    return draw(
        st.lists(
            st.builds(Phase, computing, st.tuples(*[TIMES] * ranks), st.integers(50_000, 8 * MS)),
            min_size=2,
            max_size=5,
        )
    )


def ranks_of(run: Sequence[Phase]) -> list[TestSpan]:
    """Each rank computes, idles and meets the others, which all end together. One step."""
    count = len(run[0].computing)
    kernels: list[list[dict[str, Any]]] = [[] for _ in range(count)]
    ops: list[list[dict[str, Any]]] = [[] for _ in range(count)]
    now = [BASE] * count
    for number, phase in enumerate(run):
        for rank in range(count):
            kernels[rank].append(_kernel("MatMul", now[rank], phase.computing[rank]))
            now[rank] += phase.computing[rank] + (phase.idle[rank] if number else 0)
        end = max(now) + phase.transfer
        for rank in range(count):
            name = f"hcom_allReduce__99_{number}_1"
            ops[rank].append({"step": "1", "kind": "collective", "name": name, "group": "99", **_times(now[rank], end)})
            kernels[rank].append(_kernel(name, now[rank], end - now[rank], "COMMUNICATION"))
        now = [end] * count
    return [_span(rank, count, kernels[rank], ops[rank], now[rank] - BASE) for rank in range(count)]


def _times(start: int, end: int) -> dict[str, int]:
    return {"start_ns": start, "elapse_ns": end - start}


def _kernel(name: str, start: int, dur: int, core: str = "AI_CORE") -> dict[str, Any]:
    return {"step": "1", "name": name, "type": name, "core": core, "start_ns": start, "dur_ns": dur}


def _span(rank: int, count: int, kernels: list[dict[str, Any]], ops: list[dict[str, Any]], window: int) -> TestSpan:
    computing = sum(one["dur_ns"] for one in kernels if one["core"] == "AI_CORE")
    exposed = sum(one["elapse_ns"] for one in ops)
    step = {"step": "1", "computing": computing, "communication_not_overlapped": exposed, "overlapped": 0}
    step |= {"communication": exposed, "free": window - computing - exposed, "stage": window, "bubble": 0}
    step |= {"preparing": 0, "start_ns": BASE, "lead_ns": 0}
    rows = {"step_trace": [step], "comm_ops": ops, "kernels": kernels}
    capture = Capture(rank=rank, distributed_args={"world_size": count})
    tables = {name: table_of(name, found) for name, found in rows.items()}
    return TestSpan(tables, capture, token=f"span-{rank}", worker_label=f"rank {rank}")


#: A diagnosis takes ms, so there are fewer examples than elsewhere.
FEW = settings(max_examples=settings.default.max_examples // 4)


@FEW
@given(phases())
def test_random_runs_keep_the_laws(drawn: list[Phase]) -> None:
    spans = ranks_of(drawn)
    run = RunData(spans)
    check_laws(run, diagnose(spans))
    for rank, ledger in enumerate(run.ledgers):
        assert exposed_of(ledger) == int(spans[rank].tables["comm_ops"].ints("elapse_ns").sum()), "2"


@FEW
@given(phases())
def test_waits_of_random_runs_are_the_truth(drawn: list[Phase]) -> None:
    """All starts are known, so each wait is, too."""
    spans = ranks_of(drawn)
    starts = [one.tables["comm_ops"].ints("start_ns") for one in spans]
    for own, ledger in zip(starts, RunData(spans).ledgers):
        waited = int((np.max(starts, axis=0) - own).sum())
        assert abs(ledger.total("waiting") - waited) <= NOISE * len(drawn)


@FEW
@given(phases(), st.lists(st.integers(-3_600_000, 3_600_000), min_size=4, max_size=4))
def test_names_order_and_clocks_of_random_runs_do_not_matter(drawn: list[Phase], clocks: list[int]) -> None:
    spans = ranks_of(drawn)
    check_names_and_order(spans)
    moved = [with_clock(span, 1_000 * us) for span, us in zip(spans, clocks)]
    assert facts_of(moved) == facts_of(spans), "10"


def check_without(drawn: list[Phase], tables: Collection[str], ranks: Collection[int]) -> None:
    """Laws of a run without these tables of these ranks."""
    spans = ranks_of(drawn)
    less = [
        replace(one, tables={key: found for key, found in one.tables.items() if key not in tables or rank not in ranks})
        for rank, one in enumerate(spans)
    ]
    check_laws(RunData(less), diagnose(less))
    check_fewer(RunData(spans), RunData(less))


REMOVED_TABLES = ("comm_ops",), ("kernels",), ("comm_ops", "kernels")


@FEW
@given(phases(), st.sampled_from(REMOVED_TABLES))
def test_random_runs_without_tables_know_less(drawn: list[Phase], tables: tuple[str, ...]) -> None:
    check_without(drawn, tables, range(4))


@pytest.mark.parametrize("tables", REMOVED_TABLES, ids=" ".join)
@FEW
@given(drawn=phases(), ranks=st.sets(st.integers(0, 3), min_size=1, max_size=2))
def test_random_runs_without_tables_of_ranks_know_less(
    tables: tuple[str, ...], drawn: list[Phase], ranks: set[int]
) -> None:
    check_without(drawn, tables, ranks)


@FEW
@given(phases())
def test_findings_of_random_runs_cost_what_their_entries_hold(drawn: list[Phase]) -> None:
    spans = ranks_of(drawn)
    check_stakes(RunData(spans), diagnose(spans))


# -- files ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", [pytest.param(one, marks=marks_of(one, QUICK)) for one in RUNS])
def test_fixtures_keep_the_laws(name: str, tmp_path: Path) -> None:
    for spans in by_run(open_spans(FIXTURES / name, tmp_path)):
        check_file(spans)


@pytest.mark.full
@pytest.mark.parametrize("name", REAL)
def test_real_runs_keep_the_laws(name: str, tmp_path: Path) -> None:
    for spans in by_run(open_spans(skip_without(REAL_DATA / name), tmp_path)):
        check_file(spans)


def check_file(spans: Sequence[Any]) -> None:
    """All laws of one run."""
    run, found = RunData(spans), diagnose(spans)
    check_laws(run, found)
    check_stakes(run, found)
    check_names_and_order(spans)


def by_run(spans: Sequence[Any]) -> list[list[Any]]:
    runs: dict[str, list[Any]] = {}
    for one in spans:
        runs.setdefault(one.run_label, []).append(one)
    return list(runs.values())


SMALL = {"steps": 2, "sizes": Sizes(layers=2, hidden=4096, sequence=4096, micro=2)}
OPTIONS = {"memory": False, "stack": False, "gc_threshold": 0.0}


def _mock(fault: str, ranks: int = 3, pp: int = 1, **options: Any) -> Recipe:
    return Recipe("tiny", ranks, pp=pp, faults=(fault,), options=Options(**OPTIONS, **options), **SMALL)


MOCKS = {
    "slow rank": _mock("slow-rank:1:1.5"),
    "slow rank, Level0": _mock("slow-rank:1:1.5", level=0, metrics="ACL_AICORE_NONE"),
    "slow rank, db": _mock("slow-rank:1:1.5", export=("db",)),
    "collections": _mock("gc-pause:1:20"),
    "slow loader, Level2, one of two": replace(_mock("slow-loader:0:20", 2, level=2), only=(1,)),
    "slow link": _mock("slow-link:0-1:8"),
    "batches": _mock("slow-rank:1:1.5", 2, 2, batches=True),
    "bubble, Level0": _mock("slow-rank:1:1.5", 2, 2, level=0, metrics="ACL_AICORE_NONE"),
}
#: Kinds of files that ledgers and rules use.
REMOVED = (
    "trace",
    "communication",
    "kernels",
    "steps",
    "statistics",
    "tasks",
    "database",
    "analysis",
    "info",
    "metadata",
)
QUICK_REMOVALS = {("slow rank", ("trace",)), ("slow rank", ("communication",))}


def removals() -> list[Any]:
    pairs = [(one,) for one in REMOVED] + [
        ("trace", "communication"),
        ("trace", "kernels"),
        ("communication", "kernels"),
    ]
    every = [(name, kinds) for name in MOCKS for kinds in pairs]
    return [pytest.param(*one, marks=marks_of(one, QUICK_REMOVALS)) for one in every]


@cache
def opened(name: str) -> tuple[RunData, Path]:
    """A mock, read whole, and its folder."""
    folder = written(MOCKS[name])[0]
    run = RunData(open_spans(folder, Path(tempfile.mkdtemp(dir=folder.parent))))
    return run, folder


@pytest.mark.parametrize(("name", "kinds"), removals())
def test_mocks_without_files_know_less(name: str, kinds: tuple[str, ...], tmp_path: Path) -> None:
    before, folder = opened(name)
    less = shutil.copytree(folder, tmp_path / "run")
    count = len(list(less.rglob("*")))
    for capture in less.glob("*_ascend_pt"):
        remove(capture, kinds)
    if len(list(less.rglob("*"))) == count:
        pytest.skip("no such file")
    spans = open_spans(less, tmp_path)
    after = RunData(spans)
    check_laws(after, diagnose(spans))
    check_fewer(before, after)


def test_no_chain_of_a_whole_run_ends_at_an_unprofiled_rank() -> None:
    run = opened("slow rank")[0]
    ends = chains_of(run.communication).total
    assert ends and not [end for end in ends if end[2] == "unprofiled"]


@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=() if one == "slow rank" else pytest.mark.full) for one in MOCKS]
)
def test_clocks_of_mocks_do_not_matter(name: str) -> None:
    """By the tables of the files: times of a trace lie in no table."""
    spans = found_spans(opened(name)[1])
    moved = [with_clock(span, 977 * MS * at) for at, span in enumerate(spans)]
    assert facts_of(moved) == facts_of(spans), "10"


REAL_REMOVALS = {
    "ascend_pt_text_level1": (
        "trace_view.json",
        "communication.json",
        "kernel_details.csv",
        "communication_matrix.json",
    ),
    "ascend_pt_db_level1": ("analysis.db", "ascend_pytorch_profiler_?.db"),
    "ascend_pt_llm_4ranks": ("kernel_details.csv", "communication.json", "step_trace_time.csv"),
}


@pytest.mark.full
@pytest.mark.parametrize(("name", "pattern"), [(name, one) for name, found in REAL_REMOVALS.items() for one in found])
def test_real_runs_without_files_know_less(name: str, pattern: str, tmp_path: Path) -> None:
    source = skip_without(REAL_DATA / name)
    before = RunData(open_spans(source, tmp_path / "whole"))
    less = shutil.copytree(source, tmp_path / "run", ignore=shutil.ignore_patterns(pattern))
    spans = open_spans(less, tmp_path / "less")
    check_laws(RunData(spans), diagnose(spans))
    check_fewer(before, RunData(spans))
