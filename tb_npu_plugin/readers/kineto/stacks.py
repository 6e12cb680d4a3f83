"""Call stacks of operators, from the Python functions that enclose them (with_stack=True)."""

from __future__ import annotations

import re

import numpy as np

from tb_npu_plugin.readers.kineto.nesting import NestedEvents
from tb_npu_plugin.readers.kineto.selected_events import SelectedEvents
from tb_npu_plugin.tables import StringColumn

#: Frame terminator, as in files of NPU profilers.
FRAME_END = ";\r\n"
#: Addresses make names of one function differ: "<built-in method add of Tensor object at 0x7fc42a170030>".
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def call_stacks(selected: SelectedEvents, operators: NestedEvents) -> StringColumn:
    """Return the stack of each operator, innermost frame first; unknown if no function encloses it."""
    functions = NestedEvents(selected, selected.python)
    around = functions.at(operators.start, operators.thread)
    names = [_ADDRESS.sub("", name) for name in selected.names(functions.rows).values]
    frames = selected.names(functions.rows).codes.tolist()
    # (stack number of the caller, function name) -> stack number: equal stacks share one.
    numbers: dict[tuple[int, str], int] = {}
    stack_of = np.full(len(frames) + 1, -1, dtype=np.int64)  # last entry: no function
    places = stack_of.data
    for place, (parent, frame) in enumerate(zip(functions.parent.tolist(), frames)):
        places[place] = numbers.setdefault((places[parent], names[frame]), len(numbers))
    callers = list(numbers)
    used, codes = np.unique(stack_of[around], return_inverse=True)
    none = int(len(used) > 0 and used[0] < 0)
    texts = [_text(callers, number) for number in used[none:].tolist()]
    return StringColumn((codes.reshape(-1) - none).astype(np.int32), texts)


def _text(callers: list[tuple[int, str]], number: int) -> str:
    frames = []
    while number >= 0:
        number, name = callers[number]
        frames.append(name)
    return FRAME_END.join(frames)
