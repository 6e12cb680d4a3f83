"""How native/observer.cpp becomes part of a PyTorch. setup.py runs this file by its path: it imports nothing of ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

#: PyTorch asks for C++ 17 up to 2.12 or so, and for C++ 20 since.
STANDARDS = ("-std=c++20", "-std=c++17")
#: NDEBUG: as PyTorch was built, whose objects have more members without.
_FLAGS = ("-O2", "-Wall", "-Wextra", "-DPy_LIMITED_API=0x03090000", "-DNDEBUG")


def compiler_flags(torch: Any) -> list[str]:
    """What the compiler is told, besides the standard and where Python's headers are."""
    include = Path(torch.__file__).parent / "include"
    headers = (include, include / "torch" / "csrc" / "api" / "include")
    abi = f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}"
    return [*_FLAGS, abi, *(f"-isystem{folder}" for folder in headers)]


def linker_flags(torch: Any) -> list[str]:
    """What the linker is told."""
    return [f"-L{Path(torch.__file__).parent / 'lib'}", "-lc10", "-ltorch_cpu"]
