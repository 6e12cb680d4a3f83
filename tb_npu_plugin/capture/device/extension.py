"""The extension of the simulated device, loaded once a process."""

from __future__ import annotations

import sys
from functools import cache
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader
from typing import Any

from tb_npu_plugin.capture.device import build


@cache
def extension() -> Any:
    """The extension module; builds it at the first need. Raises build.NotBuilt, and ImportError where it does not load."""
    loader = ExtensionFileLoader(build.MODULE, str(build.library(say)))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def say(line: str) -> None:
    """Print a line for the user, away from what the script prints."""
    print(f"tb-npu: {line}", file=sys.stderr, flush=True)
