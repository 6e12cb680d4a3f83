"""Ranges that torch_npu makes by itself while mstx is on: "dataloader" around each batch, "save_checkpoint" around
torch.save (docs/facts/torch_npu_api.md, mstx).
"""

from __future__ import annotations

from tb_npu_plugin.capture.api.mstx import mstx
from tb_npu_plugin.capture.api.patches import Patches

#: Module, path of the function in it, message of its range.
_PLACES = (
    ("torch.utils.data.dataloader", "_BaseDataLoaderIter.__next__", "dataloader"),
    ("torch.serialization", "save", "save_checkpoint"),
    ("torch", "save", "save_checkpoint"),
)


class AutomaticMarks:
    """Between start() and stop() the functions make ranges."""

    def __init__(self) -> None:
        self._patches = Patches()

    def start(self) -> None:
        """Wrap the functions."""
        for module, path, message in _PLACES:
            self._patches.replace(module, path, mstx.mstx_range(message))

    def stop(self) -> None:
        """As it was."""
        self._patches.undo()
