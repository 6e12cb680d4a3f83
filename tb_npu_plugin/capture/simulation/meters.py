"""Counters of the device: memory traffic, cache, clock, memory of the process and of CANN's components."""

from __future__ import annotations

from tb_npu_plugin.capture.simulation.chips import Chip
from tb_npu_plugin.capture.simulation.records import CommOp, ModuleSample, Sample, Segment, Task

#: ns between two samples, as profile_memory switches it on (50 Hz).
EVERY = 20_000_000
_BANKS = 4
#: Bytes that CANN's components hold beside the caching allocator: HCCL per communicator (two buffers of 200 MB).
_RUNTIME, _GRAPH_ENGINE, _HCCL = 92 << 20, 76 << 20, 400 << 20
_IDLE_CLOCK = 800


class Meters:
    """Samples at fixed moments; each covers the time since the one before."""

    def __init__(self, chip: Chip, start: int) -> None:
        self._chip, self._next = chip, start
        self._read: dict[int, int] = {}
        self._written: dict[int, int] = {}
        self._moved: dict[int, int] = {}
        self._start = start
        self.communicators = 0

    def count(self, task: Task) -> None:
        """Note the traffic of a task."""
        window = (task.start - self._start) // EVERY
        work = task.kernel.work
        self._read[window] = self._read.get(window, 0) + work.read
        self._written[window] = self._written.get(window, 0) + work.written

    def count_communication(self, op: CommOp) -> None:
        """Note the traffic of a communication operator."""
        window = (op.start - self._start) // EVERY
        self._moved[window] = self._moved.get(window, 0) + sum(task.size for task in op.planes)

    def sample(self, segment: Segment, until: int, reserved: int) -> None:
        """Take the samples that are due before `until`. reserved: bytes of the caching allocator."""
        while self._next < until:
            at, window = self._next, (self._next - self._start) // EVERY - 1
            read, written = self._read.pop(window, 0), self._written.pop(window, 0)
            moved = self._moved.pop(window, 0)
            busy = read + written + moved > 0
            add = segment.samples.append
            add(Sample("AI Core Freq", "AI Core Freq", "MHz", at, self._chip.clock if busy else _IDLE_CLOCK))
            for bank in range(_BANKS):
                for name, size in (("Read", read + moved), ("Write", written + moved)):
                    rate = round(size / _BANKS / EVERY * 1000, 3)
                    add(Sample("HBM", f"HBM {bank}/{name}", f"{name}(MB/s)", at, rate))
            hit = round(min(0.95, 0.35 + 0.5 * written / (read + written)), 6) if read + written else 0.0
            throughput = round((read + written) * 1.2 / EVERY * 1000, 3)
            add(Sample("LLC", "LLC 0 Read/Throughput", "Throughput(MB/s)", at, throughput))
            add(Sample("LLC", "LLC 0 Read/Hit Rate", "Hit Rate(%)", at, hit))
            self._memory(segment, at, reserved)
            self._next += EVERY

    def _memory(self, segment: Segment, at: int, reserved: int) -> None:
        hccl = _HCCL * self.communicators
        whole = reserved + hccl + _RUNTIME + _GRAPH_ENGINE
        for name, size in (("APP", whole), ("Device", whole + (236 << 20))):
            for kind, value in (("DDR", 0.0), ("HBM", size / 1024), ("Memory", size / 1024)):
                segment.samples.append(Sample("NPU MEM", f"{name}/{kind}", "KB", at, value))
        sizes = {"PROCESS": whole, "APP": reserved, "HCCL": hccl, "RUNTIME": _RUNTIME, "GE": _GRAPH_ENGINE, "SLOG": 0}
        segment.modules += [ModuleSample(component, at, size) for component, size in sizes.items()]
