"""How long a step was prepared, where nothing of it came to run. Source: specs/ascend_pt.md 4.9."""

from __future__ import annotations

import numpy as np

from tb_npu_plugin.tables import NULL_INT, Table


def with_known_preparing(tables: dict[str, Table]) -> dict[str, Table]:
    """The tables; in step_trace the preparation of a step that neither computed nor communicated is unknown. torch_npu
    counts it to -1 us after 1970 then: it took minus 50 years, and steps with it began 50 years late."""
    steps = tables.get("step_trace")
    if steps is None or not all(map(steps.has, ("computing", "communication", "preparing"))):
        return tables
    idle = (steps.ints("computing") == 0) & (steps.ints("communication") == 0)
    if not idle.any():
        return tables
    data = {**steps.data, "preparing": np.where(idle, NULL_INT, steps.ints("preparing"))}
    return {**tables, "step_trace": Table(steps.columns, data)}
