"""torch_npu.contrib: transfer_to_npu."""

from tb_npu_plugin.capture.device import raise_for

__getattr__ = raise_for("torch_npu.contrib")
