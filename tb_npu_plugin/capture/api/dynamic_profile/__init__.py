"""Profiles while the training runs, by a file that is edited (docs/facts/torch_npu_api.md, Dynamic profiles).

from tb_npu_plugin.capture.pytorch import dynamic_profile as dp
dp.init("folder")       # makes folder/profiler_config.json, watches it
for batch in loader:
    train(batch)
    dp.step()           # begins and ends profiles as the file says
"""

from __future__ import annotations

from typing import Any

from tb_npu_plugin.capture.api.dynamic_profile.control import CONTROL
from tb_npu_plugin.capture.api.messages import guarded

__all__ = ["init", "set_state", "start", "step"]


@guarded()
def init(path: str) -> None:
    """Watch profiler_config.json in a folder; made with its defaults where it is missing."""
    CONTROL.init(path)


@guarded()
def step() -> None:
    """A step of the training has ended."""
    CONTROL.step()


@guarded()
def start(config_path: str | None = None) -> None:
    """Profile from now, as a config file says; None: the one of init."""
    CONTROL.start(config_path)


@guarded()
def set_state(state: dict[str, Any]) -> None:
    """Set the step counter: {"cur_step": int}, for a training that resumes."""
    CONTROL.set_state(state)
