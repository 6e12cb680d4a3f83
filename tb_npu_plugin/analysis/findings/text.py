"""Figures in the sentences of findings: the same in English and Chinese."""

from __future__ import annotations

from tb_npu_plugin.model import SpanData

_UNITS = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"))


def duration(ns: float) -> str:
    """ "53.30 ms", "1.25 s", "880 ns"."""
    for size, unit in _UNITS:
        if abs(ns) >= size:
            return f"{ns / size:,.2f} {unit}".replace(",", "\N{NARROW NO-BREAK SPACE}")
    return f"{round(ns)} ns"


def percent(ratio: float, digits: int = 0) -> str:
    """ "49 %"; a ratio of 0.49."""
    return f"{100 * ratio:.{digits}f} %"


def speed(bytes_per_ns: float) -> str:
    """ "14.53 GB/s"."""
    return f"{bytes_per_ns:.2f} GB/s"


def size(count: float) -> str:
    """ "21.50 GiB", "880 B"."""
    for name, unit in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= unit:
            return f"{count / unit:.2f} {name}"
    return f"{count:.0f} B"


def rank_name(span: SpanData) -> str:
    """ "rank 3"; the worker's name if the rank is unknown."""
    return span.worker_label if span.capture.rank is None else f"rank {span.capture.rank}"
