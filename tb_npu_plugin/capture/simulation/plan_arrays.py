"""The rows of a plan as columns: what all steps that run it share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tb_npu_plugin.capture.simulation.plan import Plan

#: ns; longer ones are waits for data, pauses, and the like.
_SHORT = 50_000
Ints = NDArray[np.int64]
Objects = NDArray[np.object_]


def ints(values: Sequence[Any]) -> Ints:
    """A column of numbers."""
    return np.array(values, dtype=np.int64)


def objects(values: Sequence[Any]) -> Objects:
    """A column of anything."""
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


class PlanArrays:
    """Named as in Plan.

    works       0 for ticks without work; short: spells that are skewed, as those of operators are; of the others each
                is a known figure, give or take a tenth
    queue_ticks, streams, ns, launch_draws, compiles, is_new, new   of the elements of the queue; of the launches
    sizes, prepares, takes   call for the size of the workspace on the launching thread, 1 where there is one, and where
                it is taken, too
    traffic     bytes of the launches' kernels by Meters.count_all; ai_cpu: which launches run there
    """

    def __init__(self, plan: Plan) -> None:
        self.spells, self.lots = ints(plan.spells), ints(plan.lots)
        self.works = (self.spells != 0).astype(np.int64)
        self.short = self.spells < _SHORT
        self.queue_ticks = ints([item.tick for item in plan.queue])
        draws = ints([item.draw for item in plan.queue])
        self._launches(plan, draws)
        self.copy_draws = draws[ints([copy[0] for copy in plan.copies])]
        self.exchange_draws = draws[ints([place for place, _ in plan.exchanges])]
        self._records(plan)

    def _launches(self, plan: Plan, draws: Ints) -> None:
        kernels = [item.launch.kernel for item in plan.launches]
        self.launch_places = ints([item.place for item in plan.launches])
        self.sizes = ints([item.size for item in plan.launches])
        self.prepares, self.takes = (self.sizes >= 0).astype(np.int64), ints([item.takes for item in plan.launches])
        self.prepare_draws = draws[self.launch_places]
        self.launch_draws = self.prepare_draws + self.prepares + self.takes
        self.ns = ints([item.launch.ns for item in plan.launches])
        self.streams = ints([plan.tasks[item.task].stream for item in plan.launches])
        self.compiles = np.array([item.launch.compiled for item in plan.launches], dtype=bool)
        self.is_new = ints([item.compiles >= 0 for item in plan.launches])
        self.new: list[int] = np.flatnonzero(self.is_new).tolist()
        self.ai_cpu = np.array([kernel.core == "AI_CPU" for kernel in kernels], dtype=bool)
        self.traffic = [
            ints([getattr(kernel.work, way) for kernel in kernels])
            for way in ("main_read", "main_written", "cached", "kept")
        ]
        self.launch_tasks = ints([item.task for item in plan.launches])
        self.launch_nodes = ints([item.node for item in plan.launches])
        self.runtimes = ints([item.runtime for item in plan.launches])
        self.compile_calls = ints([item.compiles for item in plan.launches])
        self.copy_places = ints([copy[0] for copy in plan.copies])
        self.copy_calls = ints([copy[1] for copy in plan.copies])
        self.copy_tasks = ints([first + more for _, _, first, parts, _ in plan.copies for more in range(parts)])
        self.copy_of_task = ints([number for number, copy in enumerate(plan.copies) for _ in range(copy[3])])
        self.exchange_places = ints([place for place, _ in plan.exchanges])
        self.exchange_calls = ints([call for _, call in plan.exchanges])
        self.waits = ints(plan.waits)
        self.host_calls = ints(plan.host_calls).reshape(-1, 3)

    def _records(self, plan: Plan) -> None:
        ops, frames = plan.ops, plan.frames
        self.op_infos = [op.info for op in ops]
        self.op_threads = ints([op.thread for op in ops])
        self.op_starts, self.op_ends = ints([op.start for op in ops]), ints(plan.op_ends)
        self.op_sequences = ints([op.sequence for op in ops])
        self.op_backward = [int(op.backward) for op in ops]
        self.frame_names = [frame.name for frame in frames]
        self.frame_starts, self.frame_ends = ints([frame.start for frame in frames]), ints(plan.frame_ends)
        self.frame_ids, self.frame_parents = (
            ints([getattr(frame, way) for frame in frames]) for way in ("id", "parent")
        )
        self.frame_modules = [frame.module for frame in frames]
        self.queue_names = [item.name for item in plan.queue]
        self.queue_ops = ints([item.op for item in plan.queue])
        self.call_levels, self.call_names, self.call_items, self.call_modes = (
            objects([getattr(call, way) for call in plan.calls]) for way in ("level", "name", "item", "mode")
        )
        self.call_threads = ints([call.thread for call in plan.calls])
        self.task_kernels = objects([task.kernel for task in plan.tasks])
        self.task_streams, self.task_ops, self.task_connections, self.task_sizes, self.task_threads = (
            ints([getattr(task, way) for task in plan.tasks])
            for way in ("stream", "op", "connection", "size", "thread")
        )
        self.total_components = [total.component for total in plan.totals]
        self.total_ticks = ints([total.tick for total in plan.totals])
        self.total_later = ints([total.later for total in plan.totals])
        self.total_launches = ints([total.launch for total in plan.totals])
        self.taken = np.flatnonzero(self.total_launches >= 0)
