"""The chains of the waits in the averaged steps, and those of each entry of a ledger."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Optional

from tb_npu_plugin.analysis.ledger.model import ChainEnd, RankLedger
from tb_npu_plugin.analysis.run.chains import Ends
from tb_npu_plugin.analysis.run.communication import RunCommunication
from tb_npu_plugin.analysis.run.step_waits import Awaited
from tb_npu_plugin.analysis.steps.of_span import averaged_of_span


@dataclass(frozen=True)
class Chains:
    """Exposed waiting of each line in the averaged steps, by detail and rank at the root, and by the end of its chain, ns."""

    of_line: Sequence[Mapping[Awaited, Ends]]

    @cached_property
    def total(self) -> Ends:
        """Sum over all lines."""
        return sum((ends for waits in self.of_line for ends in waits.values()), Ends())

    @property
    def unresolved_ns(self) -> int:
        """Waiting for the rank that the most chains end at without being resolved."""
        return max((time for end, time in self.total.items() if end.kind == "error"), default=0)


def chains_of(run: RunCommunication) -> Chains:
    """The chains of a run."""
    return Chains([_of_line(run, at) for at in range(len(run.lines))])


def _of_line(run: RunCommunication, at: int) -> dict[Awaited, Ends]:
    line, out = run.lines[at], dict[Awaited, Ends]()
    averaged = {step.step for step in averaged_of_span(line.span, line.steps)}
    for step, awaited, ends in _named(run, at):
        if None in averaged or step in averaged:
            out.setdefault(awaited, Ends()).update(ends)
    return out


def _named(run: RunCommunication, at: int) -> Iterator[tuple[Optional[str], Awaited, Ends]]:
    """Step, name and ends of each wait of a line."""
    table, is_p2p, fused = run.collectives[at], run.is_p2p(at), run.fused.of_line.get(at)
    for (where, number), ends in run.chains[at].items():
        if where == "kernel" and fused is not None:
            yield fused.step[number], (fused.kernel[number] or "", run.root_inside(at, number)), ends
        elif table is not None:
            detail = "p2p" if is_p2p[number] else "collective"
            yield table.text("step")[number], (detail, run.root_of(at, number)), ends


def with_chains(run: RunCommunication, ledgers: Sequence[RankLedger], chains: Chains) -> list[RankLedger]:
    """The ledgers with the chain of each entry. The parts are those of all averaged steps, scaled to the mean step."""
    places = {(line.span.token, line.device_id): at for at, line in enumerate(run.lines)}
    out = []
    for ledger in ledgers:
        found = chains.of_line[places[ledger.span.token, ledger.device_id]]
        entries = (
            replace(one, chain=_scaled(found[one.detail, one.culprit], one.ns))
            if one.entry == "waiting" and (one.detail, one.culprit) in found
            else one
            for one in ledger.entries
        )
        out.append(replace(ledger, entries=tuple(entries)))
    return out


def _scaled(ends: Ends, ns: int) -> list[ChainEnd]:
    """The ends, scaled so that their sum is `ns`."""
    total, scaled, left = sum(ends.values()), list[ChainEnd](), ns
    for (_, rank, kind), time in ends.most_common():
        scaled.append(ChainEnd(rank, kind, time * ns // total))
        left -= scaled[-1].ns
    if scaled:
        scaled[0] = replace(scaled[0], ns=scaled[0].ns + left)
    return [one for one in scaled if one.ns > 0]
