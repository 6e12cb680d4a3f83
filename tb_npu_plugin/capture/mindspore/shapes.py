"""Shapes of the operators that PyNative mode dispatches: MindSpore's own list of launches leaves them empty."""

from __future__ import annotations

from typing import Any


class DispatchedShapes:
    """Records name, input shapes, types and group of each dispatched operator; nothing where MindSpore has no dispatch mode."""

    def __init__(self) -> None:
        self._calls: list[tuple[str, list[tuple[Any, Any]], str]] = []
        self._mode: Any = None

    @property
    def calls(self) -> list[tuple[str, list[list[int]], list[str], str]]:
        """(name, shapes, types, group) by time; group: of a collective, "" for others."""
        return [
            (str(name), [list(shape) for shape, _ in tensors], [str(type_).lower() for _, type_ in tensors], group)
            for name, tensors, group in self._calls
        ]

    def start(self) -> None:
        """Record from now, on this thread. Does nothing while MindSpore is being imported."""
        if self._mode is not None:
            return
        try:
            self._mode = _mode(self._calls)
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
            tensors = []
            for item in args:
                if isinstance(item, Tensor):
                    tensors.append((item.shape, item.dtype))
                elif isinstance(item, (list, tuple)):
                    tensors += [(one.shape, one.dtype) for one in item if isinstance(one, Tensor)]
            group = getattr(args[0], "group", "") if args else ""
            calls.append((func.name, tensors, group if isinstance(group, str) else ""))
            return func(*args, **kwargs) if kwargs else func(*args)

    return Recorded()
