"""Which operator is inside which, and what Python functions are open around it: by time, thread by thread."""

from __future__ import annotations

from dataclasses import dataclass

from tb_npu_plugin.capture.mock.kineto import Call, Change, Function

_MODULE, _BUILT_IN = "nn.Module: ", "<"
#: Runs a node of the backward pass; that of AccumulateGrad tells no forward thread.
_ENGINE = "autograd::engine::"


@dataclass
class Nested:
    """By operator, in order of start. parents: -1 outermost; last: end of the last operator directly inside it, or its
    start; stacks: innermost first; holders: the operator that each change of memory is in, -1 none."""

    parents: list[int]
    last: list[int]
    stacks: list[tuple[str, ...]]
    tids: list[int]
    holders: list[int]


class _Thread:
    """What is open on one thread."""

    def __init__(self) -> None:
        self.ops: list[tuple[int, int]] = []  # end, operator
        self.functions: list[tuple[int, tuple[str, ...]]] = []  # end, stack with it

    def at(self, now: int) -> None:
        """Close what has ended."""
        while self.ops and self.ops[-1][0] <= now:
            self.ops.pop()
        while self.functions and self.functions[-1][0] <= now:
            self.functions.pop()


def nest(calls: list[Call], functions: list[Function], autograd: int, memory: list[Change]) -> Nested:
    """All lists by start. autograd: thread that backward operators and all inside them move to; 0: they stay."""
    threads: dict[int, _Thread] = {}
    out = Nested([], [call.start for call in calls], [], [], [-1] * len(memory))
    stacks: dict[tuple[str, tuple[str, ...]], tuple[str, ...]] = {}
    next_function = next_change = 0
    for number, call in enumerate(calls):
        while next_function < len(functions) and functions[next_function].start <= call.start:
            _open(functions[next_function], threads, stacks)
            next_function += 1
        while next_change < len(memory) and memory[next_change].at < call.start:
            out.holders[next_change] = _holder(memory[next_change], threads)
            next_change += 1
        thread = threads.setdefault(call.tid, _Thread())
        thread.at(call.start)
        parent = thread.ops[-1][1] if thread.ops else -1
        out.parents.append(parent)
        moved = autograd and (
            call.forward or (parent >= 0 and out.tids[parent] == autograd) or call.signature.name.startswith(_ENGINE)
        )
        out.tids.append(autograd if moved else call.tid)
        out.stacks.append(thread.functions[-1][1] if thread.functions and not moved else ())
        if parent >= 0:
            out.last[parent] = call.end
        thread.ops.append((call.end, number))
    for at in range(next_change, len(memory)):
        out.holders[at] = _holder(memory[at], threads)
    return out


def _open(
    function: Function, threads: dict[int, _Thread], stacks: dict[tuple[str, tuple[str, ...]], tuple[str, ...]]
) -> None:
    if function.name.startswith((_MODULE, _BUILT_IN)):  # neither is a frame
        return
    thread = threads.setdefault(function.tid, _Thread())
    thread.at(function.start)
    above = thread.functions[-1][1] if thread.functions else ()
    key = (function.name, above)
    thread.functions.append((function.end, stacks.setdefault(key, (function.name, *above))))


def _holder(change: Change, threads: dict[int, _Thread]) -> int:
    thread = threads.get(change.tid)
    if thread is None:
        return -1
    thread.at(change.at)
    return thread.ops[-1][1] if thread.ops else -1
