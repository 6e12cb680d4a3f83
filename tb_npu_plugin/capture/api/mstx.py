"""mstx: marks and ranges of the user (docs/facts/torch_npu_api.md, mstx). Never raises; a wrong argument is a Python
warning."""

from __future__ import annotations

import functools
import itertools
import math
import sys
import threading
import warnings
from types import SimpleNamespace
from typing import Any, Callable, TypeVar, cast

from tb_npu_plugin.capture.api.messages import never_raises, truth_of
from tb_npu_plugin.capture.backend import Recorder

F = TypeVar("F", bound=Callable[..., Any])
DEFAULT_DOMAIN = "default"

#: Of the capture that records now, if one does: what marks, ranges and threads of the process are for. Read it once:
#: another thread may end it.
recorder: Recorder | None = None
_range_ids = itertools.count(1)
#: The stream that operators run on.
CURRENT_STREAM = SimpleNamespace(npu_stream=0)

#: Its attributes: domain -> open ranges, of each thread.
_open_ranges = threading.local()


def current_stream(device: Any = None) -> SimpleNamespace:
    """torch_npu.npu.current_stream: what scripts pass as `stream`. The mock device runs operators on one stream."""
    return CURRENT_STREAM


def _stream_id(stream: Any) -> int | None:
    """The number of a stream object: of torch_npu (npu_stream) or of torch (stream_id), else None."""
    found = (getattr(stream, name, None) for name in ("npu_stream", "stream_id"))
    return next((number for number in found if isinstance(number, int)), None)


def _are_valid(function: str, message: Any, stream: Any, domain: Any) -> bool:
    """The arguments are fine; otherwise warns."""
    if not isinstance(message, str) or not message:
        wrong = "message string"
    elif not isinstance(domain, str) or not domain:
        wrong = "domain string"
    elif stream is not None and _stream_id(stream) is None:
        wrong = "stream"
    else:
        return True
    name = wrong.split()[0]
    warnings.warn(f"Invalid {name} for mstx.{function} func. Please input valid {wrong}.", stacklevel=4)
    return False


def _open(message: str, stream: Any, domain: str) -> int:
    number, current = next(_range_ids), recorder
    if current is not None and current.settings.records_domain(domain):
        current.range_start(number, message, domain, _stream_id(stream))
    return number


def _close(number: int) -> None:
    current = recorder
    if current is not None and current.settings.mstx:
        current.range_end(number)


class mstx:
    """Marks and ranges. With a stream they are made on the host and on the device."""

    @staticmethod
    @never_raises()
    def mark(message: str, stream: Any = None, domain: str = DEFAULT_DOMAIN) -> None:
        """A point in time."""
        current, is_valid = recorder, _are_valid("mark", message, stream, domain)
        if is_valid and current is not None and current.settings.records_domain(domain):
            current.mark(message, domain, _stream_id(stream))

    @staticmethod
    @never_raises(int)
    def range_start(message: str, stream: Any = None, domain: str = DEFAULT_DOMAIN) -> int:
        """Open a range, which any thread may close by its id; 0: wrong arguments."""
        return _open(message, stream, domain) if _are_valid("range_start", message, stream, domain) else 0

    @staticmethod
    @never_raises()
    def range_end(range_id: int, domain: str = DEFAULT_DOMAIN) -> None:
        """Close a range."""
        if not isinstance(range_id, int):
            wrong = "Invalid range_id for mstx.range_end func. Please input return value from mstx.range_start."
            warnings.warn(wrong, stacklevel=3)
        elif range_id > 0:
            _close(range_id)

    @staticmethod
    @never_raises(lambda: -1)
    def range_push(message: str, stream: Any = None, domain: str = DEFAULT_DOMAIN) -> int:
        """Open a range inside those of this thread; its depth from 0, or -1: wrong arguments."""
        if not _are_valid("range_push", message, stream, domain):
            return -1
        stack = vars(_open_ranges).setdefault(domain, [])
        stack.append(_open(message, stream, domain))
        return len(stack) - 1

    @staticmethod
    @never_raises(lambda: -1)
    def range_pop(domain: str = DEFAULT_DOMAIN) -> int:
        """Close the innermost range of this thread; its depth, or -1 where none is open."""
        if not isinstance(domain, str) or not domain:
            warnings.warn("Invalid domain for mstx.range_pop func. Please input valid domain string.", stacklevel=3)
            return -1
        stack = vars(_open_ranges).get(domain)
        if not stack:
            return -1
        _close(stack.pop())
        return len(stack)

    @staticmethod
    def mstx_range(message: str, stream: Any = None, domain: str = DEFAULT_DOMAIN) -> Callable[[F], F]:
        """Decorator: each call of the function is a range."""

        def decorate(function: F) -> F:
            @functools.wraps(function)
            def call(*args: Any, **kwargs: Any) -> Any:
                number = mstx.range_start(message, stream, domain)
                try:
                    return function(*args, **kwargs)
                finally:
                    mstx.range_end(number, domain)

            return cast(F, call)

        return decorate

    class annotate:
        """A range as a context manager or a decorator; as a decorator, `message` is the function's name by default."""

        def __init__(self, message: str = "", stream: Any = None, domain: str = DEFAULT_DOMAIN) -> None:
            self._message, self._stream, self._domain = message, stream, domain
            self._numbers: list[int] = []

        def __enter__(self) -> mstx.annotate:
            self._numbers.append(mstx.range_start(self._message, self._stream, self._domain))
            return self

        def __exit__(self, *error: object) -> None:
            mstx.range_end(self._numbers.pop(), self._domain)

        def __call__(self, function: F) -> F:
            """As a decorator."""
            name = getattr(function, "__name__", type(function).__name__)  # a partial has none
            message = self._message if truth_of(self._message) else name
            return mstx.mstx_range(message, self._stream, self._domain)(function)


