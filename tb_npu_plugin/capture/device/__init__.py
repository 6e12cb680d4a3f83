"""The simulated device `npu` of PyTorch: built (build.py), loaded (load.py), with the names of torch_npu."""

from __future__ import annotations

from typing import Any, Callable

from tb_npu_plugin.csv_tables import read_table

#: Beginning of a name -> "meaning": what such names stand for; the first that fits is taken.
_MEANINGS = read_table(__file__, "unsupported.csv", dict[str, str])


class NotSimulated(AttributeError):
    """A name of torch_npu that the simulated device does not have; hasattr() is False."""


def raise_for(module: str) -> Callable[[str], Any]:
    """The __getattr__ of `module` (its name as scripts write it)."""

    def find(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        meaning = next((f" ({row['meaning']})" for start, row in _MEANINGS.items() if name.startswith(start)), "")
        wrong = f"{module}.{name}{meaning} does not exist on the simulated NPU"
        raise NotSimulated(f"{wrong}: see docs/capture.md for what it has")

    return find
