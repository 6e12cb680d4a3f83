"""The ledger in a report: the entries of the step, and the findings that would shorten them.

As on the page (frontend/src/widgets/diagnosis/ledger.ts).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Optional

from tb_npu_plugin.analysis.findings.ledger_sentence import listed
from tb_npu_plugin.analysis.findings.text import duration
from tb_npu_plugin.analysis.parts import LEDGER
from tb_npu_plugin.messages import Message
from tb_npu_plugin.report.markup import escape, figure, grouped, say, say_field

Json = Mapping[str, Any]

#: Awaited ranks that have a row of their own, and ends of chains that are named.
_MOST_RANKS, _MOST_ENDS = 6, 3
#: Smaller entries do not ask for data.
_LEAST_OPEN = 0.01
_ENDS = {
    "computing": "ledger.end.computing",
    "idle": "ledger.end.idle",
    "transfer": "ledger.end.transfer",
    "unknown": "ledger.end.unknown",
    "unprofiled": "ledger.end.unprofiled",
    "error": "ledger.end.error",
}


@dataclass(frozen=True)
class Row:
    """Entries of one kind and detail, or waiting for one rank.

    Attributes:
        kind: Kind of the entries, or "before".
        parts: Of waiting for several ranks: a row for each, the longest first.
    """

    kind: str
    title: Message
    entries: Sequence[Json]
    parts: tuple[Row, ...] = ()

    def total(self, key: str = "ns") -> int:
        """Sum of "ns", "low_ns" or "high_ns"."""
        return sum(one[key] for one in self.entries)


def rows_of(ledger: Json) -> list[Row]:
    """The rows of a ledger, whose sum is its window."""
    rows = []
    for same in _grouped(ledger["entries"], lambda one: one["entry"] + one["detail"] * (one["entry"] != "waiting")):
        kind = same[0]["entry"]
        if kind == "waiting":
            rows.append(_waiting(same))
        else:
            rows.append(Row(kind, LEDGER.get(f"{kind}_{same[0]['detail']}", LEDGER[kind]).title, same))
    return rows


def _waiting(entries: Sequence[Json]) -> Row:
    parts = [Row("waiting", _waiting_title(same[0]["culprit"]), same) for same in _grouped(entries, _culprit)]
    parts.sort(key=lambda row: -row.total())
    others = parts[_MOST_RANKS - 1 :]
    if len(others) > 1:
        rest = [one for row in others for one in row.entries]
        parts[_MOST_RANKS - 1 :] = [Row("waiting", Message("ledger.waiting_others", count=len(others)), rest)]
    return parts[0] if len(parts) == 1 else Row("waiting", LEDGER["waiting"].title, entries, tuple(parts))


def _waiting_title(rank: Optional[int]) -> Message:
    return Message("ledger.waiting_unknown") if rank is None else Message("ledger.waiting_for", rank=f"rank {rank}")


def _culprit(entry: Json) -> Optional[int]:
    rank: Optional[int] = entry["culprit"]
    return rank


def _grouped(entries: Sequence[Json], key: Callable[[Json], object]) -> list[list[Json]]:
    found: dict[object, list[Json]] = {}
    for one in entries:
        found.setdefault(key(one), []).append(one)
    return list(found.values())


def row_for(finding: Json, rows: Sequence[Row], ledger: Json) -> Optional[Row]:
    """The row that a finding would shorten. One about another rank shortens the waiting for it, or nothing here."""
    rank, worker = finding["subject"].get("rank"), finding["subject"].get("worker")
    is_here = ledger["rank"] == rank or ledger["worker"] == worker
    is_of_ranks = finding["category"] == "ranks"
    if not finding["ms_per_step"] or (not is_here and not is_of_ranks and (rank, worker) != (None, None)):
        return None
    is_awaited = is_here and is_of_ranks and finding["shortens"][0] == "waiting"
    kinds = ["computing"] if is_awaited else finding["shortens"]
    fitting = [row for kind in kinds for row in rows if row.kind == kind]
    if is_here or rank is None:
        return fitting[0] if fitting else None
    waits = [one for row in fitting for one in (row.parts or (row,))]
    named = (row for row in waits if any(one["culprit"] == rank for one in row.entries))
    ends = (row for row in waits if any(end["rank"] == rank for one in row.entries for end in one["chain"]))
    return next(named, None) or next(ends, None)


def ledger_section(diagnosis: Json, decimals: int, is_gpu: bool) -> Iterator[str]:
    """The ledger of the rank that the verdict is about; nothing without one. decimals: of figures in ms."""
    ledger = diagnosis.get("ledger")
    if ledger is None:
        return
    rows, before = rows_of(ledger), ledger["before_ns"]
    outside = [{"ns": before, "low_ns": before, "high_ns": before}] if before > 0 else []
    last = Row("before", LEDGER["before"].title, outside)
    table = _Table(diagnosis, ledger, decimals, (*rows, last))
    yield f"<section>\n<h2>{say(Message('ledger.title', rank=_name(ledger)))}</h2>"
    yield f'<div class="scroll"><table class="ledger">\n<thead><tr><th>{say(Message("ledger.column.entry"))}</th><th>ms</th>'
    yield f"<th>{say(Message('ledger.column.share'))}</th>"
    yield f'<th class="text">{say(Message("ledger.column.what"))}</th>'
    yield f'<th class="text">{say(Message("ledger.column.fix"))}</th>'
    yield f"<th>{say(Message('ledger.column.saves', unit='ms'))}</th></tr></thead>\n<tbody>"
    for row in rows:
        yield from table.lines(row)
    yield table.sum_line()
    if outside:
        yield from table.lines(last)
    yield "</tbody></table></div>"
    yield from _needs(ledger, is_gpu)
    yield "</section>"


class _Table:
    """Lines of the table."""

    def __init__(self, diagnosis: Json, ledger: Json, decimals: int, rows: Sequence[Row]) -> None:
        self._diagnosis, self._ledger, self._decimals = diagnosis, ledger, decimals
        self._findings: dict[int, list[Json]] = {}
        for one in diagnosis["findings"]:
            row = row_for(one, rows, ledger)
            if row is not None:
                self._findings.setdefault(id(row), []).append(one)

    def lines(self, row: Row, name: str = "") -> Iterator[str]:
        """A row, its findings, and the rows that it consists of. name: class of its name."""
        low, high = row.total("low_ns"), row.total("high_ns")
        bounds = {"low": self._ms(low), "high": self._ms(high)}
        span = f'<br><span class="muted">{say(Message("ledger.range", **bounds))}</span>' if low != high else ""
        share = "" if row.kind == "before" else self._share(row.total())
        key = f'<span class="key" style="background:var({LEDGER[row.kind].color})"></span>'
        yield f'<tr><td class="{name}">{key}{say(row.title)}</td><td>{figure(row.total() / 1e6, self._decimals)}{span}</td>'
        yield f'<td>{share}</td><td class="text">{self._what(row)}</td><td></td><td></td></tr>'
        for one in self._findings.get(id(row), ()):
            most = "" if one["kind"] == "measured" else "≤ "
            fixes = "<br>".join(_fix(one, at) for at in range(len(one["fix"])))
            yield f'<tr><td class="child">{say_field(one, "title")}</td><td></td><td></td><td></td>'
            yield f'<td class="text">{fixes}</td><td>{most}{figure(one["ms_per_step"], self._decimals)}</td></tr>'
        for part in row.parts:
            yield from self.lines(part, "child")

    def sum_line(self) -> str:
        """The step, and what could be saved of it."""
        window, stake = self._ledger["window_ns"], self._diagnosis["at_stake_ms_per_step"]
        saves = f"≤ {grouped(stake, self._decimals)}" if stake else ""
        return (
            f'<tr class="sum"><th>{say(_step_title(self._diagnosis))}</th><th>{self._ms(window)}</th>'
            f'<th>{self._share(window)}</th><th></th><th class="text">{say(Message("ledger.stake")) if stake else ""}</th>'
            f"<th>{saves}</th></tr>"
        )

    def _ms(self, ns: int) -> str:
        return grouped(ns / 1e6, self._decimals)

    def _share(self, ns: int) -> str:
        window = self._ledger["window_ns"]
        return f"{100 * ns / window:.1f} %" if window else ""

    def _what(self, row: Row) -> str:
        if row.kind == "before":
            return say(Message("ledger.outside"))
        hidden = self._ledger["hidden_ns"] if row.kind == "computing" else 0
        texts = [Message("ledger.hidden", time=duration(hidden))] if hidden else []
        if row.kind == "waiting" and not row.parts:
            kinds = _grouped(row.entries, lambda one: one["detail"])
            if any(same[0]["detail"] != "collective" for same in kinds):
                texts += [_wait(same[0]["detail"], sum(one["ns"] for one in same)) for same in kinds]
            chain = self._chain(row)
            texts += [chain] if chain else []
        return "<br>".join(say(text) for text in texts)

    def _chain(self, row: Row) -> Optional[Message]:
        sums: dict[tuple[Optional[int], str], int] = {}
        for end in (end for one in row.entries for end in one["chain"]):
            sums[end["rank"], end["kind"]] = sums.get((end["rank"], end["kind"]), 0) + end["ns"]
        ends = sorted(sums.items(), key=lambda item: -item[1])[:_MOST_ENDS]
        texts = [_end(rank, kind, ns) for (rank, kind), ns in ends]
        return Message("ledger.chain", rank=_name(self._ledger), ends=listed(texts)) if texts else None


def _wait(detail: str, ns: int) -> Message:
    if detail == "p2p":
        return Message("ledger.p2p", time=duration(ns))
    if detail == "collective":
        return Message("ledger.collective", time=duration(ns))
    return Message("ledger.inside", kernel=detail, time=duration(ns))


def _end(rank: Optional[int], kind: str, ns: int) -> Message:
    who = Message("ledger.some_rank") if rank is None else f"rank {rank}"
    return (
        Message(_ENDS[kind], rank=who, time=duration(ns))
        if kind != "error"
        else Message(_ENDS[kind], time=duration(ns))
    )


def _fix(one: Json, at: int) -> str:
    message = one["texts"].get(f"fix.{at}")
    return say_field({"text": one["fix"][at], "texts": {"text": message} if message else {}}, "text")


def _name(ledger: Json) -> str:
    name = ledger["worker"] if ledger["rank"] is None else f"rank {ledger['rank']}"
    return name if ledger["device_id"] is None else f"{name} · device {ledger['device_id']}"


def _step_title(diagnosis: Json) -> Message:
    steps, mean, repeats = diagnosis["steps"], diagnosis["mean_steps"], diagnosis["repeats"]
    if repeats is not None and repeats > 1:
        return Message("ledger.repeat", count=repeats)
    if not steps or steps[0]["step"] is None:
        return Message("ledger.capture")
    if len(steps) == 1:
        return Message("ledger.step", step=steps[0]["step"])
    is_cut = 0 < mean < len(steps)
    return Message("ledger.mean_whole", count=mean) if is_cut else Message("ledger.mean", count=len(steps))


def _needs(ledger: Json, is_gpu: bool) -> Iterator[str]:
    """What would decide the entries that the data at hand leave open."""
    least = _LEAST_OPEN * ledger["window_ns"]
    open_ = [one for one in ledger["entries"] if one["needs"] and max(one["ns"], one["high_ns"]) >= least]
    lines = dict.fromkeys(
        tuple(say(cell) if isinstance(cell, Message) else escape(cell) for cell in _need(one, is_gpu)) for one in open_
    )
    if not lines:
        return
    yield f'<div class="scroll"><table>\n<thead><tr><th>{say(Message("ledger.need.column.decide"))}</th>'
    yield f'<th class="text">{say(Message("ledger.need.column.missing"))}</th>'
    yield f'<th class="text">{say(Message("ledger.need.column.how"))}</th></tr></thead>\n<tbody>'
    for decide, missing, how in lines:
        yield f'<tr><td>{decide}</td><td class="text">{missing}</td><td class="text">{how}</td></tr>'
    yield "</tbody></table></div>"


def _need(entry: Json, is_gpu: bool) -> tuple[Message, str, Message]:
    """To decide, missing, how to record it."""
    is_idle = entry["entry"] in ("idle", "unexplained")
    decide = Message("ledger.need.idle") if is_idle else Message("ledger.need.waiting")
    if entry["needs"] == "rank":
        rank = Message("ledger.some_rank") if entry["culprit"] is None else f"rank {entry['culprit']}"
        return Message("ledger.need.late", rank=rank), rank, Message("ledger.need.rank.how", rank=rank)
    if entry["needs"] == "kernels":
        return Message("ledger.need.inside"), Message("ledger.need.kernels"), Message("ledger.need.kernels.how")
    if entry["needs"] == "ranks":
        return decide, Message("ledger.need.ranks"), Message("ledger.need.ranks.how")
    if is_gpu:
        return decide, Message("verdict.why.gpu"), Message("ledger.need.gpu.how")
    missing = Message("ledger.need.trace") if is_idle else Message("ledger.need.trace.waiting")
    return decide, missing, Message("ledger.need.trace.how")
