"""Messages of the profiler on stdout, as torch_npu prints them, and the guard that keeps its errors out of the training."""

from __future__ import annotations

import functools
import os
import sys
from datetime import datetime
from typing import Any, Callable, TypeVar, cast

from tb_npu_plugin.errors import NpuPluginError

F = TypeVar("F", bound=Callable[..., Any])

#: Variables that silence warnings when they are "1"; the second is the deprecated name.
WARNING_SWITCHES = ("TORCH_NPU_WARNING_DISABLE", "TORCH_NPU_DISABLED_WARNING")
#: Set while msprof drives the profiling; two collections at once do not work.
MSPROF_VARIABLES = ("PROFILER_SAMPLECONFIG", "PROFILING_MODE")
_EITHER = " or ".join(MSPROF_VARIABLES)


def _print(kind: str, text: str) -> None:
    moment = datetime.now().strftime("%Y-%m-%d %H:%M:%S")  # local time, as torch_npu
    line = f"[{moment}] [{kind}] [{os.getpid()}] profiler.py: {text}"
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        # the line and its end in one write: other threads print at the same time
        print(line.encode(encoding, "backslashreplace").decode(encoding) + "\n", end="", flush=True)
    except (OSError, ValueError):  # stdout is closed or full
        return


#: Print an INFO line, an ERROR line.
info, error = functools.partial(_print, "INFO"), functools.partial(_print, "ERROR")


def warn(text: str) -> None:
    """Print a WARNING line, unless the user silenced them."""
    switch = next((os.environ[name] for name in WARNING_SWITCHES if name in os.environ), "")
    if switch != "1":
        _print("WARNING", text)


_warn_once = functools.cache(warn)


def reason(problem: BaseException) -> str:
    """The text of an exception, else its type; str() of a user's exception may fail."""
    try:
        return str(problem) or type(problem).__name__
    except Exception:  # the user's object
        return type(problem).__name__


def describe_error(problem: BaseException) -> str:
    """The text of an exception with its hint, if it has one; with its type, if Python raised it."""
    if isinstance(problem, NpuPluginError):
        return f"{problem.message}. {problem.hint}" if problem.hint else problem.message
    text = reason(problem)
    name = type(problem).__name__
    return text if isinstance(problem, (OSError, RuntimeError)) or text == name else f"{name}: {text}"


def never_raises(result: Callable[[], Any] = lambda: None) -> Callable[[F], F]:
    """The decorated function never raises: an exception becomes one ERROR line and the answer is `result()`.

    Nothing happens while msprof profiles the process. KeyboardInterrupt and SystemExit pass.
    """

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if any(os.environ.get(name) for name in MSPROF_VARIABLES):
                _warn_once(f"msprof is profiling this process ({_EITHER} is set), the profiler takes no effect.")
                return result()
            try:
                return function(*args, **kwargs)
            except Exception as problem:  # the training goes on, whatever it is
                error(f"Call {function.__name__} failed. Exception: {reason(problem)}")
                return result()

        return cast(F, call)

    return decorate


def truth_of(value: Any) -> bool:
    """bool(value); True if that fails, as for a tensor of several numbers."""
    try:
        return bool(value)
    except Exception:  # the user's object; the caller warns of it
        return True
