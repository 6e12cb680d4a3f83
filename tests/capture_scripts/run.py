"""Runs an example: `python -m tests.capture_scripts.run SCRIPT [fake]`. fake: records nothing of PyTorch."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    script = Path(sys.argv[1])
    if sys.argv[2:] == ["fake"]:
        from tb_npu_plugin.capture import backend
        from tests.unit.capture.api import fake

        backend.choose(backend.Backend("fake", lambda: fake.FakeRecorder([], {}, []), fake.PARSER))
    sys.path.insert(0, str(script.parent))
    runpy.run_path(str(script), run_name="__main__")
