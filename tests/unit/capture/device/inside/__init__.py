"""Tests that run with the simulated device: tests/unit/capture/device/test_device.py starts them by `tb-npu run`."""
