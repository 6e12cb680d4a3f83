"""Shapes of the operators that PyNative mode dispatches: MindSpore's own list of launches leaves them empty."""

from __future__ import annotations

from typing import Any


class DispatchedShapes:
    """Records name, input shapes and types of each dispatched operator; nothing where MindSpore has no dispatch mode."""

    def __init__(self) -> None:
        #: (name, shapes, types) by time.
        self.calls: list[tuple[str, list[list[int]], list[str]]] = []
        self._mode: Any = None

    def start(self) -> None:
        """Record from now, on this thread. Does nothing while MindSpore is being imported."""
        if self._mode is not None:
            return
        try:
            self._mode = _mode(self.calls)
        except ImportError:  # before 2.10, or too early
            return
        self._mode.__enter__()

    def stop(self) -> None:
        """Stop."""
        mode, self._mode = self._mode, None
        if mode is not None:
            mode.__exit__(None, None, None)


def _mode(calls: list[Any]) -> Any:
    from mindspore import Tensor
    from mindspore.utils.ms_dispatch import MsDispatchMode

    class Recorded(MsDispatchMode):  # type: ignore[misc]
        def __ms_dispatch__(self, func: Any, args: Any, kwargs: Any = None) -> Any:
            flat = [one for item in args for one in (item if isinstance(item, (list, tuple)) else (item,))]
            tensors = [one for one in flat if isinstance(one, Tensor)]
            shapes, types = [list(one.shape) for one in tensors], [str(one.dtype) for one in tensors]
            calls.append((str(getattr(func, "name", func)), shapes, types))
            return func(*args, **(kwargs or {}))

    return Recorded()
