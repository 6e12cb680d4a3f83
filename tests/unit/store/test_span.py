"""A span that several requests open at the same time."""

from __future__ import annotations

import subprocess
import sys


def test_captures_can_be_converted_by_several_threads_at_once() -> None:
    """Two first conversions at once ended TensorBoard with a segmentation fault (msgspec 0.22)."""
    code = (
        "import tb_npu_plugin.store.span\n"
        "from tb_npu_plugin.model import Capture\n"
        "assert '__msgspec_cache__' in vars(Capture)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
