"""Ledgers, chains of waits and the judgement, on hand-made ranks whose truth is known."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Optional

import numpy as np
import pytest

from tb_npu_plugin.analysis.findings.diagnose import diagnose
from tb_npu_plugin.analysis.findings.model import Confidence, Finding, Subject
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.analysis.findings.verdict import verdict_of
from tb_npu_plugin.analysis.ledger import judge as judging
from tb_npu_plugin.analysis.ledger.chains import Chains
from tb_npu_plugin.analysis.ledger.judge import _culprits
from tb_npu_plugin.analysis.run.chains import End, Ends
from tb_npu_plugin.analysis.run.communication import RunCommunication
from tb_npu_plugin.messages import Message
from tb_npu_plugin.model import Capture
from tests.support.span import TestSpan, table_of

MS = 1_000_000
BASE = 1_700_000_000_000_000_000
#: Each rank of a chain receives from the one before it: rank 0 computes longest, the others wait for it in turn.
CHAIN = 4


def rank_of_chain(rank: int, first_ms: int, skew_ns: int = 0, with_kernels: bool = True) -> TestSpan:
    """A rank that computes 10 ms (rank 0: `first_ms`), then sends to the next one, which begins to compute when it has received."""
    rows: list[dict[str, Any]] = []
    ops: list[dict[str, Any]] = []
    start = BASE + skew_ns
    ready = start + first_ms * MS + 11 * MS * rank  # computing of this rank ends
    if rank:
        arrives = start + first_ms * MS + 11 * MS * (rank - 1)
        ops.append(call(f"hcom_receive__1{rank - 1}{rank}_0_1", rank - 1, start, arrives + MS - start))
        rows.append(kernel("MatMul", arrives + MS, 10 * MS))
    else:
        rows.append(kernel("MatMul", start, first_ms * MS))
    if rank < CHAIN - 1:
        ops.append(call(f"hcom_send__1{rank}{rank + 1}_0_1", rank, ready, MS))
    for number in range(3):  # by these the clocks are aligned
        ops.append(
            call(f"hcom_allReduce__99_{number}_1", 99, BASE + skew_ns + (200 + number) * MS, MS)
            | {"kind": "collective"}
        )
    rows += [kernel(op["name"], op["start_ns"], op["elapse_ns"], "COMMUNICATION") for op in ops]
    busy = sum(row["dur_ns"] for row in rows if row["core"] == "AI_CORE")
    exposed = sum(op["elapse_ns"] for op in ops)
    first, last = min(row["start_ns"] for row in rows), max(row["start_ns"] + row["dur_ns"] for row in rows)
    step = {
        "step": "1",
        "computing": busy,
        "communication_not_overlapped": exposed,
        "overlapped": 0,
        "communication": exposed,
        "free": last - first - busy - exposed,
        "stage": last - first,
        "bubble": 0,
        "preparing": 0,
        "start_ns": first,
        "lead_ns": 0,
    }
    tables = {"step_trace": table_of("step_trace", [step]), "comm_ops": table_of("comm_ops", ops)}
    if with_kernels:
        tables["kernels"] = table_of("kernels", rows)
    capture = Capture(rank=rank, distributed_args={"world_size": CHAIN})
    return TestSpan(tables, capture, token=f"span-{rank}", worker_label=f"rank {rank}")


def call(name: str, group: int, start: int, elapse: int) -> dict[str, Any]:
    return {"step": "1", "kind": "p2p", "name": name, "group": str(group), "start_ns": start, "elapse_ns": elapse}


def kernel(name: str, start: int, dur: int, core: str = "AI_CORE") -> dict[str, Any]:
    return {"step": "1", "name": name, "type": name, "core": core, "start_ns": start, "dur_ns": dur}


@pytest.mark.parametrize("skews", [(0, 0, 0, 0), (0, 5_000_000, -3_000_000, 40)], ids=["one clock", "clocks apart"])
def test_the_root_of_a_chain_is_named_and_no_victim(skews: tuple[int, ...]) -> None:
    run = RunData([rank_of_chain(rank, 100, skew) for rank, skew in enumerate(skews)])
    waits = [[(one.culprit, one.ns) for one in ledger.entries if one.entry == "waiting"] for ledger in run.ledgers]
    assert waits == [[], [(0, 100 * MS)], [(0, 111 * MS)], [(0, 122 * MS)]]
    chain = [(end.rank, end.kind, end.ns // MS) for end in run.ledgers[-1].entries[1].chain]
    sends = [(rank, kind, ms) for kind, ms in (("computing", 10), ("transfer", 1)) for rank in (1, 2)]
    assert chain == [(0, "computing", 100), *sends]
    assert (run.judgement.kind, run.judgement.culprits) == ("loss", (0,))
    assert all(sum(one.ns for one in ledger.entries) == ledger.window_ns for ledger in run.ledgers)


def test_a_missing_file_changes_no_culprit() -> None:
    spans = [rank_of_chain(rank, 100, with_kernels=rank != 0) for rank in range(CHAIN)]
    assert RunData(spans).judgement.culprits in ((0,), ())


@pytest.mark.parametrize(("idle", "rule"), [(4, "healthy"), (6, "loss"), (50, "unexplained")])
@pytest.mark.parametrize("has_kernels", [True, False])
def test_only_what_loses_little_is_healthy(idle: int, rule: str, has_kernels: bool) -> None:
    """Without kernels, computing may hide waiting."""
    times = {"computing": (100 - idle) * MS, "communication_not_overlapped": 0, "overlapped": 0, "free": idle * MS}
    tables = {"step_trace": table_of("step_trace", [{"step": "1", **times}])}
    if has_kernels:
        tables["kernels"] = table_of("kernels", [kernel("MatMul", BASE, (100 - idle) * MS)])
    elif rule == "healthy":
        rule = "unexplained"
    found = diagnose([TestSpan(tables, Capture(rank=0))])
    assert found.verdict.rule == rule
    assert ("Cannot be judged" in found.verdict.message) == (rule == "unexplained")
    assert ("trace_view.json" in found.verdict.message) == (idle > 5)


@pytest.mark.parametrize(
    ("ranks", "steps", "wait_ms", "culprits"), [(2, 1, 6, (0,)), (2, 4, 6, (0,)), (2, 4, 2, ()), (30, 1, 2, ())]
)
def test_small_waits_of_many_ranks_and_steps_name_nobody(
    ranks: int, steps: int, wait_ms: int, culprits: tuple[int, ...]
) -> None:
    """Their sum was compared with what is noise in one step of one rank: 64 ranks of a pipeline had a culprit without a fault."""
    step = {
        "computing": 90 * MS,
        "communication_not_overlapped": 10 * MS,
        "overlapped": 0,
        "free": 0,
        "stage": 100 * MS,
    }
    table = table_of("step_trace", [{"step": str(at), **step} for at in range(steps)])
    run = RunCommunication([TestSpan({"step_trace": table}, Capture(rank=at)) for at in range(ranks)])
    ends = Ends({End(0, 0, "computing"): steps * wait_ms * MS})
    chains = Chains([{}, *({("collective", 0): ends} for _ in range(ranks - 1))])
    assert _culprits(run, [], chains, 5 * MS)[0] == culprits


def test_a_finding_of_a_healthy_run_is_no_loss_of_its_step() -> None:
    """The idle time of law 8 in other words: sglang_decode was healthy by its kind and host-bound by its sentence."""
    finding = Finding(
        "host_bound",
        "host",
        Subject(0),
        Message("verdict.unknown"),
        4 * MS,
        "free",
        Confidence("measured"),
    )
    inside = replace(finding, rule="optimizer", part="computing")
    run = RunData(ranks_of((96, 0, 4), (96, 0, 4)))
    assert run.judgement.kind == "healthy"
    assert verdict_of([finding], run).rule == "healthy"
    assert "Healthy" in verdict_of([finding], run).message
    assert verdict_of([finding, inside], run).rule == "optimizer"


@pytest.mark.parametrize(("cost_ns", "rule"), [(15 * MS, "host_bound"), (15 * MS - 1, "unexplained")])
def test_a_finding_explains_a_loss_from_half_of_it_on(cost_ns: int, rule: str) -> None:
    """The run is idle for 30 ms."""
    run = RunData(ranks_of((70, 0, 30)))
    text, confidence = Message("verdict.unknown"), Confidence("measured")
    finding = Finding("host_bound", "host", Subject(0), text, cost_ns, "free", confidence)
    assert verdict_of([finding], run).rule == rule


def ranks_of(*parts: tuple[int, int, int]) -> list[TestSpan]:
    """Ranks with a step of (computing, exposed communication, idle) ms, filled with one kernel."""
    out = []
    for rank, (computing, exposed, idle) in enumerate(parts):
        figures = {"communication_not_overlapped": exposed * MS, "overlapped": 0, "free": idle * MS}
        step = {"step": "1", "computing": computing * MS, **figures}
        kernels = table_of("kernels", [kernel("MatMul", BASE, computing * MS)])
        out.append(TestSpan({"step_trace": table_of("step_trace", [step]), "kernels": kernels}, Capture(rank=rank)))
    return out


@pytest.mark.parametrize(
    "other, entry, share",
    [((68, 1, 31), "unexplained", 0.31), ((50, 49, 1), "waiting", 0.48)],
)
def test_a_rank_without_losses_hides_none_of_another_one(other: tuple[int, int, int], entry: str, share: float) -> None:
    """Rank 0 waits least, but loses only 1 %."""
    run = RunData(ranks_of((98, 1, 1), other))
    found = run.judgement
    assert found.ledger is not None and found.entry is not None
    assert (found.ledger.rank, found.entry.entry) == (1, entry)
    assert found.entry.ns / found.ledger.window_ns == pytest.approx(share)


def test_parts_that_exceed_their_step_leave_no_negative_idle_time() -> None:
    """The step is as long as the file says; communication is what computing leaves of it."""
    (ledger,) = RunData(ranks_of((96, 24, -20))).ledgers
    assert [(one.entry, one.ns // MS) for one in ledger.entries] == [("computing", 96), ("communication", 4)]
    assert ledger.window_ns == 100 * MS


def test_waiting_that_no_rank_tells_is_bounded_by_what_is_moved() -> None:
    """Of two collectives of as many bytes, the longer one waits for the rest; a receive waits but for the time of its link."""
    ops = [
        call("hcom_allReduce__9_0_1", 9, BASE, 2 * MS) | {"kind": "collective"},
        call("hcom_allReduce__9_1_1", 9, BASE + 10 * MS, 30 * MS) | {"kind": "collective"},
        call("hcom_batchSendRecv__8_0_1", 8, BASE + 40 * MS, 20 * MS),
    ]
    moved = [
        {key: op[key] for key in ("step", "kind", "name", "group")}
        | {"transport": "HCCS", "rollup": 0, "size_bytes": 1 << 20, "time_ns": MS}
        for op in ops
    ]
    times = {"computing": 48 * MS, "communication_not_overlapped": 50 * MS, "overlapped": 2 * MS, "free": 2 * MS}
    tables = {
        "step_trace": table_of("step_trace", [{"step": "1", **times}]),
        "comm_ops": table_of("comm_ops", ops),
        "comm_bandwidth": table_of("comm_bandwidth", moved),
    }
    run = RunData([TestSpan(tables, Capture(rank=0, distributed_args={"world_size": 4}))])
    (ledger,) = run.ledgers
    waits = {one.detail: (one.low_ns, one.high_ns) for one in ledger.entries if one.entry == "waiting"}
    # Two ms of communication are hidden: they may be waiting.
    assert waits == {"collective": (26 * MS, 30 * MS), "p2p": (17 * MS - 50_000, 19 * MS)}
    assert sum(one.ns for one in ledger.entries) == ledger.window_ns == 100 * MS


def test_time_before_the_first_task_may_be_the_largest_loss() -> None:
    times = {"computing": 100 * MS, "communication_not_overlapped": 0, "overlapped": 0, "free": 0, "preparing": 20 * MS}
    found = diagnose([TestSpan({"step_trace": table_of("step_trace", [{"step": "1", **times}])}, Capture(rank=0))])
    assert (found.verdict.rule, found.verdict.cost_ns) == ("loss", 20 * MS)


def moe_rank(rank: int, skew_ns: int = 0, extra_ns: int = 0) -> TestSpan:
    """A rank of three that calls a fused kernel every 6 ms, four times: it computes for 2 ms (rank 2: 5 ms) before each call.
    All ranks end it together. extra_ns: by how much longer it runs on this rank, so that they do not."""
    rows: list[dict[str, Any]] = []
    for number in range(4):
        start = BASE + skew_ns + number * 6 * MS
        took = (5 if rank == 2 else 2) * MS
        rows.append(kernel("aclnnGroupedMatmul_GroupedMatmul", start, took))
        rows.append(
            kernel("MoeDistributeDispatchV2", start + took, 6 * MS - took + extra_ns * number)
            | {"type": "MoeDistributeDispatchV2", "input_shapes": "8,16"}
        )
    times = {"computing": 24 * MS, "communication_not_overlapped": 0, "overlapped": 0, "free": 0}
    tables = {"step_trace": table_of("step_trace", [{"step": "1", **times}]), "kernels": table_of("kernels", rows)}
    return TestSpan(tables, Capture(rank=rank), token=f"span-{rank}", worker_label=f"rank {rank}")


@pytest.mark.parametrize("skew_ns", [0, 5_000 * MS])
def test_waits_inside_fused_kernels_are_no_computing(skew_ns: int) -> None:
    """Of the 4 ms that each call takes on two ranks, 3 are waiting for the third one, whose call takes 1."""
    run = RunData([moe_rank(0), moe_rank(1, skew_ns), moe_rank(2)])
    waits = [[(one.detail, one.culprit, one.ns) for one in ledger.entries[1:]] for ledger in run.ledgers]
    waiting = ("MoeDistributeDispatchV2", 2, 12 * MS)
    assert waits == [[waiting], [waiting], []]
    assert (run.judgement.kind, run.judgement.culprits) == ("loss", (2,))


@pytest.mark.parametrize("ranks", [[moe_rank(0), moe_rank(1, extra_ns=2 * MS), moe_rank(2)], [moe_rank(0)]])
def test_waits_in_fused_kernels_that_nothing_shows_are_in_the_bounds_of_computing(ranks: list[TestSpan]) -> None:
    """The ranks do not end them together; or one rank is alone, of whose 24 ms 16 are in such kernels."""
    run = RunData(ranks)
    assert [len(one.entries) for one in run.ledgers] == [1] * len(ranks)
    computing = run.ledgers[0].entries[0]
    assert (computing.low_ns, computing.high_ns, computing.needs) == (8 * MS, 24 * MS, "ranks")
    assert run.judgement.kind == "unexplained" and "inside" in diagnose(ranks).verdict.message


def test_points_of_a_step_say_what_passes_before_it() -> None:
    rows = [
        {
            "step": str(step),
            "average": 0,
            "total_ns": 100 * MS,
            "interval_ns": gap * MS,
            "fp_bp_ns": (90 - gap) * MS,
            "tail_ns": 10 * MS,
        }
        for step, gap in ((1, 0), (2, 60), (3, 80))
    ]
    span = TestSpan({"iterations": table_of("iterations", rows)}, Capture(rank=0))
    run = RunData([span])
    assert [(one.entry, one.detail, one.ns // MS) for one in run.ledgers[0].entries] == [
        ("computing", "forward_backward", 20),
        ("computing", "tail", 10),
        ("unexplained", "gap", 70),
    ]
    assert "before the forward pass" in diagnose([span]).verdict.message


def test_a_rank_without_usable_steps_makes_no_run_healthy() -> None:
    """Nor does a step that its parts do not cover."""
    times = {"computing": 98 * MS, "communication_not_overlapped": MS, "overlapped": 0, "free": MS}
    kernels = table_of("kernels", [kernel("MatMul", BASE, 98 * MS)])

    def rank(number: int, **changed: int) -> TestSpan:
        tables = {"step_trace": table_of("step_trace", [{"step": "1", **times, **changed}]), "kernels": kernels}
        return TestSpan(tables, Capture(rank=number), token=f"span-{number}", files=["step_trace_time.csv"])

    empty = dict.fromkeys(times, 0)
    assert diagnose([rank(0), rank(1)]).verdict.kind == "healthy"
    assert "rank 1" in diagnose([rank(0), rank(1, **empty)]).verdict.message
    assert [
        diagnose([rank(0), rank(1, **more)]).verdict.kind
        for more in (empty, {"stage": 200 * MS}, {"computing": 40 * MS})
    ] == [
        "unexplained",
        "unexplained",
        "unexplained",
    ]


def test_a_profiled_rank_without_step_times_holds_the_others_up() -> None:
    """Its step file is damaged: there is nothing to profile again."""
    spans = [rank_of_chain(rank, 100) for rank in range(CHAIN)]
    rows = [{"step": "1", "start_ns": BASE, "lead_ns": 0}]
    spans[0].tables["step_trace"] = table_of("step_trace", rows)
    assert "Rank 0 holds the others up" in str(diagnose(spans).verdict.message)


def test_a_wait_beside_lost_kernels_is_uncertain() -> None:
    """Rank 0 waits 50 ms and computes for 20 ms of them; the row of this kernel is lost."""
    spans = [waiting_beside(20), waiting_beside(20, is_lost=True)]
    bounds = []
    for one in spans:
        last = rank_between_collectives(1, 60, 60, 0)
        waits = [entry for entry in RunData([one, last]).ledgers[0].entries if entry.entry == "waiting"]
        bounds.append((sum(entry.low_ns for entry in waits), sum(entry.high_ns for entry in waits)))
    (truth, same), (low, high) = bounds
    assert truth == same == 30 * MS
    assert low < truth < high


def waiting_beside(beside_ms: int, is_lost: bool = False) -> TestSpan:
    """Rank 0, which computes for 10 ms and for `beside_ms` of its wait."""
    span = rank_between_collectives(0, 10, 10, beside_ms)
    kernels = span.tables["kernels"]
    names = kernels.text("name").tolist()
    kept = [at for at, name in enumerate(names) if not (is_lost and name == "Beside")]
    span.tables["kernels"] = kernels.take(np.array(kept))
    return span


def rank_between_collectives(rank: int, computing_ms: int, arrives_ms: int, beside_ms: int) -> TestSpan:
    """One of two ranks that compute and meet in four collectives, the first of which ends after 61 ms."""
    ends = [61, 63, 65, 67]
    starts = [arrives_ms, *(end - 1 for end in ends[1:])]
    ops = [
        call(f"hcom_allReduce__99_{at}_1", 99, BASE + start * MS, (end - start) * MS) | {"kind": "collective"}
        for at, (start, end) in enumerate(zip(starts, ends))
    ]
    rows = [
        kernel("MatMul", BASE, computing_ms * MS),
        *(kernel(f"Next{end}", BASE + end * MS, MS) for end in ends[:-1]),
    ]
    if beside_ms:
        rows.append(kernel("Beside", BASE + arrives_ms * MS, beside_ms * MS))
    computing = sum(row["dur_ns"] for row in rows)
    communication = sum(op["elapse_ns"] for op in ops)
    rows += [kernel(op["name"], op["start_ns"], op["elapse_ns"], "COMMUNICATION") for op in ops]
    step = {
        "step": "1",
        "computing": computing,
        "communication_not_overlapped": communication - beside_ms * MS,
        "overlapped": beside_ms * MS,
        "communication": communication,
        "free": 0,
        "stage": 67 * MS,
        "bubble": 0,
        "preparing": 0,
        "start_ns": BASE,
        "lead_ns": 0,
    }
    tables = {"step_trace": [step], "comm_ops": ops, "kernels": rows}
    return TestSpan(
        {name: table_of(name, found) for name, found in tables.items()},
        Capture(rank=rank, distributed_args={"world_size": 2}),
        token=f"span-{rank}",
        worker_label=f"rank {rank}",
    )


@pytest.mark.parametrize(("own", "is_less"), [(100, True), (195, False), (200, False)])
def test_who_waits_like_its_stage_is_no_culprit(own: int, is_less: bool) -> None:
    """Others of its stage wait 200; 10 is noise. A rank without peers, or of no stage, may be one."""

    def ledger(rank: int, waiting: int, stage: Optional[int]) -> Any:
        span = SimpleNamespace(capture=Capture())
        return SimpleNamespace(rank=rank, span=span, total=lambda *kinds: waiting, stage=stage)

    ledgers = [ledger(0, own, 2), ledger(1, 200, 2), ledger(2, 205, 2), ledger(3, 0, 1)]
    with pytest.MonkeyPatch.context() as patch:
        stages = {id(one.span.capture): one.stage for one in ledgers}
        patch.setattr(judging, "pipeline_stage", lambda capture: stages[id(capture)])
        assert judging._waits_less(0, ledgers, 10) == is_less
        assert judging._waits_less(3, ledgers, 10), "without peers"
        assert judging._waits_less(9, ledgers, 10), "not profiled"
