"""--fail-if: 3 where a condition holds, 4 where unexplained time could make it hold."""

from __future__ import annotations

from typing import Any

import click
import pytest

from tb_npu_plugin.cli.gate import decide_diagnosis, decide_diff, diagnosis_condition, diff_condition

MS = 1_000_000


def entry(
    kind: str, ms: float, low: float | None = None, high: float | None = None, culprit: int | None = 1, needs: str = ""
) -> dict[str, Any]:
    bounds = {"low_ns": (ms if low is None else low) * MS, "high_ns": (ms if high is None else high) * MS}
    return {"entry": kind, "ns": ms * MS, "culprit": culprit, "needs": needs, **bounds}


def finding(rule: str, ms: float, severity: str) -> dict[str, Any]:
    return {"rule": rule, "ms_per_step": ms, "severity": severity}


def unchecked(rule: str, reason: str = "not_recorded") -> dict[str, Any]:
    return {"rule": rule, "reason": reason}


def unread(worker: str) -> dict[str, Any]:
    """A rank that was not read, or not completely."""
    return {"worker": worker}


def run(*parts: dict[str, Any], kind: str = "loss", rule: str = "straggler", share: float = 0.0) -> dict[str, Any]:
    """A step of 100 ms of two ranks: one computes only, the other has the entries; also findings and unchecked rules."""
    entries = [part for part in parts if "entry" in part]
    outside = sum(part["outside"] for part in parts if "outside" in part) * MS
    ledgers = [
        {"worker": worker, "window_ns": 100 * MS, "outside_ns": outside, "entries": one}
        for worker, one in (("a", [entry("computing", 100)]), ("b", entries))
    ]
    return {
        "mean_step_ms": 100.0,
        "verdict": {"kind": kind, "rule": rule, "share": share},
        "ledgers": ledgers,
        "findings": [part for part in parts if "severity" in part],
        "unchecked": [part for part in parts if "reason" in part],
        "ranks": [part for part in parts if "worker" in part],
    }


IDLE, VAGUE = entry("unexplained", 12), entry("waiting", 10, 0, 20)
UNNAMED = entry("waiting", 60, 58, 62, culprit=None, needs="trace")
UNDIVIDED, SLOW = entry("communication", 15), finding("straggler", 7, "high")


@pytest.mark.parametrize(
    ("condition", "found", "expected"),
    [
        ("high", run(SLOW), "holds"),
        ("high", run(kind="healthy"), "fails"),
        ("high", run(kind="unexplained"), "undecided"),
        ("high", run(SLOW, IDLE, kind="unexplained"), "holds"),
        ("high", run(finding("fusion", 4, "medium")), "fails"),
        ("medium", run(finding("fusion", 4, "medium")), "holds"),
        ("low", run(kind="unknown"), "undecided"),
        ("high", run(IDLE), "undecided"),
        ("high", run(entry("unexplained", 9)), "fails"),
        ("high", run(UNDIVIDED), "undecided"),
        ("high", run(rule="loss", share=0.06), "holds"),
        ("high", run(rule="loss", share=0.04), "fails"),
        ("medium", run(rule="loss", share=0.04), "holds"),
        ("straggler>5%", run(SLOW), "holds"),
        ("straggler>8%", run(SLOW), "fails"),
        ("straggler>5%", run(VAGUE), "undecided"),
        ("straggler>40%", run(VAGUE), "fails"),
        ("straggler>5%", run(entry("waiting", 10, 5, 14)), "fails"),
        ("straggler>20%", run(SLOW, UNDIVIDED), "undecided"),
        ("straggler>5%", run(IDLE), "fails"),
        ("host_bound>5%", run(IDLE), "undecided"),
        ("host_bound>12%", run(IDLE), "fails"),
        ("host_bound>5%", run(VAGUE), "fails"),
        ("fusion>5%", run(IDLE, VAGUE, kind="unexplained"), "fails"),
        ("straggler>5%", run(unchecked("straggler")), "undecided"),
        ("straggler>5%", run(unchecked("straggler", "not_applicable")), "fails"),
        ("straggler>5%", run(unchecked("straggler", "not_applicable"), UNDIVIDED), "fails"),
        ("wait>5%", run(unchecked("straggler", "not_applicable"), unchecked("unprofiled_rank")), "undecided"),
        ("wait>5%", run(unchecked("straggler")), "fails"),
        ("straggler", run(SLOW), "holds"),
        ("wait>5%", run(UNNAMED, unchecked("unprofiled_rank")), "undecided"),
        ("wait>65%", run(UNNAMED, unchecked("unprofiled_rank")), "fails"),
        ("wait>5%", run(entry("waiting", 60, culprit=None)), "fails"),
        ("high", run({"outside": 12}), "undecided"),
        ("host_bound>5%", run({"outside": 12}), "undecided"),
        ("fusion>5%", run({"outside": 12}), "fails"),
        ("high", run(unread("a"), kind="healthy"), "fails"),
        ("high", run(unread("c"), kind="healthy"), "undecided"),
        ("fusion>5%", run(unread("c"), kind="healthy"), "undecided"),
        ("high", run(SLOW, unread("c")), "holds"),
    ],
)
def test_a_diagnosis_is_decided_or_not(condition: str, found: dict[str, Any], expected: str) -> None:
    assert decide_diagnosis(diagnosis_condition(condition), found) == expected


