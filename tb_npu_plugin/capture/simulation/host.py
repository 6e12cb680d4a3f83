"""The host of one rank: carries out programs on its device, step by step, and leaves records.

The clock is shared by the main and the autograd thread, one of which always waits. Host times lie on a 10 ns grid as on
real ARM hosts. The same seed gives the same times, whether records are kept or not: the times of a whole cluster are worked
out first (cluster.py), and then each rank is recorded by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, repeat
from random import Random
from typing import Any, NamedTuple

import numpy as np

from tb_npu_plugin.capture.simulation.allocator import CachingAllocator
from tb_npu_plugin.capture.simulation.batch import RECEIVED
from tb_npu_plugin.capture.simulation.chips import Chip
from tb_npu_plugin.capture.simulation.collectives import PHASES, Exchange, count_of
from tb_npu_plugin.capture.simulation.columns import Ints
from tb_npu_plugin.capture.simulation.cost import COMPILE, COMPILED
from tb_npu_plugin.capture.simulation.device import (
    ARRIVE,
    COMMUNICATE,
    TAKE_WORKSPACE,
    WORKSPACE_SIZE,
    Device,
    Floats,
    launch_times,
    skewed,
    vary,
    whole,
)
from tb_npu_plugin.capture.simulation.plan import Action, Circumstances, Plan
from tb_npu_plugin.capture.simulation.planes import Planes
from tb_npu_plugin.capture.simulation.planner import plan_of
from tb_npu_plugin.capture.simulation.program import Program, Transfer
from tb_npu_plugin.capture.simulation.records import BATCH, CommOp, GcPause, Group, Process, Segment
from tb_npu_plugin.capture.simulation.step import Counters, Recording, Step

#: Launches from one that is preempted to the next one.
PREEMPTED = 40


class RandomStream:
    """Numbers from 0 to 1, the same that Random(seed).random() gives one by one: both are the Mersenne Twister."""

    def __init__(self, seed: str) -> None:
        *key, place = Random(seed).getstate()[1]
        self._twister = np.random.RandomState()
        self._twister.set_state(("MT19937", np.array(key, dtype=np.uint32), place, 0, 0.0))

    def take(self, count: int) -> Floats:
        """The next numbers."""
        return self._twister.random_sample(count)


@dataclass(frozen=True)
class HostFaults:
    """What goes wrong on one host: ns of each pause of the garbage collector, ns that the loader takes more, ns of mapping
    device memory, factor of all its work, ns for which the launching thread loses its core at each PREEMPTED-th launch."""

    gc: int = 0
    loader: int = 0
    allocator: int = 0
    slow: float = 1.0
    preempted: int = 0


@dataclass(frozen=True)
class Place:
    """One rank: which process, which chip, what it holds before the capture, and what to record.

    keep        records are kept; otherwise only times are worked out
    runtime     runtime calls are recorded (level 2)
    slow        factor of the kernels' durations
    task_queue  TASK_QUEUE_ENABLE
    fragmented  bytes of the allocator's segments that are in pieces before the capture
    threads     ids by plan.Thread; without: those of a simulated process
    """

    process: Process
    chip: Chip
    seed: int | str
    held: int
    keep: bool = True
    runtime: bool = False
    slow: float = 1.0
    task_queue: int = 1
    fragmented: int = 0
    threads: tuple[int, ...] = ()


class Arrival(NamedTuple):
    """A rank at a communication operator: when, and by which launch."""

    at: int
    connection: int
    acl: int
    tid: int


class Host:
    """Runs programs. `run` stops at each communication and is resumed when its end is known."""

    #: Role of a group -> its index on this rank; set by the cluster.
    groups: dict[str, int]
    #: This rank at the communication where it has stopped.
    arrival: Arrival
    #: Of the last step, as cluster.Truth has them.
    figures: dict[str, int]

    def __init__(self, place: Place, faults: HostFaults) -> None:
        process = place.process
        self.process, self._place, self._faults = process, place, faults
        self._random = RandomStream(f"{place.seed}/{process.rank}")
        self.device = Device(place.chip, process.start, place.slow, place.task_queue)
        self.allocator = CachingAllocator(place.chip.memory)
        self.allocator.hold(place.held)
        if place.fragmented:
            self.allocator.fragment(place.fragmented)
        self.now = process.start
        main, autograd = process.pid, process.pid + 91
        #: By plan.Thread.
        self._threads = place.threads or (main, autograd, process.dequeue_tid, main + 133)
        if not place.threads:
            launching = [process.dequeue_tid] if process.npu and place.task_queue else []
            process.threads[:] = [main, *launching, autograd]
        self._recording = (
            Recording(process, self._threads, self.device.meters, place.task_queue > 0) if place.keep else None
        )
        self._counters = Counters()
        self._workspaces: tuple[tuple[int, int], ...] = ()
        self._step: Step | None = None

    def _plan(self, program: Program) -> Plan:
        """Of the next step. Most steps run the program of the step before."""
        faults, place = self._faults, self._place
        around = Circumstances(
            self.process.marks,
            self.process.npu,
            place.runtime,
            faults.gc,
            faults.loader,
            faults.allocator,
            place.task_queue,
            self._workspaces,
        )
        plan, device = program.plans.get(around), self.device
        if plan is None or not plan.compiled <= device.compiled:
            plan = plan_of(program, around, device.compiled)
            if not plan.once:
                program.plans[around] = plan
        device.compiled |= plan.compiled
        self._workspaces = plan.workspaces
        return plan

    # -- a step -------------------------------------------------------------------------------------
    def run(self, program: Program, number: int) -> Iterator[Transfer]:
        """One step, in a segment of its own. Stops at each communication, with `arrival` set."""
        plan = self._plan(program)
        step = self._step = self._begin(plan, number)
        if plan.aside and self._threads[-1] not in self.process.threads:
            self.process.threads.append(self._threads[-1])
        self._draw(step)
        yield from self._carry_out(step)
        step.apply_host_delay()
        self.now = int(step.clock[-1])
        step.memory = self.allocator.carry_out(plan.events)
        step.pauses = [GcPause(self._threads[0], *step.clock[list(ticks)].tolist()) for ticks in plan.pauses]
        self.figures["pauses"] = sum(pause.end - pause.start for pause in step.pauses)
        self.figures["loading"] = sum(int(step.clock[end] - step.clock[start]) for start, end in plan.loads)
        self.figures["allocated"], self.figures["reserved"] = self.allocator.allocated, self.allocator.reserved
        self._counters = self._counters.behind(plan)

    def _begin(self, plan: Plan, number: int) -> Step:
        step = Step(plan, number, self._counters)
        if self._recording is not None:
            self._recording.begin(step)
        return step

    def _draw(self, step: Step) -> None:
        """How long everything takes: of the host's work, which moves the clock, and of launches."""
        plan, device = step.plan, self.device
        arrays = plan.arrays
        draws = self._random.take(plan.draws)
        step.clock = self._clock(plan, draws)
        compiling = np.where(arrays.compiles, COMPILED, 0)
        compiling[arrays.new] = vary(COMPILE, draws[arrays.launch_draws[arrays.new] + 1])
        firsts, others = arrays.launch_draws, arrays.launch_draws + arrays.is_new
        columns = (draws[firsts], *(draws[others + more] for more in range(1, 6)))
        times = launch_times(columns, arrays.ns, device.slow)
        if self._faults.preempted:
            is_hit = np.arange(len(arrays.ns)) % PREEMPTED == PREEMPTED - 1
            times = times._replace(inner=times.inner + np.where(is_hit, self._faults.preempted, 0))
        step.launches = times
        sized = vary(WORKSPACE_SIZE, draws[arrays.prepare_draws])
        taken = vary(TAKE_WORKSPACE, draws[arrays.prepare_draws + 1])
        step.sized, step.prepared = sized * arrays.prepares, sized * arrays.prepares + taken * arrays.takes
        step.compiling = compiling
        step.copies = vary(ARRIVE, draws[arrays.copy_draws])
        step.exchanges = vary(COMMUNICATE, draws[arrays.exchange_draws])
        self.figures = {
            "computing": int(times.dur.sum()),
            "slowed": int(times.slowed.sum()),
            "ai_cpu": int(times.dur[arrays.ai_cpu].sum()),
            "compiles": len(arrays.new),
            "compile": int(compiling[arrays.new].sum()),
        }

    def _clock(self, plan: Plan, draws: Floats) -> Ints:
        """Time of each tick of a plan, as long as the host waits for nothing."""
        arrays = plan.arrays
        lot = draws[arrays.lots]
        shares: Floats = np.where(arrays.short, skewed(lot) * self._faults.slow, 0.9 + 0.2 * lot)
        spells = whole(arrays.spells * shares) // 10 * 10 + 10
        clock = np.empty(len(spells) + 1, dtype=np.int64)
        clock[0] = 0
        np.cumsum(spells * arrays.works, out=clock[1:])
        return clock + self.now

    def _awaited(self, argument: Any) -> int:
        """When what a stream waits for is done. argument: of the action."""
        return self.device.communication_until(self.groups[argument])

    def _carry_out(self, step: Step) -> Iterator[Transfer]:
        """Ask the device, in order."""
        device, plan, times = self.device, step.plan, step.launches
        ticks, late = plan.arrays.queue_ticks.tolist(), 0
        starts = step.clock[plan.arrays.queue_ticks].tolist()
        before = step.prepared + times.before + step.compiling
        launches = zip(*(column.tolist() for column in (plan.arrays.streams, before, *times[1:6])))
        calls = {
            Action.COPY: iter(step.copies.tolist()),
            Action.COMMUNICATE: iter(step.exchanges.tolist()),
            Action.MARK: repeat(0),
        }
        for action, place, argument in plan.actions:
            if action is Action.LAUNCH:
                found, lates, late = device.run(starts[place : place + argument], islice(launches, argument), late)
                step.queue += found
                step.lates += [(ticks[place + behind] + 1, by) for behind, by in lates]
            elif action is Action.WAIT:
                stream = plan.tasks[plan.waits[place]].stream
                step.waits.append(device.hold(self._awaited(argument), stream))
            elif action is Action.RECORD_EVENT:
                self._record_event(argument)
            elif action is Action.SYNCHRONIZE:
                late = self._synchronize(step, place, late)
            else:
                start = starts[place] + late
                resumes = device.room_at(start)
                begin = self._call(step, action, argument, start, next(calls[action]))
                step.queue.append((begin, 0, 0))
                if not device.task_queue:  # the operator has launched by itself
                    resumes = device.free_at
                if resumes > start:
                    by = -(-resumes // 10) * 10 - start
                    late += by
                    step.lates.append((ticks[place] + 1, by))
                if action is Action.COMMUNICATE:
                    yield argument
                    step.exchanged += 1

    def _call(self, step: Step, action: Action, argument: Any, start: int, took: int) -> int:
        """A mark, copy or communication is enqueued at `start`; gives when its call begins, which takes `took`."""
        device = self.device
        if action is Action.MARK:
            return self._mark(argument, start)
        if action is Action.COPY:
            begin, rows, dur = device.move(start, took, *argument)
            step.copied += [(row, dur) for row in rows]
            return begin
        begin, at = device.meet(start, took, self.groups[argument.group])
        self._arrive(step, at, begin + took // 20 * 10)
        return begin

    def _mark(self, argument: Any, start: int) -> int:
        """A mark is put on a stream; gives when its call begins. Programs put none."""
        return start

    def _record_event(self, argument: Any) -> None:
        """An event is recorded on a stream. Programs record none."""

    def _arrive(self, step: Step, at: int, acl: int) -> None:
        """This rank is at the next communication of its step."""
        place, call = step.plan.exchanges[step.exchanged]
        thread = step.plan.queue[place].thread
        self.arrival = Arrival(at, self._counters.connection + call + 3, acl, self._threads[thread])

    def _synchronize(self, step: Step, tick: int, late: int) -> int:
        """Wait on the main thread until the device has done everything; gives how late the host is then."""
        device, planned = self.device, int(step.clock[tick])
        start = max(planned + late, -(-device.free_at // 10) * 10 + 10)
        end = (max(device.busy_until(), start) + 15_000) // 10 * 10
        step.lates += [(tick, start - planned - late), (tick + 1, end - start)]
        return end - planned

    def communicated(
        self, name: str, transfer: Transfer, exchange: Exchange, group: Group, end: int, planes: Planes
    ) -> None:
        """The communication where this rank has stopped is done at `end`."""
        self.device.part(group.index, end)
        if self._recording is None or self._step is None:
            return
        step, arrival, type_ = self._step, self.arrival, transfer.type
        is_mesh = group.planes > 1 and exchange.type in PHASES
        receives = type_ == BATCH and any(task.plane == RECEIVED for task in planes.pattern.tasks)
        op = CommOp(
            name,
            type_,
            group,
            arrival.at,
            end - arrival.at,
            arrival.connection,
            arrival.acl,
            arrival.tid,
            count_of(type_, exchange.size // transfer.item, len(group.ranks)),
            planes,
            step.ops[step.plan.queue[step.plan.exchanges[step.exchanged][0]].op],
            main=1 if is_mesh or receives else 0,
            data_type=transfer.data_type or {1: "INT8", 4: "FP32"}.get(transfer.item, "BFP16"),
            algorithm="MESH-RING" if is_mesh else "RING",
        )
        step.comm.append(op)
        self.device.meters.count_communication(op)

    def stopped(self) -> int:
        """When the profiler has stopped, if it does so now: it waits for the device first."""
        return max(self.now, self.device.busy_until()) if self.process.npu else self.now

    def take(self) -> Segment:
        """The segment of the step that has just been run, complete."""
        step, self._step = self._step, None
        assert step is not None and self._recording is not None
        npu, device = self.process.npu, self.device
        segment = self._recording.segment(step, min(self.now, device.free_at) if npu else self.now)
        if npu:
            device.meters.sample(segment, segment.until, self.allocator.reserved)
        return segment
