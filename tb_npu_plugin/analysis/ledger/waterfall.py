"""The entries of the ledgers of several captures beside one another. In each capture they sum to its step, so that their
differences sum to the difference of the steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple, Optional, Union

from tb_npu_plugin.analysis.ledger.bubble import BubbleParts
from tb_npu_plugin.analysis.ledger.model import Entry, RankLedger
from tb_npu_plugin.analysis.parts import LEDGER
from tb_npu_plugin.analysis.steps.parts import divide_rounded
from tb_npu_plugin.messages import Message

#: Largest number of awaited ranks with a row each, and the least waiting for one as a share of the longest step.
_MOST_RANKS, _LEAST_WAITING = 5, 0.005
#: Parts beside the step.
BESIDE = ("before", "after", "outside", "between")


class DeviceLedger(NamedTuple):
    """The ledger of a device, and why it waits for other pipeline stages, if that is known."""

    ledger: RankLedger
    bubble: Optional[BubbleParts] = None


#: The devices of a capture; none if it has no step times.
CaptureLedger = Sequence[DeviceLedger]


class Times(NamedTuple):
    """Best estimate and bounds, ns."""

    ns: int
    low_ns: int
    high_ns: int


@dataclass(frozen=True)
class WaterfallRow:
    """An entry of the ledgers. part: id in LEDGER. times: of each capture; None for one without a ledger."""

    part: str
    title: Message
    times: Sequence[Optional[Times]]

    @property
    def is_beside(self) -> bool:
        """Whether it is time beside the step."""
        return self.part in BESIDE


class _Rank(NamedTuple):
    """An awaited rank; None if it is unknown."""

    rank: Optional[int]


#: Part of the ledger, and the awaited rank of "waiting".
_Key = tuple[str, Union[_Rank, str, None]]
_OTHERS = "others"


def window_ns(capture: CaptureLedger) -> Optional[int]:
    """The mean step of a capture: of its devices, if it has several. None without step times."""
    return divide_rounded(sum(one.ledger.window_ns for one in capture), len(capture)) if capture else None


def waterfall(captures: Sequence[CaptureLedger]) -> list[WaterfallRow]:
    """The entries in the order of the step, then the time beside it.

    If one capture has waiting and transfer, or all idle time, in one figure, they are one row for all captures. Waiting is divided by
    cause where that is known in each capture, else by awaited rank.
    """
    merged = dict(_merged([entry for one in capture for entry in one.ledger.entries] for capture in captures))
    is_by_cause = "waiting" not in merged and all(_has_causes(one) for capture in captures for one in capture)
    found = [_means([_parts(one, merged, is_by_cause) for one in capture]) for capture in captures]
    keys = list(dict.fromkeys(key for times in found for key in times))
    ranks = [key for key in keys if isinstance(key[1], _Rank)]
    longest = {key: max(times[key].high_ns for times in found if key in times) for key in ranks}
    least = _LEAST_WAITING * max((window_ns(one) or 0 for one in captures), default=0)
    ranks.sort(key=lambda key: -longest[key])
    kept = [key for key in ranks if longest[key] >= least][:_MOST_RANKS]
    others = [key for key in ranks if key not in kept]
    if len(others) == 1:
        kept, others = ranks, []
    rows = [(key, [key]) for key in keys if key not in ranks] + [(key, [key]) for key in kept]
    if others:
        rows.append((("waiting", _OTHERS), others))
    order = list(LEDGER)
    rows.sort(key=lambda row: (row[0][0] in BESIDE, order.index(row[0][0])))
    out = [
        WaterfallRow(
            key[0],
            _title(key, ranks, len(others)),
            [_sum(times, of) if capture else None for capture, times in zip(captures, found)],
        )
        for key, of in rows
    ]
    return [row for row in out if any(one is not None and any(one) for one in row.times)]


def running_sums(rows: Sequence[WaterfallRow], before: int, after: int) -> list[tuple[int, int]]:
    """(difference, step of the first capture with all differences so far) of each row of the step: the last sum is the step of
    the second capture. [] if a capture has no ledger. before, after: numbers of the captures."""
    both = [(row.times[before], row.times[after]) for row in rows if not row.is_beside]
    figures = [(one.ns, other.ns) for one, other in both if one is not None and other is not None]
    sums = accumulate((other - one for one, other in figures), initial=sum(one for one, _ in figures))
    next(sums)
    return [(other - one, total) for (one, other), total in zip(figures, sums)]


def _merged(captures: Iterator[Sequence[Entry]] | Sequence[Sequence[Entry]]) -> Iterator[tuple[str, str]]:
    """Kinds of entries that are one row, and its part."""
    all_entries = [list(entries) for entries in captures]
    if any(one.entry == "communication" for entries in all_entries for one in entries):
        yield from (("waiting", "communication"), ("transfer", "communication"))
    kinds = [{one.entry for one in entries if one.entry == "idle" or one.detail == "idle"} for entries in all_entries]
    if {"unexplained"} in kinds and any("idle" in one for one in kinds):
        yield from (("idle", "idle"), ("unexplained", "idle"))


def _has_causes(device: DeviceLedger) -> bool:
    """Whether the bubble of a device divides its waiting, or it does not wait."""
    waits = [one for one in device.ledger.entries if one.entry == "waiting"]
    if device.bubble is None:
        return not waits
    rest = sum(one.ns for one in waits) - sum(vars(device.bubble).values())
    return rest >= 0 and all(one.low_ns == one.high_ns for one in waits)


def _parts(device: DeviceLedger, merged: Mapping[str, str], is_by_cause: bool) -> dict[_Key, Times]:
    out: dict[_Key, Times] = {}
    ledger, bubble = device

    def add(part: str, times: Times, of: Union[_Rank, str, None] = None) -> None:
        so_far = out.get((part, of), Times(0, 0, 0))
        out[part, of] = Times(*map(sum, zip(so_far, times)))

    waits = 0
    for one in ledger.entries:
        times, is_inside = Times(one.ns, one.low_ns, one.high_ns), one.detail not in ("collective", "p2p")
        named = f"{one.entry}_{one.detail}"
        if one.entry in merged and not (one.entry == "waiting" and is_inside) and one.detail != "gap":
            add(merged[one.entry], times)
        elif one.entry != "waiting":
            add(named if named in LEDGER else one.entry, times)
        elif is_by_cause:
            waits += one.ns
        else:
            add("waiting", times, _Rank(one.culprit))
    if bubble is not None and is_by_cause:
        causes = {**vars(bubble), "other": waits - sum(vars(bubble).values())}
        for name, ns in causes.items():
            add(f"waiting_{name}", Times(ns, ns, ns))
    for name in BESIDE:
        ns = getattr(ledger, f"{name}_ns")
        add(name, Times(ns, ns, ns))
    return out


def _means(devices: Sequence[Mapping[_Key, Times]]) -> dict[_Key, Times]:
    """Means of the devices. Rounding keeps the sum of the step: each is the difference of two rounded running sums."""
    if len(devices) < 2:
        return dict(devices[0]) if devices else {}
    out: dict[_Key, Times] = {}
    before, reach = 0, 0
    keys = dict.fromkeys(key for one in devices for key in one)
    for key in sorted(keys, key=lambda key: key[0] in BESIDE):
        ns, low, high = (sum(times) for times in zip(*(one[key] for one in devices if key in one)))
        reach += ns
        mean = divide_rounded(reach, len(devices)) - before
        before += mean
        out[key] = Times(mean, min(mean, low // len(devices)), max(mean, -(-high // len(devices))))
    return out


def _sum(times: Mapping[_Key, Times], keys: Sequence[_Key]) -> Times:
    return Times(*map(sum, zip(Times(0, 0, 0), *(times[key] for key in keys if key in times))))


def _title(key: _Key, ranks: Sequence[_Key], others: int) -> Message:
    part, of = key
    if of == _OTHERS:
        return Message("ledger.waiting_others", count=others)
    if isinstance(of, _Rank):
        if of.rank is not None:
            return Message("ledger.waiting_for", rank=f"rank {of.rank}")
        return LEDGER["waiting"].title if len(ranks) == 1 else Message("ledger.waiting_unknown")
    title = LEDGER[part].title
    return Message("ledger.waiting_cause", cause=title) if part.startswith("waiting_") else title
