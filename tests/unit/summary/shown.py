"""What TensorBoard reads from a folder of converted events."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
from tensorboard.util import tensor_util


@dataclass
class Shown:
    """By tag: steps with values, and the dashboard; the graph's bytes."""

    values: dict[str, list[tuple[int, np.ndarray[Any, Any]]]] = field(default_factory=dict)
    plugins: dict[str, str] = field(default_factory=dict)
    contents: dict[str, bytes] = field(default_factory=dict)
    graph: bytes = b""

    def steps(self, tag: str) -> list[int]:
        """Steps of a tag."""
        return [step for step, _ in self.values.get(tag, [])]

    def scalars(self, tag: str) -> list[float]:
        """Values of a scalar."""
        return [float(value) for _, value in self.values.get(tag, [])]


def shown(run: Path) -> Shown:
    """The events of a run, as TensorBoard's dashboards get them."""
    out = Shown()
    (file,) = [path for path in run.iterdir() if "tfevents" in path.name and path.stat().st_size]
    for event in EventFileLoader(str(file)).Load():
        out.graph = event.graph_def or out.graph
        for value in event.summary.value:
            plugin = value.metadata.plugin_data
            out.plugins.setdefault(value.tag, plugin.plugin_name)
            out.contents.setdefault(value.tag, plugin.content)
            out.values.setdefault(value.tag, []).append((event.step, tensor_util.make_ndarray(value.tensor)))
    return out
