"""Laws of the ledger, on any run: fixtures, recorded runs, mocks of which files are missing, and random tables.

1: entries sum to the step. 2: waiting and transfer are exposed communication, and no finding costs more than its entries hold.
5: no culprit waits. 6: with fewer files nothing is better known. 8: what is healthy. 10: names, order and clocks do not matter.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase as Phases
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_npu_plugin.analysis.findings.diagnose import Diagnosis, diagnose
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.analysis.ledger.chains import chains_of
from tb_npu_plugin.analysis.ledger.model import RankLedger
from tb_npu_plugin.capture.models.catalog import Sizes
from tb_npu_plugin.capture.models.run import Recipe
from tb_npu_plugin.capture.writers.dialect import Options
from tb_npu_plugin.capture.writers.kinds import remove
from tb_npu_plugin.model import Capture, SpanData
from tb_npu_plugin.tables import Kind, Table, known
from tests.support.fixtures import FIXTURES
from tests.support.mock import written
from tests.support.reading import open_spans
from tests.support.real_data import REAL_DATA, skip_without
from tests.support.span import TestSpan, found_spans, table_of
from tests.truth.judge import waiting_culprits

MS, BASE = 1_000_000, 1_700_000_000_000_000_000
#: Sums of files that write us.
ROUNDING = 1_000
#: A shorter wait is noise (of Notify Waits 0.028 ms at most). Those of a trace end up to 0.1 ms after the last start.
NOISE, LATER = 50_000, 100_000
EXPOSED = ("waiting", "transfer", "communication")
FREE = ("idle", "unexplained")
#: Part of a step that a finding would shorten -> the entries that hold it.
PARTS: dict[str, tuple[str, ...]] = {
    "computing": ("computing",),
    "waiting": EXPOSED,  # without the wait, hidden transfers would be hidden again
    "communication": EXPOSED,
    "bubble": EXPOSED,
    "free": FREE,
    "preparing": FREE,
}
QUICK = ("results/kineto_gpu", "results/mindinsight_cluster", "recorded/cluster_db")
RUNS = sorted(
    f"{group}/{path.name}"
    for group in ("demo", "results", "recorded")
    for path in (FIXTURES / group).iterdir()
    if path.is_dir()
)
FAILING_FIXTURES = {
    "results/mindspore_windows": "an entry of unexplained idle time below 0",
    **dict.fromkeys(
        [f"results/{name}" for name in ("two_ranks", "mindspore_two_ranks", "mindspore_same_rank")],
        "kernels on the AI CPU cost more than all computing",
    ),
}
REAL = ("ascend_pt_text_level1", "ascend_pt_db_level1", "ascend_pt_llm_4ranks", "mindinsight_cluster", "gpu_kineto")


def marks_of(case: Any, quick: Collection[Any], failing: Mapping[Any, str]) -> list[Any]:
    """Marks of a case: few are quick, and some fail today."""
    marks: list[Any] = [] if case in quick else [pytest.mark.full]
    return [*marks, pytest.mark.xfail(strict=False, reason=failing[case])] if case in failing else marks


def check_laws(run: RunData, found: Diagnosis) -> None:
    """Laws of any run that need no other."""
    for ledger in run.ledgers:
        assert sum(one.ns for one in ledger.entries) == ledger.window_ns, "1"
        assert all(0 <= one.low_ns <= one.ns <= one.high_ns <= ledger.window_ns for one in ledger.entries), "1"
    assert not waiting_culprits(run), "5"
    is_healthy = all(map(is_healthy_of, [one for one in run.ledgers if one.window_ns]))
    if run.judgement.kind != "unknown":
        assert (run.judgement.kind == "healthy") == is_healthy, "8"
    assert found.verdict.rule != "healthy" or (is_healthy and run.ledgers), "8"


def check_stakes(run: RunData, found: Diagnosis) -> None:
    """Law 2: no finding costs more than its entries hold."""
    for one in found.findings if run.ledgers else ():
        most = max(high_of(ledger, PARTS[one.part]) for ledger in run.ledgers)
        most += max(ledger.before_ns for ledger in run.ledgers) * (one.part in ("free", "preparing"))
        assert one.cost_ns <= most + ROUNDING, f"2: {one.rule}, {one.part}"


def high_of(ledger: RankLedger, kinds: Sequence[str]) -> int:
    """Upper bound of these entries together: bounds of exposed communication share it."""
    found = [one for one in ledger.entries if one.entry in kinds]
    high = sum(one.high_ns for one in found)
    return min(high, exposed_of(ledger)) if set(kinds) <= {*EXPOSED} else high


def exposed_of(ledger: RankLedger) -> int:
    return sum(one.ns for one in ledger.entries if one.entry in EXPOSED)


def is_healthy_of(ledger: RankLedger) -> bool:
    """Law 8: all losses below 10 % of the step, each below 5 %."""
    losses = [one.high_ns for one in ledger.entries if one.entry != "computing"] + [ledger.before_ns]
    others = sum(one.high_ns for one in ledger.entries if one.entry not in ("computing", *EXPOSED)) + ledger.before_ns
    return others + exposed_of(ledger) < 0.1 * ledger.window_ns and max(losses) < 0.05 * ledger.window_ns


def facts_of(spans: Sequence[SpanData]) -> list[Any]:
    """All that the ledgers and the verdict say, by rank."""
    run = RunData(spans)
    ledgers = sorted(
        (one.rank if one.rank is not None else -1, one.device_id or 0, one.window_ns, one.before_ns, one.entries)
        for one in run.ledgers
    )
    judgement = run.judgement
    rank = None if judgement.ledger is None else judgement.ledger.rank
    return [ledgers, judgement.kind, rank, judgement.entry, sorted(judgement.culprits), judgement.stage]


class Renamed:
    """A span of another folder."""

    def __init__(self, span: Any, name: str) -> None:
        self._span, self.token, self.worker_label = span, f"{name}-{span.token}", name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._span, name)


def check_names_and_order(spans: Sequence[Any]) -> None:
    """Law 10 for folders: other names, the other order."""
    others = [Renamed(one, f"folder {len(spans) - at}") for at, one in enumerate(spans)]
    assert facts_of(others[::-1]) == facts_of(spans), "10"


def with_clock(span: TestSpan, ns: int) -> TestSpan:
    """A rank with another clock."""
    return replace(span, tables={key: _with_clock(table, ns) for key, table in span.tables.items()})


def _with_clock(table: Table, ns: int) -> Table:
    data: dict[str, Any] = {}
    for column in table.columns:
        values: Any = table.data[column.key]
        data[column.key] = np.where(known(values), values + ns, values) if column.kind is Kind.TIME else values
    return Table(table.columns, data)


def check_fewer(before: RunData, after: RunData) -> None:
    """Law 6: before with all files, after without some."""
    old, new = before.judgement, after.judgement
    root, culprits = root_of(before), root_of(after)
    assert not culprits or root, f"6: nobody, then {culprits}"
    assert not culprits or root <= culprits, f"6: {root}, then {culprits}"
    assert new.kind != "healthy" or old.kind in ("healthy", "unknown"), f"6: {old.kind}, then healthy"
    ledgers = {one.rank: one for one in after.ledgers}
    for one in before.ledgers:
        less = ledgers.get(one.rank)
        if less is None or abs(less.window_ns - one.window_ns) > ROUNDING:
            continue  # other files hold other steps
        for kinds in (("computing",), ("waiting",), ("transfer",), EXPOSED, FREE):
            low, high = bounds_of(less, kinds)
            error = LATER * operators_of(before, one) if kinds in (("waiting",), ("transfer",)) else ROUNDING
            is_inside = low - error <= one.total(*kinds) <= high + error  # type: ignore[arg-type]
            assert is_inside, f"6: rank {one.rank} {kinds}: {one.total(*kinds)}, then {low} .. {high}"  # type: ignore[arg-type]


def root_of(run: RunData) -> set[Any]:
    """Ranks that the verdict is about: whom the others wait for, or who idles of several."""
    found = run.judgement
    is_idle = found.entry is not None and found.entry.entry in FREE and len(run.ledgers) > 1
    return {*found.culprits} or ({found.ledger.rank} if is_idle and found.ledger is not None else set())


def operators_of(run: RunData, ledger: RankLedger) -> int:
    """Communication operators of a step."""
    tables = [
        table
        for line, table in zip(run.communication.lines, run.communication.collectives)
        if line.span is ledger.span and table is not None
    ]
    return sum(map(len, tables)) // run.step_count


def bounds_of(ledger: RankLedger, kinds: Sequence[str]) -> tuple[int, int]:
    """Least and largest sum of these entries; communication may be waiting or transfer."""
    low = sum(one.low_ns for one in ledger.entries if one.entry in kinds)
    if kinds == EXPOSED:
        return (exposed_of(ledger),) * 2
    either = ledger.total("communication") if kinds[0] in EXPOSED else 0
    return low, high_of(ledger, kinds) + either


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


#: A diagnosis takes ms, so there are fewer examples than elsewhere. What fails today is not made smaller, which takes minutes.
FEW = settings(max_examples=settings.default.max_examples // 4)
FAILS = settings(FEW, phases=[Phases.explicit, Phases.generate])


@FEW
@given(phases())
def test_random_runs_keep_the_laws(drawn: list[Phase]) -> None:
    spans = ranks_of(drawn)
    run = RunData(spans)
    check_laws(run, diagnose(spans))
    for rank, ledger in enumerate(run.ledgers):
        assert exposed_of(ledger) == int(spans[rank].tables["comm_ops"].ints("elapse_ns").sum()), "2"


@pytest.mark.xfail(
    strict=False, reason="waits below 0.2 ms or 10 % of their operator count as none (lateness.LEAST_WAIT_NS)"
)
@FAILS
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


def check_without(drawn: list[Phase], table: str, ranks: Collection[int]) -> None:
    """Laws of a run without a table of these ranks."""
    spans = ranks_of(drawn)
    less = [
        replace(one, tables={key: found for key, found in one.tables.items() if key != table or rank not in ranks})
        for rank, one in enumerate(spans)
    ]
    check_laws(RunData(less), diagnose(less))
    check_fewer(RunData(spans), RunData(less))


@FEW
@given(phases(), st.sampled_from(("comm_ops", "kernels")))
def test_random_runs_without_a_table_know_less(drawn: list[Phase], table: str) -> None:
    check_without(drawn, table, range(4))


@pytest.mark.parametrize(
    "table",
    [
        pytest.param(
            "comm_ops",
            marks=pytest.mark.xfail(strict=False, reason="waits for a rank without starts are exact, and too short"),
        ),
        pytest.param("kernels", marks=pytest.mark.xfail(strict=False, reason="another rank is the culprit")),
    ],
)
@FAILS
@given(drawn=phases(), ranks=st.sets(st.integers(0, 3), min_size=1, max_size=1))
def test_random_runs_without_a_table_of_a_rank_know_less(table: str, drawn: list[Phase], ranks: set[int]) -> None:
    check_without(drawn, table, ranks)


@pytest.mark.xfail(strict=False, reason="an idle straggler costs all its idle time, although the others wait for less")
@FAILS
@given(phases())
def test_findings_of_random_runs_cost_what_their_entries_hold(drawn: list[Phase]) -> None:
    spans = ranks_of(drawn)
    check_stakes(RunData(spans), diagnose(spans))


# -- files ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", [pytest.param(one, marks=marks_of(one, QUICK, FAILING_FIXTURES)) for one in RUNS])
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
_SHORTEST = "what a rank communicates exposed beyond the shortest one may be transfer that the shortest one hides"
FAILING_REMOVALS = {
    **dict.fromkeys(
        [(name, ("communication", "kernels")) for name in ("slow rank", "collections", "slow link")], _SHORTEST
    ),
    **dict.fromkeys(
        [("slow rank, Level0", (*more, "kernels")) for more in ((), ("trace",), ("communication",))], _SHORTEST
    ),
    ("slow loader, Level2, one of two", ("kernels",)): "a culprit that more files do not name",
}
QUICK_REMOVALS = {("slow rank", ("trace",)), ("slow rank", ("communication",))}


def removals() -> list[Any]:
    pairs = [(one,) for one in REMOVED] + [
        ("trace", "communication"),
        ("trace", "kernels"),
        ("communication", "kernels"),
    ]
    every = [(name, kinds) for name in MOCKS for kinds in pairs]
    return [pytest.param(*one, marks=marks_of(one, QUICK_REMOVALS, FAILING_REMOVALS)) for one in every]


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


@pytest.mark.xfail(strict=False, reason="a trace names peers as unprofiled that are profiled (waiting.waits_of_ranks)")
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
