"""Names and colours of the parts of a time: the same in all views, in the report and on the command line.

tools/gen_types.py gives them to the page.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tb_npu_plugin.messages import Message


@dataclass(frozen=True)
class Part:
    """A part of a time. color: a CSS variable of the page's tokens. Computing, overlapped, waiting, transfer and free have theirs alone;
    tests/base/color_blind.test.ts of the frontend checks that the parts of one table can be told apart."""

    id: str
    title: Message
    color: str


def _by_id(parts: Iterable[Part]) -> Mapping[str, Part]:
    return {part.id: part for part in parts}


#: Causes of idle time, in the order of their priority.
IDLE = _by_id(
    (
        Part("garbage_collection", Message("part.idle.garbage_collection"), "--c-brown"),
        Part("data_loading", Message("part.idle.data_loading"), "--c-prep"),
        Part("communication", Message("part.idle.communication"), "--c-wait"),
        Part("allocator", Message("part.idle.allocator"), "--c-plum"),
        Part("compile", Message("part.idle.compile"), "--c-mix"),
        Part("synchronization", Message("part.idle.synchronization"), "--c-pink"),
        Part("launch_call", Message("part.idle.launch_call"), "--c-dim"),
        Part("host_late", Message("part.idle.host_late"), "--c-late"),
        Part("dependency", Message("part.idle.dependency"), "--c-bubble"),
        Part("launch_overhead", Message("part.idle.launch_overhead"), "--c-free"),
        Part("unknown", Message("part.idle.unknown"), "--c-rest"),
    )
)
#: Parts of the time of communication operators, in the order of the bar. They sum to it.
COMMUNICATION = _by_id(
    (
        Part("waiting", Message("part.communication.waiting"), "--c-wait"),
        Part("before_transfer", Message("part.communication.before_transfer"), "--c-mix"),
        Part("transfer", Message("part.communication.transfer"), "--c-comm"),
        Part("small_packets", Message("part.communication.small_packets"), "--c-prep"),
        Part("rest", Message("part.communication.rest"), "--c-free"),
    )
)
#: Parts of a step, in the order of the bar (analysis/steps/parts.py). All but "preparing" sum to the step time.
BUDGET = _by_id(
    (
        Part("preparing", Message("part.budget.preparing"), "--c-prep"),
        Part("computing", Message("part.budget.computing"), "--c-compute"),
        Part("overlapped", Message("part.budget.overlapped"), "--c-over"),
        Part("waiting", Message("part.budget.waiting"), "--c-wait"),
        Part("communication", Message("part.budget.communication"), "--c-comm"),
        Part("bubble", Message("part.budget.bubble"), "--c-bubble"),
        Part("copying", Message("part.budget.copying"), "--c-mix"),
        Part("free", Message("part.budget.free"), "--c-free"),
    )
)
#: Rows of the ledger (analysis/ledger/model.py): kinds of entries, some with their detail. All but "before", "after" and "outside" sum to the step.
LEDGER = _by_id(
    (
        Part("before", Message("part.ledger.before"), "--c-prep"),
        Part("after", Message("part.ledger.after"), "--c-prep"),
        Part("outside", Message("part.ledger.outside"), "--c-free"),
        Part("between", Message("part.ledger.between"), "--c-free"),
        Part("computing", Message("part.ledger.computing"), "--c-compute"),
        Part("computing_forward_backward", Message("part.ledger.forward_backward"), "--c-compute"),
        Part("computing_tail", Message("part.ledger.tail"), "--c-mix"),
        Part("computing_or_idle", Message("part.ledger.or_idle"), "--c-compute"),
        Part("computing_overlapped", Message("part.ledger.overlapped"), "--c-over"),
        Part("waiting", Message("part.ledger.waiting"), "--c-wait"),
        Part("waiting_uneven", Message("part.ledger.waiting_uneven"), "--c-wait"),
        Part("waiting_batches", Message("part.ledger.waiting_batches"), "--c-bubble"),
        Part("waiting_idle", Message("part.ledger.waiting_idle"), "--c-wait"),
        Part("waiting_other", Message("part.ledger.waiting_other"), "--c-wait"),
        Part("transfer", Message("part.ledger.transfer"), "--c-comm"),
        Part("communication", Message("part.ledger.communication"), "--c-comm"),
        Part("copies", Message("part.ledger.copies"), "--c-mix"),
        Part("idle", Message("part.ledger.idle"), "--c-free"),
        Part("idle_late", Message("part.ledger.idle_late"), "--c-free"),
        Part("idle_before", Message("part.ledger.idle_before"), "--c-free"),
        Part("unexplained", Message("part.ledger.unexplained"), "--c-free"),
        Part("unexplained_idle", Message("part.ledger.unexplained_idle"), "--c-free"),
        Part("unexplained_gap", Message("part.ledger.gap"), "--c-free"),
    )
)
#: All tables, by their name on the page.
PARTS: Mapping[str, Mapping[str, Part]] = {
    "budget": BUDGET,
    "idle": IDLE,
    "communication": COMMUNICATION,
    "ledger": LEDGER,
}
