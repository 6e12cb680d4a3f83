"""The conditions of --fail-if: whether one holds for a diagnosis or a comparison, or cannot be decided."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Mapping
from typing import Any, Literal, NamedTuple, Optional

import click

from tb_npu_plugin.analysis.comparison.step_classes import BUBBLE, COMMUNICATION, COMPUTING, COPYING, IDLE, WAITING
from tb_npu_plugin.analysis.findings.model import SEVERITIES, SHORT_STEP_NS, Severity
from tb_npu_plugin.analysis.findings.registry import RULES
from tb_npu_plugin.analysis.findings.verdict import AWAITED
from tb_npu_plugin.analysis.kernels.meaning import CLASSES
from tb_npu_plugin.terminal import echo

Decision = Literal["holds", "fails", "undecided"]
#: Exit codes of --fail-if: the condition holds; it cannot be decided.
HOLDS, UNDECIDED = 3, 4
#: Unexplained time from this share of the step on can change the answer.
LEAST_UNEXPLAINED = 0.1
STEP = "step"
_CONDITION = re.compile(r"(\w+)(?:>(\d+(?:\.\d+)?)%)?")
#: Several rules in a condition: waiting for late ranks.
_RULES_OF = {"wait": AWAITED}
_CATEGORY = {rule.id: rule.category for rule in RULES}
_SEVERITY: tuple[Severity, ...] = (*(severity for severity, _ in SEVERITIES), "low")
_SHARE: Mapping[str, float] = {**dict(SEVERITIES), "low": 0.0}
#: Unexplained parts of a ledger that findings of a category may be about; those of other categories have none.
_UNEXPLAINED = {"ranks": ("waiting",), "communication": ("waiting",), "host": ("idle",), "input": ("idle",)}
_PARTS = (COPYING, COMMUNICATION, WAITING, BUBBLE, IDLE)


class Condition(NamedTuple):
    """`NAME>N%` as (NAME, N / 100); share 0 for NAME alone."""

    name: str
    share: float


def parse_condition(text: str, names: Collection[str], bare: Collection[str] = ()) -> Condition:
    """A condition about one of the names; one of `bare` takes no share. Raises click.BadParameter."""
    match = _CONDITION.fullmatch(text.strip())
    has_share = match is not None and match[2] is not None
    if match is None or match[1] not in (names if has_share else bare):
        alone = ", ".join(name for name in bare if name not in names)
        what = "NAME or NAME>N%" if bare else "NAME>N%"
        raise click.BadParameter(
            f"{text!r} is not {f'{alone}, ' if alone else ''}{what} with one of these names: {', '.join(names)}"
        )
    return Condition(match[1], float(match[2] or 0) / 100)


def diagnosis_condition(text: str) -> Condition:
    """`high`, `straggler>5%`, or `straggler` for any cost. Raises click.BadParameter."""
    rules = (*_RULES_OF, *_CATEGORY)
    return parse_condition(text, rules, (*_SEVERITY, *rules))


def diff_condition(text: str) -> Condition:
    """`step>5%`, or `matmul>10%`. Raises click.BadParameter."""
    return parse_condition(text, (STEP, *CLASSES))


def decide_diagnosis(condition: Condition, found: Mapping[str, Any]) -> Decision:
    """Whether a run has a finding of this severity or a higher one, or findings of the rule that cost more than the share.

    Undecided if none is known, and the rule could not run, a rank could not be read, or unexplained time could make it one.

    Args:
        found: A DiagnosisJson.
    """
    if condition.name in _SEVERITY:
        if _has_severity(condition.name, found):
            return "holds"
        is_open = found["verdict"]["kind"] in ("unexplained", "unknown") or _lacks_ranks(found)
        return "undecided" if is_open or unexplained_share(found, ("waiting", "idle")) >= LEAST_UNEXPLAINED else "fails"
    rules = _RULES_OF.get(condition.name, (condition.name,))
    step = found["mean_step_ms"]
    cost = max((one["ms_per_step"] / step for one in found["findings"] if one["rule"] in rules and step), default=0.0)
    if cost > condition.share:
        return "holds"
    reasons = {one["rule"]: one["reason"] for one in found["unchecked"]}
    open_rules = [rule for rule in rules if reasons.get(rule) != "not_applicable"]
    if not open_rules:
        return "fails"
    parts = [part for rule in open_rules for part in _UNEXPLAINED.get(_CATEGORY[rule], ())]
    unknown = unexplained_share(found, parts)
    is_open = all(rule in reasons for rule in open_rules) or not step or _lacks_ranks(found)
    is_open |= unknown >= LEAST_UNEXPLAINED and cost + unknown > condition.share
    return "undecided" if is_open else "fails"


def _has_severity(name: str, found: Mapping[str, Any]) -> bool:
    """Whether there is such a finding; the loss of the verdict counts as one."""
    enough = [one for one in _SEVERITY if _SHARE[one] >= _SHARE[name]]
    verdict = found["verdict"]
    is_long = name == "low" or found["mean_step_ms"] * 1e6 >= SHORT_STEP_NS
    is_loss = verdict["rule"] == "loss" and is_long and (verdict["share"] or 0.0) >= _SHARE[name]
    return is_loss or any(one["severity"] in enough for one in found["findings"])


def _lacks_ranks(found: Mapping[str, Any]) -> bool:
    """Whether ranks could not be read, or nothing is known of their steps."""
    known = {one["worker"] for one in found["ledgers"]}
    return any(one["worker"] not in known for one in found["ranks"])


def unexplained_share(found: Mapping[str, Any], parts: Collection[str]) -> float:
    """Largest share of the window of a rank that is unexplained. parts: "idle": idle time without a known cause; "waiting":
    communication that may be waiting, and waiting for a rank that more files would name. Time outside the window may be both."""
    return max((_unexplained(ledger, parts) / ledger["window_ns"] for ledger in found["ledgers"]), default=0.0)


def _unexplained(ledger: Mapping[str, Any], parts: Collection[str]) -> int:
    whole = {"unexplained": "idle", "communication": "waiting"}
    within: int = sum(
        one["high_ns"] - (0 if one["entry"] in whole or _is_unnamed(one) else one["low_ns"])
        for one in ledger["entries"]
        if whole.get(one["entry"], one["entry"]) in parts
    )
    return within + (ledger["outside_ns"] if parts else 0)


def _is_unnamed(entry: Mapping[str, Any]) -> bool:
    """Whether it is waiting, and other files would tell for which rank."""
    return entry["entry"] == "waiting" and entry["culprit"] is None and bool(entry["needs"])


def decide_diff(condition: Condition, pair: Mapping[str, Any]) -> Decision:
    """Whether a time grows by more than a share of the baseline. A class that the baseline lacks is new: any time of it is growth.

    Args:
        pair: A DiffStepJson.
    """
    sides = ("baseline", "experimental")
    totals = [pair[f"{side}_ns"] for side in sides]
    if condition.name == STEP:
        bounds = [None if total is None else (total, total) for total in totals]
    else:
        bounds = [_bounds(condition.name, pair, side) for side in sides]
    before, after = bounds
    if before is None or after is None:
        return "undecided"
    if after[0] - before[1] > condition.share * before[1]:
        return "holds"
    return "fails" if after[1] - before[0] <= condition.share * before[0] else "undecided"


def _bounds(name: str, pair: Mapping[str, Any], side: str) -> Optional[tuple[int, int]]:
    """Least and largest time of a class on a side, ns; None if it is unknown. Communication that nothing divides may be waiting,
    bubble or transfer; computing without known kernels may be of any class of kernels."""
    times = {one["id"]: one[f"{side}_ns"] for one in pair["classes"]}
    total, time = pair[f"{side}_ns"], times.get(name, 0)
    if name == IDLE and total is None:
        return None
    low = time
    undivided = 0
    if name == COMMUNICATION and pair["unknown"]:
        low, undivided = 0, time
    elif name in pair["unknown"]:
        undivided = times.get(COMMUNICATION, 0)
    elif name not in (*_PARTS, COMPUTING):
        undivided = times.get(COMPUTING, 0)
    is_small = total is not None and undivided < LEAST_UNEXPLAINED * total
    return (time, time) if is_small else (low, low + undivided)


def diff_figures(condition: Condition, pair: Mapping[str, Any]) -> str:
    """The figures that a condition about a DiffStepJson compares: "step 90.0 → 107.3 ms, +19.2 %"."""
    before, after = (pair[f"{side}_ns"] for side in ("baseline", "experimental"))
    if condition.name != STEP:
        times = next((one for one in pair["classes"] if one["id"] == condition.name), None)
        before, after = (0, 0) if times is None else (times["baseline_ns"], times["experimental_ns"])
    if before is None or after is None:
        return f"{condition.name} unknown"
    change = f"{(after - before) / before:+.1%}".replace("%", " %") if before else "new" if after else "none"
    return f"{condition.name} {before / 1e6:.3f} → {after / 1e6:.3f} ms, {change}"


def exit_by(text: str, decisions: Collection[Decision], figures: str = "") -> None:
    """End the program with the code of --fail-if, and say why; return if the condition fails for all."""
    why = f" ({figures})" if figures else ""
    if "holds" in decisions:
        echo(f"--fail-if {text}: it holds{why}.", err=True)
        sys.exit(HOLDS)
    if "undecided" in decisions:
        echo(f"--fail-if {text}: what was recorded and read does not decide it{why}.", err=True)
        sys.exit(UNDECIDED)
