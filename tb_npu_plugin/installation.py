"""Properties of this installation: which scanner reads traces, and whether its TensorBoard starts."""

from __future__ import annotations

import os
import re
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

#: "c" or "python" (same results, slower); default: "c" if it was built. TraceEvents.scanner is the one that read a
#: trace.
SCANNER_VARIABLE = "TB_NPU_SCANNER"


def is_c_built() -> bool:
    """The C scanner was compiled at installation. Does not import it."""
    folder = Path(__file__).parent / "scan"
    return any((folder / f"_native{suffix}").exists() for suffix in EXTENSION_SUFFIXES)


def scanner_in_use() -> Literal["c", "python"]:
    """The scanner that reads traces."""
    return "c" if is_c_built() and os.environ.get(SCANNER_VARIABLE) != "python" else "python"


def describe_scanner() -> str:
    """One line for display: which scanner reads traces, and how to get the faster one."""
    if scanner_in_use() == "c":
        return "C"
    if is_c_built():
        return f"Python ({SCANNER_VARIABLE}=python)"
    return (
        "Python, about 5 times slower than the C scanner, which was not built at install. "
        "Install a C compiler (gcc) and Python's headers, then install tb-npu-plugin again."
    )


def tensorboard_defect() -> str:
    """Why TensorBoard does not start and what to do; "" if it starts."""
    from importlib import metadata  # takes a twentieth of a short command that does not need it

    try:
        found = metadata.version("tensorboard")
    except metadata.PackageNotFoundError:
        return ""
    release = tuple(map(int, re.findall(r"\d+", found)[:2]))
    if release > (2, 20) or find_spec("pkg_resources") is not None:
        return ""
    return (
        f"TensorBoard {found} does not start here: it needs pkg_resources, which setuptools 82 removed. "
        "Run: pip install 'setuptools<82', or: pip install 'tensorboard>=2.21'"
    )
