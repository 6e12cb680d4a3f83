"""Tests that run with the simulated device: tests/unit/capture/device/test_device.py starts them by `tb-npu run`."""

from __future__ import annotations

from tb_npu_plugin.capture.device.records import Kind, Recording


def names(recording: Recording, *kinds: Kind) -> list[str]:
    """Names of what was recorded, in order; without kinds: of operators."""
    return [recording.signatures[number].name for number in recording.of(*(kinds or (Kind.OPERATOR,)))["signature"]]
