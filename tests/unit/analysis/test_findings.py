"""Rules of the diagnosis on hand-made figures: what is named, and what is not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Optional

import pytest

from tb_npu_plugin.analysis.communication.statistics import Link
from tb_npu_plugin.analysis.findings import diagnose as diagnosis
from tb_npu_plugin.analysis.findings import input_bound, pipeline, slow_link, straggler, unprofiled_rank
from tb_npu_plugin.analysis.findings.diagnose import at_stake, diagnose
from tb_npu_plugin.analysis.findings.model import Confidence, Finding, Rule, Subject, severity_of
from tb_npu_plugin.analysis.findings.outliers import outliers, over_median
from tb_npu_plugin.analysis.findings.pipeline import StageTimes, stage_times
from tb_npu_plugin.analysis.findings.rank_totals import RankTotals
from tb_npu_plugin.analysis.findings.recorded import lacks_times
from tb_npu_plugin.analysis.findings.registry import RULES
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.analysis.ledger.judge import Judgement
from tb_npu_plugin.analysis.ledger.model import ChainEnd, Entry, EntryKind, RankLedger
from tb_npu_plugin.analysis.run.communication import Hold, RunCommunication
from tb_npu_plugin.analysis.run.late_peers import LatePeer
from tb_npu_plugin.messages import Message
from tb_npu_plugin.model import Capture
from tb_npu_plugin.problems import Problem
from tests.support.span import TestSpan, table_of

MS = 1_000_000
TIMES = {"computing": 60, "free": 10}
#: Exposed communication of a rank in ms, and what else is unusual.
Rank = tuple[Optional[float], dict[str, Any]]


def run_of(ranks: Sequence[Rank], stages: Sequence[int | None] = (), **more: Any) -> RunData:
    """A step of 100 ms with 60 ms of computing, if a rank communicates for 30."""
    run, lines = RunData([]), []
    for number, (communication, unusual) in enumerate(ranks):
        times = {**TIMES, "communication_not_overlapped": communication, **unusual}
        scaled = {
            key: value if value is None or key == "repeats" else round(value * MS) for key, value in times.items()
        }
        span = TestSpan(capture=Capture(rank=number), token=f"s{number}")
        lines.append(RankTotals(span, None, stages[number] if stages else None, **scaled))
    longest = max((line.whole_ns for line in lines), default=0)
    times = {"step_times": [(None, longest)], "whole_step_times": [longest]}
    more = {"stage_count": max([1, *(stage or 1 for stage in stages)]), **more}
    vars(run).update({"lines": lines, "budgets": [], "links": [], **times, **more})
    return run


def named(run: RunData) -> list[str]:
    return [f"{one.message.code.rpartition('.')[2]} {one.subject.rank}" for one in straggler.find(run)]


def kernels(taken: float, expected: float) -> dict[str, Any]:
    return {"same_kernels": taken, "same_kernels_expected": expected}


SLOW = [(30, kernels(50, 50)), (30, kernels(50, 51)), (30, kernels(75, 50)), (30, kernels(50, 49))]


@pytest.mark.parametrize(
    ("ranks", "stages", "expected"),
    [
        ([(30, {}), (2, {}), (25, {})], (), []),
        (SLOW, (1, 2, 3, 4), ["slower_kernels 2"]),
        (SLOW, (1, 1, 2, 2), ["slower_kernels 2"]),
        (SLOW, (), []),
        ([*SLOW[:2], (30, kernels(54, 50)), SLOW[3]], (1, 2, 3, 4), []),
        ([(30, kernels(75, 50)), (30, kernels(50, 75))], (1, 2), ["slower_kernels 0"]),
        ([*SLOW[:2], (30, kernels(20, 10)), SLOW[3]], (1, 2, 3, 4), []),
        ([(30, {"computing": 90}), (30, {}), (30, {}), (30, {})], (), ["computes 0"]),
        ([(30, {"computing": 65}), (30, {}), (30, {}), (30, {})], (), []),
        ([(30, {"computing": 90}), (30, {}), (30, {}), (30, {"computing": 200})], (1, 1, 1, 2), ["computes_stage 0"]),
    ],
)
def test_stragglers(ranks: list[Rank], stages: tuple[int, ...], expected: list[str]) -> None:
    assert named(run_of(ranks, stages)) == expected


def test_a_straggler_costs_what_it_computes_longer_and_is_the_verdict() -> None:
    run = run_of([(30, {"computing": 90}), (55, {}), (55, {}), (55, {})])
    (found,) = straggler.find(run)
    assert (found.cost_ns, found.part, found.confidence.ranks) == (30 * MS, "waiting", 1)
    assert found.message == "Rank 0 is the straggler: it computes for 90.00 ms, 50 % above the median rank."


@pytest.mark.parametrize(("rank", "worker"), [(0, None), (None, "worker a")])
def test_a_straggler_without_a_rank_is_named_by_its_worker(rank: Optional[int], worker: Optional[str]) -> None:
    run = run_of([(30, {"computing": 90}), (55, {}), (55, {}), (55, {})])
    span = TestSpan(capture=Capture(rank=rank), token="s0", worker_label="worker a")
    run.lines[0] = replace(run.lines[0], span=span)
    (found,) = straggler.find(run)
    assert (found.subject.rank, found.subject.worker) == (rank, worker)


def test_an_observer_without_a_rank_is_named_by_its_worker() -> None:
    run = run_of([(30, {}), (30, {})])
    run.lines[1] = replace(run.lines[1], span=TestSpan(worker_label="worker a"))
    idle = Entry("idle", "late", 30 * MS, 30 * MS, 30 * MS)
    waiting = replace(idle, entry="waiting", detail="collective", culprit=0, chain=[ChainEnd(0, "idle", 30 * MS)])
    own = replace(waiting, ns=5 * MS, culprit=1, chain=[])
    ledgers = [
        RankLedger(line.span, None, 100 * MS, 0, 0, 0, 0, entries)
        for line, entries in zip(run.lines, ((idle, own), (waiting,)))
    ]
    vars(run).update(ledgers=ledgers, judgement=Judgement("loss", ledgers[1], waiting, (0,)), is_marked=True)
    (found,) = straggler.find(run)
    assert (found.message.params["observer"], found.cost_ns) == ("worker a", 25 * MS), "it waits for 5 ms itself"


def test_a_straggler_is_shown_while_the_others_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_of([(30, {"computing": 90}), (55, {}), (55, {}), (55, {})])
    monkeypatch.setattr(RunCommunication, "longest_hold", lambda self, span: Hold("7", 5, 9) if span == "s0" else None)
    distributed, trace = straggler.find(run)[0].evidence
    assert (distributed.view, distributed.step) == ("distributed", "7")
    assert (trace.view, trace.span, trace.start_ns, trace.end_ns, trace.step) == ("trace", "s0", 5, 9, "7")


def test_a_run_without_data_is_neither_healthy_nor_ill() -> None:
    found = diagnose([])
    assert (found.verdict.rule, found.findings, found.at_stake_ns) == ("unknown", [], 0)
    assert {one.rule for one in found.unchecked} >= {"straggler", "input_bound"}


STEP = {"step": "1", "computing": 60, "communication_not_overlapped": 0, "communication": 0, "free": 40, "stage": 100}


@pytest.mark.parametrize(
    ("format", "step", "operators", "reasons"),
    [
        ("torch_npu", {}, ["aten::mm", "autograd::engine::evaluate_function: MmBackward0"], ["device", "ranks"]),
        ("torch_npu", {"communication": 5}, ["aten::mm", "MmBackward0"], ["device"]),
        ("torch_npu", {"communication": None}, [], ["device"]),
        ("torch_npu", {"communication": 5}, ["aten::mm", "aten::relu"], ["device", "training"]),
        ("kineto", {"communication": 5}, ["MmBackward0"], ["device"]),
        ("mindspore_cpu", {}, ["MmBackward0"], ["devices"]),
    ],
)
def test_a_rule_about_what_a_run_does_not_have_is_not_checked(
    format: str, step: dict[str, Any], operators: list[str], reasons: list[str]
) -> None:
    tables = {"step_trace": table_of("step_trace", [{**STEP, **step}])}
    if operators:
        tables["operators"] = table_of("operators", [{"name": name} for name in operators])
    found = diagnose([TestSpan(tables, Capture(rank=0), format=format)])
    left = {one.rule: one.missing.code for one in found.unchecked if one.reason == "not_applicable"}
    assert {code.rpartition("_")[2] for code in left.values()} - {"host", "points"} == set(reasons)
    assert found.checked == len(RULES) - len(found.unchecked)
    assert ("launch_bound" in left, "ai_cpu" in left) == (format != "kineto", format != "torch_npu")
    assert ("straggler" in left) == ("ranks" in reasons or "devices" in reasons)
    assert (left.get("optimizer") == "unchecked.for_training") == ("training" in reasons)


COLLECTIVES = {"slow_link", "small_packets", "contention", "retransmission", "byte_alignment", "expert_imbalance"}
OF_RANKS = {"straggler", "unprofiled_rank", "stage_imbalance", "bubble", "exposed_communication", *COLLECTIVES}
MEMORY = {"fragmentation", "leak", "peak_holders"}
KERNELS = {
    *("ai_cpu", "block_dim", "compute_bound", "dynamic_shapes", "format_conversions", "frequency_drop", "fusion"),
    *("memory_bound", "optimizer", "under_utilised"),
}


@pytest.mark.parametrize(
    ("format", "communication", "operators", "expected"),
    [
        ("torch_npu", 5, ["aten::mm", "MmBackward0"], {"device": {"launch_bound"}}),
        ("torch_npu", 5, ["aten::mm"], {"device": {"launch_bound"}, "training": {"bubble", "optimizer"}}),
        ("torch_npu", 0, ["aten::mm"], {"device": {"launch_bound"}, "training": {"optimizer"}, "ranks": OF_RANKS}),
        (
            "kineto",
            5,
            ["MmBackward0"],
            {"device": {*COLLECTIVES, *KERNELS, *MEMORY, "operator_compile", "core_binding"}},
        ),
        ("mindspore_cpu", 0, ["MmBackward0"], {"devices": {rule.id for rule in RULES}}),
    ],
)
def test_the_rules_that_do_not_apply(
    format: str, communication: int, operators: list[str], expected: dict[str, set[str]]
) -> None:
    tables = {
        "step_trace": table_of("step_trace", [{**STEP, "communication": communication}]),
        "operators": table_of("operators", [{"name": name} for name in operators]),
    }
    run, found = RunData([TestSpan(tables, Capture(rank=0), format=format)]), dict[str, set[str]]()
    for rule in RULES:
        if (left := rule.inapplicable(run)) is not None:
            found.setdefault(left.missing.code.rpartition("_")[2], set()).add(rule.id)
    assert found == expected


@pytest.mark.parametrize(
    ("values", "groups", "expected"),
    [
        ([10, 10, 11], [0, 0, 0], []),
        ([10, 10, 11.1], [0, 0, 0], [2]),
        ([10, 20], [0, 0], []),
        ([10, 10, 20, 50], [0, 0, 0, 1], [2]),
        ([10, 10, 20, 50], [0, 0, 0, None], [2]),
        ([10, 10, None, 20], [0, 0, 0, 0], [3]),
        ([10, 10, 10, 20, 20], [0] * 5, [3, 4]),
        ([10, 10, 10, 20, 30], [0] * 5, [4, 3]),
        ([10, 10, 10, 10, 11.5, 20], [0] * 6, [5, 4]),
        ([10, 10, 10, 10.9, 11.5, 20], [0] * 6, [5]),
        ([0, 0, 1], [0, 0, 0], []),
        ([10, 10, 20, 5, 5, 20], [0, 0, 0, 1, 1, 1], [5, 2]),
    ],
)
def test_outliers(values: list[Optional[float]], groups: list[Optional[int]], expected: list[int]) -> None:
    assert [one.place for one in outliers(values, groups)] == expected


def test_values_over_the_median_of_their_group() -> None:
    found = over_median([10, 20, 10, 7, 7, None, 5, 0], [0, 0, 0, 1, 1, 1, None, 0])
    assert found == [1.0, 2.0, 1.0, None, None, None, None, 0.0]
    assert over_median([0, 0, 1], [0, 0, 0]) == [None, None, None]


@pytest.mark.defect
def test_a_rule_that_fails_costs_itself_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(run: RunData) -> list[Finding]:
        raise ValueError

    rules = Rule("broken", "host", fail, lambda run: None), input_bound.RULE
    monkeypatch.setattr(diagnosis, "RULES", rules)
    found = diagnose([])
    assert [(one.rule, one.missing.code) for one in found.unchecked] == [
        ("broken", "unchecked.defect"),
        ("input_bound", "unchecked.no_operators"),
    ]


COST = Finding("r", "host", Subject(), Message("verdict.unknown"), 5 * MS, "free", Confidence("measured"))


@pytest.mark.parametrize(
    ("findings", "expected"),
    [
        ([COST, COST], 5),
        ([COST, replace(COST, part="waiting")], 10),
        ([replace(COST, costs={"gc": 5 * MS}), replace(COST, costs={"sync": 4 * MS})], 9),
        ([replace(COST, costs={"gc": 5 * MS}), replace(COST, costs={"gc": 3 * MS, "sync": MS})], 6),
        ([COST, replace(COST, costs={"gc": 4 * MS})], 5),
        ([COST, replace(COST, part="waiting", causes=("r",))], 5),
        ([replace(COST, part="computing", cost_ns=200 * MS)], 100),
    ],
)
def test_no_time_is_at_stake_twice(findings: list[Finding], expected: float) -> None:
    assert at_stake(findings, run_of([], step_ns=100 * MS)) == expected * MS


@pytest.mark.parametrize(
    ("cost_ns", "expected"), [(5 * MS, "high"), (5 * MS - 1, "medium"), (3 * MS, "medium"), (3 * MS - 1, "low")]
)
def test_a_severity_begins_at_its_share_of_the_step(cost_ns: int, expected: str) -> None:
    assert severity_of(replace(COST, cost_ns=cost_ns), 100 * MS) == expected


def test_idle_time_of_short_steps_is_low() -> None:
    ranks = [replace(COST, part=part) for part in ("free", "computing")]
    assert [severity_of(one, round(step * MS)) for step in (4.999_999, 5, 200) for one in ranks] == [
        "low",
        "high",
        "high",
        "high",
        "low",
        "low",
    ]


LINK = Link(None, "1", "g", "allReduce", 0, 1, 0, 1, "HCCS", 100 * MS, 10 * MS, 10.0, 4)


def mesh(*slow: tuple[int, int, float]) -> list[Link]:
    """Links between four ranks at 10 GB/s, some of them slower."""
    speeds = {(src, dst): speed for src, dst, speed in slow}
    return [
        replace(LINK, src_rank=src, dst_rank=dst, time_ns=round(100 * MS / speeds.get((src, dst), 10.0)))
        for src in range(4)
        for dst in range(4)
        if src != dst
    ]


def small_pieces() -> list[Link]:
    """The mesh with pieces of a tenth of the size."""
    return [replace(link, calls=40) for link in mesh()]


def large_pieces(speed: float) -> list[Link]:
    """Two links alone with their piece size, at this speed."""
    pairs = ((4, 5), (5, 4))
    return [replace(LINK, src_rank=src, dst_rank=dst, time_ns=round(100 * MS / speed)) for src, dst in pairs]


@pytest.mark.parametrize(
    ("links", "expected"),
    [
        (mesh(), []),
        (mesh((2, 1, 2.5)), [(2, 1)]),
        (mesh((2, 1, 2.5), (1, 2, 2.0)), [(1, 2)]),
        ([*small_pieces(), *large_pieces(3.0)], [(4, 5)]),
        ([*small_pieces(), *large_pieces(6.0)], []),
        (mesh((2, 1, 8.5)), []),
        ([replace(link, transport="LOCAL") for link in mesh((2, 1, 2.5))], []),
        ([replace(link, size_bytes=90_000, time_ns=link.time_ns) for link in mesh((2, 1, 2.5))], []),
        ([replace(link, size_bytes=90_000, step=step) for link in mesh((2, 1, 2.5)) for step in ("1", "2")], []),
        (mesh((2, 1, 2.5))[:2], []),
        ([replace(LINK, time_ns=25 * MS)], [(0, 1)]),
        ([replace(LINK, time_ns=11 * MS)], []),
        ([replace(link, op_type=str(number)) for number, link in enumerate(mesh((2, 1, 2.5)))], []),
    ],
    ids=[
        "alike",
        "slow",
        "both ways",
        "larger pieces, slower",
        "larger pieces, nearly as fast",
        "a little",
        "in the device",
        "small",
        "small in each step",
        "few",
        "alone, far below the usual",
        "alone, nearly as usual",
        "other operators",
    ],
)
def test_slow_links(links: list[Link], expected: list[tuple[int, int]]) -> None:
    found = slow_link.find(run_of([], links=links))
    assert [one.subject.link for one in found] == expected
    assert all(one.cost_ns == round(one.cost_ns) > 0 for one in found)


def sent(name: str, group: str, milliseconds: int) -> dict[str, Any]:
    """An operator that moves 100 MB in a group."""
    return {
        "name": name,
        "group": group,
        "transport": "HCCS",
        "rollup": 0,
        "size_bytes": 100 * MS,
        "time_ns": milliseconds * MS,
    }


@pytest.mark.parametrize(
    ("table", "row", "expected"),
    [
        ("comm_packets", {"transport": "HCCS", "packet_bytes": 1000, "count": 1}, 0),
        ("comm_packets", {"transport": "HCCS", "packet_bytes": 1024, "count": 1}, 1),
        ("comm_bandwidth", sent("hcom_allReduce__1_0_1", "g", 11), 0),  # 9.1 GB/s, of 18 that are usual
        ("comm_bandwidth", sent("hcom_allReduce__1_0_1", "g", 12), 1),
        ("comm_bandwidth", sent("hcom_allReduce__1_0_1", "other", 11), 1),
    ],
)
def test_a_link_alone_is_not_slow_where_its_packets_or_its_group_say_why(
    table: str, row: dict[str, Any], expected: int
) -> None:
    span = TestSpan({table: table_of(table, [row])})
    found = slow_link.find(run_of([], links=[replace(LINK, time_ns=25 * MS)], spans=[span]))
    assert len(found) == expected


def test_two_ranks_without_links_lack_them() -> None:
    assert slow_link.missing(run_of([(30, {}), (55, {})])) is not None


def test_a_link_is_compared_with_so_many_that_move_smaller_pieces() -> None:
    """Each of two links of large pieces with the twelve of the mesh."""
    found = slow_link.find(run_of([], links=[*small_pieces(), *large_pieces(3.0)]))
    assert [one.message.params["count"] for one in found] == [12]


def test_the_surest_slow_link_between_two_ranks_is_named() -> None:
    sent = ((2, 1, 1.0), (0, 3, 10.0))  # slower yet, but known only by the usual bandwidth
    sends = [
        replace(LINK, op_type="send", src_rank=src, dst_rank=dst, time_ns=round(100 * MS / speed))
        for src, dst, speed in sent
    ]
    (found,) = slow_link.find(run_of([], links=[*mesh((2, 1, 2.5)), *sends]))
    assert found.confidence.kind == "measured"


@pytest.mark.parametrize(("op_type", "expected"), [("allReduce", 30), ("receive", 60)])
def test_directions_of_a_slow_link_add_up_between_two_ranks_only(op_type: str, expected: int) -> None:
    links = [replace(link, op_type=op_type) for link in mesh((2, 1, 2.5), (1, 2, 2.5))]
    assert [one.cost_ns // MS for one in slow_link.find(run_of([], links=links))] == [expected]


def test_the_slowest_stage_is_named_with_what_an_even_split_would_save() -> None:
    ranks: list[Rank] = [
        (10, {"computing": 60}),
        (10, {"computing": 60}),
        (10, {"computing": 100}),
        (10, {"computing": 100}),
    ]
    (found,) = pipeline.STAGE_IMBALANCE.find(run_of(ranks, (1, 1, 2, 2)))
    assert (found.subject.stage, found.cost_ns) == (2, 20 * MS)
    assert pipeline.STAGE_IMBALANCE.find(run_of([(10, {}), (10, {"computing": 62})], (1, 2))) == []


def test_a_stage_without_a_ledger_works_while_it_is_not_in_the_bubble() -> None:
    assert stage_times(run_of([(30, {"bubble": 20})], (1,))) == {1: StageTimes(60 * MS, (60 + 30 - 20) * MS, 20 * MS)}


@pytest.mark.parametrize(("kind", "code"), [("unexplained", "idles"), ("computing", "computes")])
def test_of_two_ranks_the_straggler_is_held_up_while_the_other_communicates_longer(kind: EntryKind, code: str) -> None:
    """Also where computing hides the waits of the other one, which delay its transfers."""

    def exact(entry: EntryKind, time: int) -> Entry:
        return Entry(entry, "", time * MS, time * MS, time * MS)

    def run(held_up: int, transfer: int, stages: Sequence[int] = ()) -> RunData:
        found = run_of([(30, {}), (30, {})], stages)
        parts = ((held_up, 13), (1, transfer))
        entries = [(exact(kind, one), exact("transfer", other)) for one, other in parts]
        ledgers = [RankLedger(line.span, None, 100 * MS, 0, 0, 0, 0, one) for line, one in zip(found.lines, entries)]
        vars(found).update(ledgers=ledgers, judgement=Judgement("loss"), is_marked=True)
        return found

    (found,) = straggler.find(run(12, 22))
    assert (found.message.code, found.subject.rank, found.cost_ns) == (f"finding.straggler.{code}", 0, 9 * MS)
    assert straggler.find(run(12, 13)) == straggler.find(run(1, 22)) == []
    assert len(straggler.find(run(12, 22, (1, 2)))) == (kind != "computing"), "another stage computes something else"


def test_without_a_trace_the_loader_costs_what_the_host_waits_for_it_per_step() -> None:
    """Two steps of 100 ms, with waits of 20 and 40 ms."""
    loader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    rows = {
        "operators": [{"name": loader, "host_total_ns": time * MS} for time in (20, 40)],
        "step_trace": [
            {**{key: value if key == "step" else value * MS for key, value in STEP.items()}, "step": step}
            for step in "12"
        ],
    }
    span = TestSpan({name: table_of(name, found) for name, found in rows.items()}, Capture(rank=0))
    (found,) = input_bound.find(RunData([span]))
    assert (found.cost_ns, found.costs, found.subject.rank) == (30 * MS, {"data_loading": 30 * MS}, 0)


def peer(rank: int, total: int, peer_rank: int | None = 5, **more: Any) -> LatePeer:
    wait = LatePeer(rank, "1", "g", "allReduce_0", total * MS, total * MS, total * MS - MS, 1, 5, peer_rank, 7)
    return replace(wait, **more)


def test_a_rank_without_a_profile_is_named_by_those_that_wait_for_it() -> None:
    waits = [
        peer(0, 30),
        peer(0, 14, operator="allReduce_1"),
        peer(1, 28),
        peer(1, 12, peer_rank=6),
        peer(1, 4, peer_rank=7),
    ]
    spans = [TestSpan(capture=Capture(rank=number), token=f"s{number}") for number in (1, 0)]
    found = unprofiled_rank.find(run_of([(30, {}), (30, {})], late_peers=waits, spans=spans))
    assert [(one.subject.rank, one.confidence.ranks, one.cost_ns) for one in found] == [
        (5, 2, 42 * MS),
        (6, 1, 11 * MS),
    ]
    assert "rank 0 waits 44.00 ms per step for it" in found[0].message
    shown = [(one.view, one.span, one.start_ns, one.end_ns, one.step) for one in found[0].evidence]
    assert shown == [
        ("distributed", None, None, None, "1"),
        ("trace", "s0", 7, 7 + 30 * MS, "1"),
        ("trace", "s1", None, None, None),
    ]
    assert "Of it, 42.00 ms could be saved" in found[0].message
    (hidden,) = unprofiled_rank.find(run_of([(30, {})], late_peers=[peer(0, 30, recoverable=31 * MS)]))
    assert "Up to 31.00 ms could be saved" in hidden.message
    (local,) = unprofiled_rank.find(run_of([(30, {})], late_peers=[peer(0, 30, peer_rank=None)]))
    assert local.message.startswith("Rank 5 of group g (not profiled)")


@pytest.mark.parametrize(
    ("kernels", "untimed", "lost", "expected"), [(9, 0, 1, False), (8, 0, 1, True), (10, 2, 0, True), (10, 1, 0, False)]
)
def test_steps_of_kernels_without_times_are_not_judged(kernels: int, untimed: int, lost: int, expected: bool) -> None:
    """More than a tenth of the kernels, with those that could not be read, has no times."""
    rows = [{"step": "1", "name": "mm", "start_ns": at, "dur_ns": None if at < untimed else 1} for at in range(kernels)]
    problem = Problem("bad_cell", "kernel_details.csv", *[""] * 5, lost, "error")
    span = TestSpan({"kernels": table_of("kernels", rows)}, problems=[problem] * bool(lost))
    assert lacks_times(span) is expected


@pytest.mark.parametrize(("groups", "expected"), [(("a", "a"), True), (("a", "b"), False)])
def test_whether_all_collectives_are_of_one_group(groups: tuple[str, ...], expected: bool) -> None:
    """Point-to-point operators do not count."""
    rows = [{"kind": "collective", "group": group} for group in groups]
    ops = table_of("comm_ops", [*rows, {"kind": "p2p", "group": "c"}])
    run: Any = SimpleNamespace(communication=SimpleNamespace(collectives=[ops, None]))
    assert unprofiled_rank._has_one_group(run) is expected
