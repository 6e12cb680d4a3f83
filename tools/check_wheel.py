"""Is the installed tb-npu-plugin whole? Run outside the repository's root by cibuildwheel and `make wheel`.

Imports every module in C (each has a stub), scans a fixture's trace with them and looks for the frontend. Exits with 1
and the reason when something is missing.
"""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
from pathlib import Path

FIXTURE = Path(__file__).parents[1] / "fixtures" / "demo"


def main() -> int:
    """1 when something is missing."""
    with tempfile.TemporaryDirectory() as cache:
        os.environ.update(TB_NPU_CACHE_DIR=cache, TB_NPU_SCANNER="c")
        try:
            for line in (*native_modules(), scanned(), frontend()):
                print(line)
        except (ImportError, AssertionError) as error:
            print(f"the installed package is not whole: {error}", file=sys.stderr)
            return 1
    return 0


def package() -> Path:
    """Where the package is."""
    import tb_npu_plugin

    return Path(tb_npu_plugin.__file__).parent


def native_modules() -> list[str]:
    """The files of the modules in C, imported."""
    root = package()
    names = [".".join(path.with_suffix("").relative_to(root.parent).parts) for path in root.rglob("_[!_]*.pyi")]
    assert names, "no stub of a native module was installed"
    files = [str(importlib.import_module(name).__file__) for name in sorted(names)]
    assert all(file.endswith(".abi3.so") for file in files), f"not of the stable ABI: {files}"
    return files


def scanned() -> str:
    """What the native scanner makes of a fixture."""
    from tb_npu_plugin.problems import ProblemLog
    from tb_npu_plugin.scan import scan_trace

    log = ProblemLog()
    events = scan_trace(min(FIXTURE.rglob("trace_view.json")), log, lambda _: None)
    assert events.complete and events.scanner == "c" and not log.list(), "the fixture was not scanned as a whole in C"
    return f"{len(events.phase)} events scanned by {events.scanner}"


def frontend() -> str:
    """The plugin and its bundle."""
    from tb_npu_plugin.plugin import NpuPlugin

    bundle = package() / "static" / "index.js"
    assert bundle.stat().st_size > 0, "the frontend is empty"
    return f"{NpuPlugin.plugin_name}: {bundle}"


if __name__ == "__main__":
    sys.exit(main())
