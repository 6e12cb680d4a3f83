"""Counters of the device: memory traffic, cache, clock, memory of the process and of CANN's components.

Kernels leave their output in the L2 cache where it fits (launch.py). What was left there longest is written to the main
memory when the cache is full: by the next sample, or by a later one where that is more than the memory takes.
"""

from __future__ import annotations

from tb_npu_plugin.capture.simulation.chips import Chip
from tb_npu_plugin.capture.simulation.records import CommOp, ModuleSample, Sample, Segment, Task

#: ns between two samples, as profile_memory switches it on (50 Hz).
EVERY = 20_000_000
#: ns by which a sample may come late, in steps of 10 (as in the public sample of a real 910B).
_LATE = 30_000
#: Traffic of the banks of the memory by their mean: they differ a little (as there).
_BANKS = (1.004, 1.001, 0.998, 0.997)
#: Bytes that CANN's components hold beside the caching allocator: HCCL per communicator (two buffers of 200 MB).
_RUNTIME, _GRAPH_ENGINE, _HCCL = 92 << 20, 76 << 20, 400 << 20
_IDLE_CLOCK = 800


class Meters:
    """Samples at fixed moments, or a little later; each covers the time between two such moments."""

    def __init__(self, chip: Chip, start: int) -> None:
        self._chip, self._next = chip, start
        self._traffic: dict[int, list[int]] = {}  # window -> bytes: from and to main memory, from and to the cache
        self._moved: dict[int, int] = {}
        self._unwritten = 0  # bytes in the cache that the main memory does not have
        self._start = start
        self.communicators = 0

    def count(self, task: Task) -> None:
        """Note the traffic of a task."""
        work = task.kernel.work
        window = (task.start - self._start) // EVERY
        traffic = self._traffic.get(window)
        if traffic is None:
            traffic = self._traffic[window] = [0, 0, 0, 0]
        traffic[0] += work.main_read
        traffic[1] += work.main_written
        traffic[2] += work.cached
        traffic[3] += work.kept

    def count_communication(self, op: CommOp) -> None:
        """Note the traffic of a communication operator."""
        window = (op.start - self._start) // EVERY
        self._moved[window] = self._moved.get(window, 0) + op.planes.pattern.size

    def sample(self, segment: Segment, until: int, reserved: int) -> None:
        """Take the samples that are due before `until`. reserved: bytes of the caching allocator."""
        while self._next < until:
            window = (self._next - self._start) // EVERY - 1
            at = self._next + (self._next * 40_503 >> 8) % (_LATE // 10) * 10
            read, written, cached, kept = self._traffic.pop(window, (0, 0, 0, 0))
            moved = self._moved.pop(window, 0)
            written += self._write_back(kept, read + written + 2 * moved)
            busy = read + written + cached + moved > 0
            add = segment.samples.append
            add(Sample("AI Core Freq", "AI Core Freq", "MHz", at, self._chip.clock if busy else _IDLE_CLOCK))
            for bank, share in enumerate(_BANKS):
                for name, size in (("Read", read + moved), ("Write", written + moved)):
                    rate = round(size * share / len(_BANKS) / EVERY * 1000, 3)
                    add(Sample("HBM", f"HBM {bank}/{name}", f"{name}(MB/s)", at, rate))
            hit = round(cached / (read + cached), 6) if cached else 0.0
            throughput = round((read + cached) / EVERY * 1000, 3)
            add(Sample("LLC", "LLC 0 Read/Throughput", "Throughput(MB/s)", at, throughput))
            add(Sample("LLC", "LLC 0 Read/Hit Rate", "Hit Rate(%)", at, hit))
            hccl = _HCCL * self.communicators
            whole = reserved + hccl + _RUNTIME + _GRAPH_ENGINE
            for name, size in (("APP", whole), ("Device", whole + (236 << 20))):
                for kind, value in (("DDR", 0.0), ("HBM", size / 1024), ("Memory", size / 1024)):
                    add(Sample("NPU MEM", f"{name}/{kind}", "KB", at, value))
            sizes = {"PROCESS": whole, "APP": reserved, "HCCL": hccl}
            sizes |= {"RUNTIME": _RUNTIME, "GE": _GRAPH_ENGINE, "SLOG": 0}
            segment.modules += [ModuleSample(component, at, size) for component, size in sizes.items()]
            self._next += EVERY

    def _write_back(self, kept: int, other: int) -> int:
        """Bytes that the cache writes to the main memory in a window; kept: those that it got, other: other traffic."""
        self._unwritten += kept
        room = int(self._chip.bandwidth * EVERY / 1e9) - other
        written = max(0, min(self._unwritten - self._chip.cache, room))
        self._unwritten -= written
        return written
