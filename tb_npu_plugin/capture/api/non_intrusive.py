"""dynamic_profile without a change of the script, by the environment: PROF_CONFIG_PATH=<folder>, or the dynolog daemon
(docs/facts/torch_npu_api.md, Dynamic profiles)."""

from __future__ import annotations

import os
import weakref
from typing import Any

from tb_npu_plugin.capture.api import dynamic_profile
from tb_npu_plugin.capture.api.dynamic_profile.config import FOLDER_VARIABLE
from tb_npu_plugin.capture.api.dynamic_profile.control import CONTROL
from tb_npu_plugin.capture.api.dynamic_profile.dynolog import is_wanted
from tb_npu_plugin.capture.api.messages import guarded


class _NonIntrusiveProfile:
    """Each step of the optimizer that was made last is a step of dynamic_profile."""

    _last: weakref.ref[Any] | None = None

    @staticmethod
    @guarded()
    def init() -> None:
        """Watch the folder of PROF_CONFIG_PATH or ask the daemon, if the environment says so."""
        folder = os.environ.get(FOLDER_VARIABLE, "")
        if not folder and not is_wanted():
            return
        dynamic_profile.init(folder)
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
            dynamic_profile.step()
