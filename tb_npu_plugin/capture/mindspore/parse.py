"""A capture of MindSpore on the CPU becomes the result of a run on an NPU: the host as MindSpore recorded it, without the time
for which the CPU computed, and a simulated device. Needs no MindSpore."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tb_npu_plugin.capture import side_files
from tb_npu_plugin.capture.mindspore.exchanges import TYPES, MindSporeExchanges, later_ranks
from tb_npu_plugin.capture.mindspore.raw_data import Event, Launch, RawData, Shape, host_clock, read
from tb_npu_plugin.capture.recording.recorded_host import END, ROOM, RecordedHost
from tb_npu_plugin.capture.simulation.chips import chosen_chip
from tb_npu_plugin.capture.simulation.collectives import COLLECTIVES
from tb_npu_plugin.capture.simulation.kernels import KernelFactory, plain_format
from tb_npu_plugin.capture.simulation.launch import Launch as KernelLaunch
from tb_npu_plugin.capture.simulation.records import HostOp, OpInfo, Process, PyCall, Segment, Totals, UserMark
from tb_npu_plugin.capture.simulation.work import Tensor
from tb_npu_plugin.capture.writers.files import Output
from tb_npu_plugin.capture.writers.framework import Files
from tb_npu_plugin.capture.writers.mindspore.record import LAUNCH
from tb_npu_plugin.capture.writers.mindspore.result import MINDSPORE
from tb_npu_plugin.capture.writers.options import Options
from tb_npu_plugin.csv_tables import read_table
from tb_npu_plugin.errors import BadFile
from tb_npu_plugin.gc_pause import gc_paused
from tb_npu_plugin.schema import mindspore as names
from tb_npu_plugin.schema.chips import Chip
from tb_npu_plugin.schema.mindspore import SHAPE_SEPARATOR
from tb_npu_plugin.schema.settings import STORED_METRICS
from tb_npu_plugin.schema.torch_npu_json import OUTPUT_FOLDER
from tb_npu_plugin.schema.trace import STEP_MARK

#: Operators -> the ATen operator that launches the same kernels on an NPU (simulation/launch.py). Each other operator launches one kernel of its name.
OPERATORS = {operator: row["aten"] for operator, row in read_table(__file__, "operators.csv", dict[str, str]).items()}


def parse_folder(path: str | Path) -> None:
    """Write ASCEND_PROFILER_OUTPUT anew. TB_NPU_CHIP chooses the chip. Raises BadFile and OSError."""
    folder = Path(path)
    data, options, chip = read(folder), _options(folder), chosen_chip()
    out = folder / OUTPUT_FOLDER
    shutil.rmtree(out, ignore_errors=True)
    with gc_paused():
        replay = Replay(data, chip, options, later_ranks(folder, data))
        # the host was recorded as MindSpore records it
        recorded = replace(MINDSPORE, record=lambda process, options: lambda segment: segment)
        files = Files(Output(out, replay.process, options, recorded.dialect), recorded)
        for segment in replay.segments():
            files.add(segment)
        files.close()


def _options(folder: Path) -> Options:
    """The settings, from profiler_info_<rank>.json."""
    try:
        found = side_files.read_info(folder)[names.PARAMETERS]
        level = names.LEVELS[found["profiler_level"]]
    except (KeyError, TypeError) as error:
        raise BadFile(f"{folder} has no settings: {error}", "Record it again.") from error
    metrics = STORED_METRICS.get(found.get("aic_metrics"), "ACL_AICORE_NONE")
    activities = found.get("activities", ())
    switches = ("record_shapes", "profile_memory", "with_stack", "l2_cache")
    shapes, memory, stack, l2_cache = (bool(found.get(name)) for name in switches)
    return Options(
        *(level, metrics, shapes, memory, stack, l2_cache, "CPU" in activities, "NPU" in activities),
        sys_io=bool(found.get("sys_io")),
        sys_interconnection=bool(found.get("sys_interconnection")),
        export=tuple(found.get("export_type") or ("text",)),
        schedule=found.get(names.SCHEDULE) if found.get(names.IS_SET_SCHEDULE) else None,
    )


#: Columns of a kernel that show types, and those that show shapes.
_TYPES, _SHAPES = ("input_types", "output_types"), ("inputs", "outputs", "input_formats", "output_formats")


def _without(columns: tuple[str, ...], launch: KernelLaunch) -> KernelLaunch:
    return replace(launch, kernel=replace(launch.kernel, **dict.fromkeys(columns, "")))  # type: ignore[arg-type]


class Replay:
    """One capture. `segments` may be taken once. later: as exchanges.later_ranks has it."""

    def __init__(
        self, data: RawData, chip: Chip, options: Options, later: dict[tuple[str, int], dict[int, int]]
    ) -> None:
        capture = data.capture
        self._data, self._options, self._kernels = data, options, KernelFactory(chip)
        self._without = cache(_without)
        self._clock = host_clock(data, data.executions)
        start = int(self._clock(capture["start"]))
        tids = {one.tid for one in data.launches} | {one.tid for one in data.events}
        self._exchanges = MindSporeExchanges(data, chip, later)
        threads = sorted({capture["pid"], *tids} - {0})
        whose = (capture["pid"], capture["rank"], capture["rank"], capture["world"], start, start)
        self.process = Process(*whose, options.npu, bool(data.steps), threads, chip=chip)
        seed, has_runtime = f"{capture['pid']}/{capture['start']}", options.level >= 2
        self._host = RecordedHost(self.process, seed, self._clock, has_runtime, task_queue=0)
        self._host.join(self._exchanges.groups)
        self._info = cache(OpInfo)

    def segments(self) -> Iterator[Segment]:
        """One per step, each to the end of its mark and the last one to the end; one for all without steps."""
        marks: list[Event | None] = [*self._data.steps] or [None]
        bounds = [0, *(mark.end for mark in self._data.steps[:-1]), END]
        for mark, since, until in zip(marks, bounds, bounds[1:]):
            yield self._segment(mark, since, until)

    def _segment(self, mark: Event | None, since: int, until: int) -> Segment:
        """Of recorded times from `since` to `until`. mark: of the step, None without steps."""
        host, clock = self._host, self._clock
        launches = [one for one in self._data.launches if since <= one.start < until]
        times: list[int] = [int(time) for time in clock(np.array([one.start for one in launches], dtype=np.int64))]
        first = mark.start if mark is not None else self._data.capture["start"]
        host.clock.begin(max(int(clock(first)), host.clock.recorded))
        for launch, now, limit in zip(launches, times, [*times[1:], *times[-1:]]):
            host.clock.move_to(now, max(limit, now + ROOM))
            self._launch(launch)
        end = int(clock(mark.end if mark is not None else self._data.capture["end"] or first))
        host.clock.move_to(end, end)
        if self._options.npu:
            host.wait_for_device()
        if mark is not None:
            host.add_step(int(mark.name.rpartition(STEP_MARK)[2]), self._host.shown(mark.start))
        segment = host.take_step()
        self._add_host_events(segment, since, until)
        self.process.end = max(self.process.end, host.stopped())
        segment.until = END if until == END else min(segment.until, self._host.shown(until))
        return segment

    def _launch(self, launch: Launch) -> None:
        host, tid = self._host, launch.tid or self.process.pid
        host.use(tid, 0)
        text = SHAPE_SEPARATOR.join(",".join(map(str, shape)) for shape in launch.shapes or ())
        op = host.begin_operator(self._info(LAUNCH + launch.node, text), tid)
        if self._options.npu:
            if launch.type in COLLECTIVES:
                self._exchanges.run(host, launch)
            else:
                host.launch_all(self._kernels_of(launch))
        host.end_operator(op)

    def _kernels_of(self, launch: Launch) -> tuple[KernelLaunch, ...]:
        """Kernels of an operator. Inputs without a known type take as long as FLOAT, those without known shapes as long as one
        element, and the result shows neither."""
        shapes = launch.shapes or ((1, 1, 1, 1),) * 3  # as many as any rule reads
        has_types = bool(launch.types) and TYPES.keys() >= set(launch.types)
        types = tuple(TYPES[one] for one in launch.types) if has_types else ("float",) * len(shapes)
        made = self._launches(launch, shapes, types)
        unknown = () if has_types and launch.shapes else _TYPES if launch.shapes else (*_TYPES, *_SHAPES)
        return tuple(self._without(unknown, one) for one in made) if unknown else made

    def _launches(self, launch: Launch, shapes: tuple[Shape, ...], types: tuple[str, ...]) -> tuple[KernelLaunch, ...]:
        known = [launch.output] if launch.output is not None else []
        outputs = tuple(Tensor(shape, TYPES.get(type_, "float"), plain_format(shape)) for shape, type_ in known)
        own = f"mindspore::{launch.type}"
        try:
            return self._kernels.launches(OPERATORS.get(launch.type, own), shapes, types, outputs)
        except (IndexError, ValueError):  # too few tensors for these kernels: a convolution whose output is unknown
            return self._kernels.launches(own, shapes, types, outputs)

    def _add_host_events(self, segment: Segment, since: int, until: int) -> None:
        """Add the framework's events, the memory, and what was recorded beside them."""
        at, data, pid = self._host.shown, self._data, self.process.pid

        def within(rows: list[Any], start: int = 0) -> list[Any]:
            """Those that begin in this time; start: the place of their beginning."""
            return [row for row in rows if since <= row[start] < until]

        events = within(data.events) if self._options.cpu else []
        ops = [HostOp(self._info(one.name), one.tid, at(one.start), at(one.end)) for one in events]
        segment.ops = sorted([*segment.ops, *ops], key=lambda op: (op.start, -op.end))
        memory = within(data.memory)
        segment.totals = [Totals(names.MINDSPORE, at(when), used, reserved, used) for when, used, reserved in memory]
        segment.memory = []
        marks, calls = within(data.marks), sorted(within(data.stacks, start=1), key=lambda call: call[1])
        segment.marks = [UserMark(text, domain, tid, at(start), at(end)) for start, end, tid, text, domain in marks]
        segment.python = [PyCall(name, pid, at(start), at(end), *numbers) for name, start, end, *numbers in calls]