#: Module, class in it or none, function, message of its range.
_PLACES = (
    ("torch.utils.data.dataloader", "_BaseDataLoaderIter", "__next__", "dataloader"),
    ("torch.serialization", "", "save", "save_checkpoint"),
    ("torch", "", "save", "save_checkpoint"),
)

FLOPS_DOMAIN = "mfu_flops"


def _matmul_flops(left: Any, right: Any) -> int:
    """2·M·K·N for each product of the batch."""
    from numpy import broadcast_shapes

    rows = left.shape[-2] if len(left.shape) > 1 else 1
    columns = right.shape[-1] if len(right.shape) > 1 else 1
    batch = broadcast_shapes(tuple(left.shape[:-2]), tuple(right.shape[:-2]))
    return int(2 * math.prod(batch) * rows * left.shape[-1] * columns)


#: Module, function, its floating point operations from its arguments.
_FLOPS: tuple[tuple[str, str, Callable[..., int]], ...] = (
    ("torch", "mm", lambda input, mat2, **_: _matmul_flops(input, mat2)),
    ("torch", "bmm", lambda input, mat2, **_: _matmul_flops(input, mat2)),
    ("torch", "matmul", lambda input, other, **_: _matmul_flops(input, other)),
    ("torch", "addmm", lambda input, mat1, mat2, **_: _matmul_flops(mat1, mat2)),
    ("torch.nn.functional", "linear", lambda input, weight, bias=None: 2 * input.numel() * weight.shape[0]),
)


def _counted(function: Any, name: str, flops: Callable[..., int]) -> Any:
    """The function, each call of which is a range that says its floating point operations."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            message = f"{flops(*args, **kwargs)}-{name}"
        except Exception:  # wrong arguments: the function itself says so
            return function(*args, **kwargs)
        return mstx.mstx_range(message, domain=FLOPS_DOMAIN)(function)(*args, **kwargs)

    return call


class AutomaticMarks:
    """Between start() and stop() the functions make ranges."""

    def __init__(self) -> None:
        self._replaced: list[tuple[Any, str, Any, Any]] = []  # owner, name, original, replacement

    def start(self, flops: bool) -> None:
        """Wrap the functions; flops: matrix products, too. Skips modules that are not imported and functions that this
        version does not have."""
        for module, kind, name, message in _PLACES:
            owner = sys.modules.get(module)
            self._replace(getattr(owner, kind, None) if kind else owner, name, mstx.mstx_range(message))
        for module, name, count in _FLOPS if flops else ():
            self._replace(sys.modules.get(module), name, functools.partial(_counted, name=name, flops=count))

    def _replace(self, owner: Any, name: str, wrap: Callable[[Any], Any]) -> None:
        if (original := getattr(owner, name, None)) is not None:
            wrapped = wrap(original)
            self._replaced.append((owner, name, original, wrapped))
            setattr(owner, name, wrapped)

    def stop(self) -> None:
        """Restore the functions. A function that was replaced again meanwhile stays."""
        for owner, name, original, wrapped in reversed(self._replaced):
            if getattr(owner, name) is wrapped:
                setattr(owner, name, original)
        self._replaced.clear()
