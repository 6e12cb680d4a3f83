"""The ledger in a report: the rows of the step (views/ledger_layout.py) and the findings that would shorten them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tb_npu_plugin.analysis.parts import LEDGER
from tb_npu_plugin.messages import Message, in_period
from tb_npu_plugin.report.markup import figure, grouped, say, say_field

Json = Mapping[str, Any]
#: Kinds of rows beside the step.
_OUTSIDE = ("before", "after", "outside", "between")


def ledger_section(diagnosis: Json, decimals: int) -> Iterator[str]:
    """The ledger of the rank that the verdict is about; nothing without one. decimals: of figures in ms."""
    ledger = diagnosis.get("ledger")
    if ledger is None:
        return
    table = diagnosis["layout"]["tables"][diagnosis["ledgers"].index(ledger)]
    lines = _Lines(diagnosis, ledger, decimals)
    yield f"<section>\n<h2>{say(in_period(Message('ledger.title', rank=table['name']), diagnosis['period']))}</h2>"
    yield f'<div class="scroll"><table class="ledger">\n<thead><tr><th>{say(Message("ledger.column.entry"))}</th><th>ms</th>'
    yield f"<th>{say(in_period(Message('ledger.column.share'), diagnosis['period']))}</th>"
    yield f'<th class="text">{say(Message("ledger.column.what"))}</th>'
    yield f'<th class="text">{say(Message("ledger.column.fix"))}</th>'
    yield f"<th>{say(Message('ledger.column.saves', unit='ms'))}</th></tr></thead>\n<tbody>"
    for is_outside in (False, True):
        for row in table["rows"]:
            if (row["kind"] in _OUTSIDE) == is_outside:
                yield from lines.of_row(row)
        yield "" if is_outside else lines.sum_line()
    yield "</tbody></table></div>"
    if table["needs"]:
        yield f'<div class="scroll"><table>\n<thead><tr><th>{say(Message("ledger.need.column.decide"))}</th>'
        yield f'<th class="text">{say(Message("ledger.need.column.missing"))}</th>'
        yield f'<th class="text">{say(Message("ledger.need.column.how"))}</th></tr></thead>\n<tbody>'
        for need in table["needs"]:
            yield f"<tr><td>{_say(need['decide'])}</td>"
            yield "".join(f'<td class="text">{_say(need[key])}</td>' for key in ("missing", "how")) + "</tr>"
        yield "</tbody></table></div>"
    yield "</section>"


class _Lines:
    """Lines of the table."""

    def __init__(self, diagnosis: Json, ledger: Json, decimals: int) -> None:
        self._diagnosis, self._window, self._decimals = diagnosis, ledger["window_ns"], decimals

    def of_row(self, row: Json, name: str = "") -> Iterator[str]:
        """A row, its findings, and the rows that it consists of. name: class of its name."""
        low, high = row["low_ns"], row["high_ns"]
        bounds = {"low": self._ms(low), "high": self._ms(high)}
        span = f'<br><span class="muted">{say(Message("ledger.range", **bounds))}</span>' if low != high else ""
        share = "" if row["kind"] in _OUTSIDE else self._share(row["ns"])
        key = f'<span class="key" style="background:var({LEDGER[row["part"]].color})"></span>'
        yield f'<tr><td class="{name}">{key}{_say(row["title"])}</td><td>{figure(row["ns"] / 1e6, self._decimals)}{span}</td>'
        yield f'<td>{share}</td><td class="text">{"<br>".join(map(_say, row["what"]))}</td><td></td><td></td></tr>'
        for one in (self._diagnosis["findings"][at] for at in row["findings"]):
            most = "" if one["kind"] == "measured" else "≤ "
            fixes = "<br>".join(fix_text(one, at) for at in range(len(one["fix"])))
            yield f'<tr><td class="child">{say_field(one, "title")}</td><td></td><td></td><td></td>'
            yield f'<td class="text">{fixes}</td><td>{most}{figure(one["ms_per_step"], self._decimals)}</td></tr>'
        for part in row["parts"]:
            yield from self.of_row(part, "child")

    def sum_line(self) -> str:
        """The step, and what could be saved of it."""
        stake = self._diagnosis["at_stake_ms_per_step"]
        saves = f"≤ {grouped(stake, self._decimals)}" if stake else ""
        return (
            f'<tr class="sum"><th>{_say(self._diagnosis["layout"]["step"])}</th><th>{self._ms(self._window)}</th>'
            f'<th>{self._share(self._window)}</th><th></th><th class="text">{say(Message("ledger.stake")) if stake else ""}</th>'
            f"<th>{saves}</th></tr>"
        )

    def _ms(self, ns: int) -> str:
        return grouped(ns / 1e6, self._decimals)

    def _share(self, ns: int) -> str:
        return f"{100 * ns / self._window:.1f} %" if self._window else ""


def fix_text(finding: Json, at: int) -> str:
    """The n-th fix of a finding."""
    message = finding["texts"].get(f"fix.{at}")
    return say_field({"text": finding["fix"][at], "texts": {"text": message} if message else {}}, "text")


def _say(message: Json) -> str:
    return say(Message.from_json(message))
