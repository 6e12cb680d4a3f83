"""Ranges that torch_npu makes by itself while mstx is on: "dataloader" around each batch, "save_checkpoint" around
torch.save (specs/ascend_pt.md 1.8).
"""

from __future__ import annotations

import sys
from typing import Any

from tb_npu_plugin.capture.api.mstx import mstx

#: Module, path of the function in it, message of its range.
_PLACES = (
    ("torch.utils.data.dataloader", "_BaseDataLoaderIter.__next__", "dataloader"),
    ("torch.serialization", "save", "save_checkpoint"),
    ("torch", "save", "save_checkpoint"),
)


class AutomaticMarks:
    """Between start() and stop() the functions make ranges. A PyTorch that was not imported is left alone."""

    def __init__(self) -> None:
        self._originals: list[tuple[Any, str, Any]] = []

    def start(self) -> None:
        """Wrap the functions."""
        for module, path, message in _PLACES:
            *parents, name = path.split(".")
            owner: Any = sys.modules.get(module)
            for parent in parents:
                owner = getattr(owner, parent, None)
            original = getattr(owner, name, None)
            if original is not None:
                self._originals.append((owner, name, original))
                setattr(owner, name, mstx.mstx_range(message)(original))

    def stop(self) -> None:
        """As it was."""
        for owner, name, original in self._originals:
            setattr(owner, name, original)
        self._originals.clear()
