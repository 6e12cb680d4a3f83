"""What would decide the entries of a ledger that the data at hand leave open, and how to record it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from tb_npu_plugin.analysis.ledger.model import Entry, RankLedger
from tb_npu_plugin.analysis.settings_on import missing_option
from tb_npu_plugin.messages import Message
from tb_npu_plugin.schema.core import Condition, ResultFile, join_settings
from tb_npu_plugin.schema.formats import FORMATS, KINETO, MINDSPORE, MSPROF, TORCH_NPU
from tb_npu_plugin.schema.registry import file_of
from tb_npu_plugin.schema.torch_npu_csv import API_STATISTIC, OPERATORS

#: Smaller entries do not ask for data, share of the step.
_LEAST_OPEN = 0.01
#: Format -> settings with which its trace shows launches, and waits inside communication.
_LAUNCHES = {
    TORCH_NPU.id: OPERATORS.condition,
    MINDSPORE.id: OPERATORS.condition,
    MSPROF.id: file_of("api_statistic", MSPROF.id).condition,
}
_WAITS = dict.fromkeys((TORCH_NPU.id, MINDSPORE.id), API_STATISTIC.condition)


@dataclass(frozen=True)
class Need:
    """What is to decide, what is missing, and how to record it."""

    decide: Message
    missing: Message
    how: Message


def needs_of(ledger: RankLedger) -> list[Need]:
    """What would decide the open entries of a ledger; nothing for what no setting records."""
    open_ = [one for one in ledger.entries if one.needs and max(one.ns, one.high_ns) >= _LEAST_OPEN * ledger.window_ns]
    return list(dict.fromkeys(need for one in open_ if (need := _need(one, ledger)) is not None))


def _need(entry: Entry, ledger: RankLedger) -> Optional[Need]:
    is_idle = entry.entry in ("idle", "unexplained")
    decide = Message("ledger.need.idle") if is_idle else Message("ledger.need.waiting")
    if entry.needs == "rank":
        rank = Message("ledger.some_rank") if entry.culprit is None else f"rank {entry.culprit}"
        missing = Message("ledger.need.rank", rank=rank)
        return Need(Message("ledger.need.late", rank=rank), missing, Message("ledger.need.rank.how", rank=rank))
    if entry.needs == "ranks":
        if entry.entry == "computing":
            decide = Message("ledger.need.waiting_inside")
        return Need(decide, Message("ledger.need.ranks"), Message("ledger.need.ranks.how"))
    how: Optional[Message]
    format = ledger.span.format
    if format == KINETO.id and entry.needs == "trace":
        return Need(decide, Message("verdict.why.gpu"), Message("ledger.need.gpu.how"))
    if entry.needs == "kernels":
        file = file_of("kernels", format)
        decide, missing = Message("ledger.need.inside"), Message("ledger.need.kernels", file=file.name)
        how = _how(file, None, ledger)
    else:
        file, settings = file_of("trace", format), (_LAUNCHES if is_idle else _WAITS).get(format)
        launches, tasks = (
            Message("ledger.need.trace", file=file.name),
            Message("ledger.need.trace.waiting", file=file.name),
        )
        missing, how = launches if is_idle else tasks, _how(file, settings, ledger)
    return None if how is None else Need(decide, missing, how)


def _how(file: ResultFile, settings: Optional[Condition], ledger: RankLedger) -> Optional[Message]:
    """How to record a file with some settings; None if it was recorded so. What was on is not named again."""
    files = (FORMATS[ledger.span.format].file(kind) for kind in ledger.span.kinds.values())
    has_file = any(one is file for one in files)
    conditions = [one for one in (None if has_file else file.condition, settings) if one is not None]
    options = [missing_option(one, ledger.span.capture) for one in conditions]
    option = join_settings(*(one for one in dict.fromkeys(options) if one))
    if not option:
        return None if has_file else Message("ledger.need.copy", file=file.name)
    if has_file:
        return Message("ledger.need.option", option=option)
    return Message("ledger.need.record", option=option, file=file.name)
