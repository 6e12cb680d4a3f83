"""Changes modules of others when a script imports them, for scripts that run under `tb-npu run`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

#: Module -> what is done with it once it has been executed.
Changes = Mapping[str, Callable[[Any], None]]


def change_on_import(changes: Changes) -> None:
    """Change these modules when they are imported. Once a process."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder(changes))


class _Finder(MetaPathFinder):
    """Finds modules as always; those that are to be changed get another loader."""

    def __init__(self, changes: Changes) -> None:
        self._changes = changes

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module that is to be changed; None for all others."""
        if fullname not in self._changes:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Changing(spec.loader, self._changes[fullname])
        return spec


class _Changing(Loader):
    """A loader that changes its module after it has been executed."""

    def __init__(self, loader: Any, change: Callable[[Any], None]) -> None:
        self._loader, self._change = loader, change

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """As the loader does."""
        return self._loader.create_module(spec)  # type: ignore[no-any-return]

    def exec_module(self, module: ModuleType) -> None:
        """Execute the module, then change it."""
        self._loader.exec_module(module)
        self._change(module)
