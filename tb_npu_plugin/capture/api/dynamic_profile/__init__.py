"""Profiles that a config file starts while the training runs (docs/facts/torch_npu_api.md, Dynamic profiles).

from tb_npu_plugin.capture.pytorch import dynamic_profile as dp
dp.init("folder")       # makes folder/profiler_config.json, watches it
for batch in loader:
    train(batch)
    dp.step()           # begins and ends profiles as the file says

With PROF_CONFIG_PATH=<folder> the script needs no change: the steps of the optimizer count.
"""

from __future__ import annotations

import os
import weakref
from typing import Any

from tb_npu_plugin.capture.api.dynamic_profile.config import FOLDER_VARIABLE
from tb_npu_plugin.capture.api.dynamic_profile.control import CONTROL
from tb_npu_plugin.capture.api.messages import never_raises, warn

__all__ = ["init", "set_state", "start", "step"]

#: torch_npu takes requests from the dynolog daemon if one of these is "1".
DAEMON_VARIABLES = ("MSMONITOR_USE_DAEMON", "KINETO_USE_DAEMON")


@never_raises()
def init(path: str) -> None:
    """Watch profiler_config.json in a folder; made with its defaults where it is missing."""
    CONTROL.init(path)


@never_raises()
def step() -> None:
    """A step of the training has ended."""
    CONTROL.step()


@never_raises()
def start(config_path: str | None = None) -> None:
    """Profile from now, as a config file says; None: the one of init."""
    CONTROL.start(config_path)


@never_raises()
def set_state(state_step: dict[str, Any]) -> None:
    """Set the step counter: {"cur_step": int}, for a training that resumes."""
    CONTROL.set_state(state_step)


class _NonIntrusiveProfile:
    """Counts the steps of the newest optimizer as steps of dynamic_profile."""

    _last: weakref.ref[Any] | None = None

    @staticmethod
    @never_raises()
    def init() -> None:
        """Watch the folder of PROF_CONFIG_PATH, if it is set."""
        folder = os.environ.get(FOLDER_VARIABLE, "")
        if not folder:
            name = next((name for name in DAEMON_VARIABLES if os.environ.get(name) == "1"), "")
            if name:
                warn(f"{name}=1 has no effect: the dynolog daemon is not supported. Set {FOLDER_VARIABLE}=<folder>.")
            return
        init(folder)
        if not CONTROL.is_ready:
            return
        from torch.optim import optimizer as module

        optimizers: Any = module.Optimizer
        original = optimizers._patch_step_function

        def patch(self: Any) -> None:
            original(self)
            _NonIntrusiveProfile._last = weakref.ref(self)

        optimizers._patch_step_function = patch
        module.register_optimizer_step_post_hook(_NonIntrusiveProfile._step)

    @staticmethod
    def _step(optimizer: Any, args: Any, kwargs: Any) -> None:
        last = _NonIntrusiveProfile._last
        if last is not None and last() is optimizer:
            step()
