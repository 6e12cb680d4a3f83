"""Runs tests with every implementation of the trace scanner."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tb_npu_plugin.installation import SCANNER_VARIABLE
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.scan.events import DTYPES, TEXT_COLUMNS, TraceEvents

#: What TB_NPU_SCANNER may be -> what TraceEvents.scanner then says.
NAMES = {"python": "msgspec", "c": "c"}

try:
    from tb_npu_plugin.readers import _csv  # noqa: F401
    from tb_npu_plugin.scan import _native  # noqa: F401

    BUILT = True
except ImportError:
    BUILT = False

needs_native = pytest.mark.skipif(not BUILT, reason="the native scanner was not built: no C compiler at install time")


@pytest.fixture
def scanner(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Chooses the scanner of a test; see both_scanners."""
    monkeypatch.setenv(SCANNER_VARIABLE, request.param)
    return str(request.param)


#: As pytestmark: every test of a module runs once with each scanner.
both_scanners = [
    pytest.mark.usefixtures("scanner"),
    pytest.mark.parametrize("scanner", ["python", pytest.param("c", marks=needs_native)], indirect=True),
]


def differences(one: TraceEvents, two: TraceEvents, data: bytes, blobs: tuple[bytes, bytes] | None = None) -> list[str]:
    """The fields in which two scans of the same JSON differ. `blobs`: where the args of each are, if not in `data`.

    An offset may point at equal bytes elsewhere; blobs may differ in white space.
    """
    texts = list(TEXT_COLUMNS.values())
    out = [key for key in [*texts, "bytes_read", "complete", "args_path"] if getattr(one, key) != getattr(two, key)]
    for key in DTYPES:
        left, right = getattr(one, key), getattr(two, key)
        same = left.dtype == right.dtype and np.array_equal(left, right)
        if not same and not (key == "args_offset" and len(left) == len(right) and _same_args(one, two, data, blobs)):
            out.append(key)
    return out


def _same_args(one: TraceEvents, two: TraceEvents, data: bytes, blobs: tuple[bytes, bytes] | None) -> bool:
    found = []
    for events, content in zip((one, two), blobs or (data, data)):
        spans = zip(events.args_offset.tolist(), events.args_length.tolist())
        found.append([None if start < 0 else content[start : start + length] for start, length in spans])
    return found[0] == found[1]


def told(log: ProblemLog) -> list[dict[str, Any]]:
    """Problems of a scan, comparable."""
    return [problem.as_json() for problem in log.list()]
