"""How many files this process may have open."""

from __future__ import annotations

from contextlib import suppress


def raise_descriptor_limit() -> None:
    """Let this process open as many files as it may: the usual soft limit (1024, or 256 on macOS) is for programs that call
    select(), the hard one is meant for all others."""
    try:
        import resource  # does not exist on every system
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft == hard:
        return
    with suppress(OSError, ValueError):  # macOS refuses "unlimited"
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def descriptor_limit() -> int | None:
    """How many files this process may open; None where there is no limit."""
    try:
        import resource
    except ImportError:
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else soft
