"""All frameworks whose results can be written, by the word of `tb-npu mock --framework`."""

from __future__ import annotations

from tb_npu_plugin.capture.writers.framework import Framework
from tb_npu_plugin.capture.writers.mindspore.result import MINDSPORE
from tb_npu_plugin.capture.writers.result import TORCH

FRAMEWORKS: dict[str, Framework] = {"torch": TORCH, "mindspore": MINDSPORE}
