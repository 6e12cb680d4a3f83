"""Importing this module makes scripts that say "cuda" use the simulated NPU."""

from tb_npu_plugin.capture.device.transfer import transfer

transfer()
