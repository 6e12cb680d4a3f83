"""Write a large synthetic trace_view.json with unique names and arguments: `make_trace.py FILE MEGABYTES`.

Shape of a real training step: frames and operators nested on the host, launches, kernels on two streams that overlap
partially, flows, counters. Nothing is repeated byte by byte, so interning and compression do not flatter a reader.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

BASE_US = 1_760_000_000_000_000
#: From one operator to the next.
OPERATOR_NS = 60_000
PID, CANN, DEVICE, FREQUENCY = 4242, 4344193, 4344257, 4344289


def us(ns: int) -> str:
    """Time as the vendor writes it: microseconds as a string with three digits."""
    return f'"{BASE_US + ns // 1000}.{ns % 1000:03d}"'


@dataclass(frozen=True)
class Kernel:
    """The kernel that operator `number` launches, as make_kernels tells of it too; times in ns."""

    name: str
    stream: int
    start: int
    dur: int


def kernel(number: int) -> Kernel:
    """Durations up to 75 us every 60 us: those of one stream overlap partially now and then."""
    mixed = number * 2_654_435_761 % (1 << 32)
    return Kernel(
        f"kernel_{number}_{mixed % 1_000_000}",
        4 if number % 5 == 0 else 2,
        number * OPERATOR_NS + 70_000,
        5000 + mixed // 1000 % 70_000,
    )


def metadata() -> Iterator[str]:
    """Names and order of processes and threads."""
    for pid, name, label, order in (
        (PID, "Python", "CPU", 0),
        (CANN, "CANN", "CPU", 7),
        (DEVICE, "Ascend Hardware", "NPU", 13),
        (FREQUENCY, "AI Core Freq", "NPU", 14),
    ):
        yield f'{{"ph": "M", "name": "process_name", "pid": {pid}, "tid": 0, "args": {{"name": "{name}"}}}}'
        yield f'{{"ph": "M", "name": "process_labels", "pid": {pid}, "tid": 0, "args": {{"labels": "{label}"}}}}'
        yield f'{{"ph": "M", "name": "process_sort_index", "pid": {pid}, "tid": 0, "args": {{"sort_index": {order}}}}}'
    for stream in (2, 4):
        yield (
            f'{{"ph": "M", "name": "thread_name", "pid": {DEVICE}, "tid": {stream}, '
            f'"args": {{"name": "Stream {stream}"}}}}'
        )


def operator(number: int, rng: random.Random) -> Iterator[str]:
    """One operator with its frame, queue, launch, kernel and flows."""
    layer, start, launched = number // 40, number * OPERATOR_NS, kernel(number)
    dims = f"{rng.randrange(1, 64)},{rng.randrange(1, 8192)};\\r\\n{rng.randrange(1, 8192)},{rng.randrange(1, 8192)}"
    stack = ";\\r\\n".join(f"/opt/model/layer_{layer}.py({rng.randrange(900)}): forward_{k}" for k in range(8))
    name = f"aten::op_{number % 400}" if number % 3 else f"npu::fused_{layer}_{number % 40}"
    yield (
        f'{{"ph": "X", "name": "/opt/model/layer_{layer}.py({number % 900}): call_{number}", "pid": {PID}, "tid": {PID}, '
        f'"ts": {us(start)}, "dur": 58.{number % 1000:03d}, "cat": "python_function", '
        f'"args": {{"Python id": {number}, "Python parent id": {number - 1}}}}}'
    )
    yield (
        f'{{"ph": "X", "name": "{name}", "pid": {PID}, "tid": {PID}, "ts": {us(start + 1000)}, "dur": 40.25, '
        f'"cat": "cpu_op", "args": {{"Sequence number": {number}, "Fwd thread id": 0, "Input Dims": "{dims}", '
        f'"Input type": "float;\\r\\nfloat", "Call stack": "{stack}"}}}}'
    )
    yield (
        f'{{"ph": "X", "name": "Enqueue@{name}", "pid": {PID}, "tid": {PID}, "ts": {us(start + 30000)}, "dur": 2.1, '
        f'"cat": "enqueue", "args": {{"correlation_id": {number}}}}}'
    )
    yield (
        f'{{"ph": "s", "bp": "e", "name": "enqueue_to_dequeue", "id": {number}, "pid": {PID}, "tid": {PID}, '
        f'"ts": {us(start + 30000)}, "cat": "async_task_queue"}}'
    )
    yield (
        f'{{"ph": "X", "name": "Dequeue@{name}", "pid": {PID}, "tid": {PID + 7}, "ts": {us(start + 35000)}, '
        f'"dur": 15.4, "cat": "dequeue", "args": {{"correlation_id": {number}}}}}'
    )
    yield (
        f'{{"ph": "f", "bp": "e", "name": "enqueue_to_dequeue", "id": {number}, "pid": {PID}, "tid": {PID + 7}, '
        f'"ts": {us(start + 35000)}, "cat": "async_task_queue"}}'
    )
    yield (
        f'{{"ph": "X", "name": "Node@launch", "pid": {CANN}, "tid": {PID + 7}, "ts": {us(start + 38000)}, "dur": 9.9, '
        f'"args": {{"Thread Id": {PID + 7}, "Mode": "launch", "level": "node", "id": "0", '
        f'"item_id": "kernel_{number}", "connection_id": {number}}}}}'
    )
    flow = (4 << 64) + number
    yield (
        f'{{"ph": "s", "name": "HostToDevice{flow}", "id": "{flow}", "pid": {CANN}, "tid": {PID + 7}, '
        f'"ts": {us(start + 40000)}, "cat": "HostToDevice"}}'
    )
    yield (
        f'{{"ph": "X", "name": "{launched.name}", "pid": {DEVICE}, "tid": {launched.stream}, '
        f'"ts": {us(launched.start)}, "dur": {launched.dur / 1000}, "args": {{"Model Id": 4294967295, '
        f'"Task Type": "AI_CORE", "Physic Stream Id": {launched.stream}, "Task Id": {number % 65536}, "Batch Id": 0, '
        f'"Subtask Id": 4294967295, "connection_id": {number}}}}}'
    )
    yield (
        f'{{"ph": "f", "bp": "e", "name": "HostToDevice{flow}", "id": "{flow}", "pid": {DEVICE}, "tid": {launched.stream}, '
        f'"ts": {us(launched.start)}, "cat": "HostToDevice"}}'
    )
    if number % 10 == 0:
        yield (
            f'{{"ph": "C", "name": "AI Core Freq", "pid": {FREQUENCY}, "tid": 0, "ts": {us(start)}, '
            f'"args": {{"MHz": {rng.choice((800, 1800))}}}}}'
        )


def write(path: Path, megabytes: float, seed: int = 0) -> int:
    """Write the file; returns the number of events."""
    rng, events, written, number = random.Random(seed), 0, 0, 0
    with path.open("w") as out:
        out.write("[" + ", ".join(metadata()))
        while written < megabytes * 1e6:
            text = ", ".join(operator(number, rng))
            written += out.write(", " + text)
            events += text.count('"ph"')
            number += 1
        out.write("]")
    return events


if __name__ == "__main__":
    print(write(Path(sys.argv[1]), float(sys.argv[2])), "events")