def pair(total: int | None, *unknown: str, **classes: tuple[int, int]) -> dict[str, Any]:
    """Steps of `total` and 110 ms, with classes in ms."""
    times = [
        {"id": name, "baseline_ns": one * MS, "experimental_ns": other * MS} for name, (one, other) in classes.items()
    ]
    baseline = None if total is None else total * MS
    return {"baseline_ns": baseline, "experimental_ns": 110 * MS, "classes": times, "unknown": list(unknown)}


@pytest.mark.parametrize(
    ("condition", "steps", "expected"),
    [
        ("step>5%", pair(100, "waiting", communication=(50, 60)), "holds"),
        ("step>10%", pair(100, "waiting", communication=(50, 60)), "fails"),
        ("step>5%", pair(None), "undecided"),
        ("waiting>5%", pair(100, waiting=(10, 11)), "holds"),
        ("waiting>5%", pair(100, "waiting", communication=(50, 60)), "undecided"),
        ("communication>5%", pair(100, "waiting", communication=(50, 60)), "undecided"),
        ("communication>5%", pair(100, "waiting", communication=(5, 6)), "holds"),
        ("waiting>5%", pair(100, "waiting", communication=(5, 6)), "fails"),
        ("bubble>5%", pair(100, "bubble", communication=(50, 60), waiting=(1, 1)), "undecided"),
        ("waiting>5%", pair(100, "bubble", communication=(50, 60), waiting=(1, 1)), "fails"),
        ("matmul>5%", pair(100, matmul=(10, 12)), "holds"),
        ("matmul>5%", pair(100, computing=(90, 100)), "undecided"),
        ("matmul>5%", pair(100, computing=(5, 5), matmul=(80, 90)), "holds"),
        ("matmul>5%", pair(100, matmul=(0, 1)), "holds"),
        ("computing>5%", pair(100, computing=(90, 100)), "holds"),
        ("idle>5%", pair(None, matmul=(1, 1)), "undecided"),
        ("idle>5%", pair(100, idle=(20, 20), computing=(50, 50)), "fails"),
    ],
)
def test_a_comparison_is_decided_or_not(condition: str, steps: dict[str, Any], expected: str) -> None:
    assert decide_diff(diff_condition(condition), steps) == expected


@pytest.mark.parametrize("text", ["high>5%", "nonsense", "step>5%", "straggler>", "5%"])
def test_a_condition_about_nothing_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match=r"not high, medium, low, NAME or .* names: wait, straggler"):
        diagnosis_condition(text)
    with pytest.raises(click.BadParameter, match=r"not NAME>N% with one of these names: step"):
        diff_condition("step")
