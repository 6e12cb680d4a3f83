"""Python imports this at its start where `tb-npu run` has put its folder on the path."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

from tb_npu_plugin.capture.device.load import AUTOLOAD
from tb_npu_plugin.capture.mindspore import CHANGES

#: Module -> what is done with it once a script has imported it.
_CHANGES = {**CHANGES, **AUTOLOAD}


class _Finder(MetaPathFinder):
    """Finds modules as always; those of _CHANGES are changed after they have been executed."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module of _CHANGES; None for all others."""
        spec = PathFinder.find_spec(fullname, path, target) if fullname in _CHANGES else None
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_change(module: ModuleType) -> None:
                execute(module)
                _CHANGES[fullname](module)

            spec.loader.exec_module = execute_and_change  # type: ignore[method-assign]
        return spec


sys.meta_path.insert(0, _Finder())

# the sitecustomize that this one hides
_paths = [path for path in sys.path if Path(path).resolve() != Path(__file__).resolve().parent]
_spec = PathFinder.find_spec("sitecustomize", _paths)
if _spec is not None and _spec.loader is not None:
    _spec.loader.exec_module(importlib.util.module_from_spec(_spec))
