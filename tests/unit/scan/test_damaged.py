"""What damaged traces cost: each of their bytes is looked at a few times, however many of their events are broken."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.scan import msgspec_scanner, native_scanner, scan_trace, source, tokens
from tb_npu_plugin.scan.events import TraceEvents
from tests.support.scanners import both_scanners

pytestmark = both_scanners

#: Bytes that are looked at for each byte of the file: blocks that are read again until they are long enough, the two
#: ways to see quotes, and levels of salvage.
MOST_LOOKS = 40


class Counter:
    """A compiled pattern, and the bytes that it looked at in all."""

    def __init__(self, pattern: re.Pattern[bytes]) -> None:
        self._pattern = pattern
        self.looked = 0

    def search(self, data: bytes, *part: int) -> Any:
        found = self._pattern.search(data, *part)
        end = part[1] if len(part) > 1 else len(data)
        self.looked += (found.end() if found else end) - (part[0] if part else 0)
        return found


def cost(data: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[int, TraceEvents, ProblemLog]:
    """Bytes that reading looked at, and what it gave."""
    path, log = tmp_path / "trace_view.json", ProblemLog()
    path.write_bytes(data)
    with monkeypatch.context() as patch:
        resume = Counter(tokens.RESUME)
        walked, decoded = [0], [0]

        def find(ends: tokens.TokenEnds, start: int, real: Any = tokens.TokenEnds._find) -> None:
            walked[0] += len(ends._codes)
            real(ends, start)

        def decode(decoder: Any, piece: bytes, real: Any = msgspec_scanner.decode) -> Any:
            decoded[0] += len(piece)
            return real(decoder, piece)

        patch.setattr(tokens.TokenEnds, "_find", find)
        patch.setattr(tokens, "RESUME", resume)
        patch.setattr(msgspec_scanner, "decode", decode)
        patch.setattr(source, "CHUNK", 4 << 10)
        for module in (msgspec_scanner, native_scanner):
            patch.setattr(module, "MAX_EVENT", 8 << 10)
        events = scan_trace(path, log, lambda count: None)
    return resume.looked + walked[0] + decoded[0], events, log


@pytest.mark.parametrize(
    "event",
    [
        b'{"name": "aten::add", "ph": "X", "ts": "1.5", "dur": 2, "pid": 1, "tid": 3, "args": {"x": 1},\n',
        b'{"":0,',
        b'{"x":[1,',
        b'{"name": "aten,',
        b'{"a":"\\\\",{"b":",',
    ],
    ids=["usual", "short", "in a list", "in a text", "with escapes"],
)
def test_events_that_never_close(event: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    costs = []
    for size in (64 << 10, 128 << 10):
        data = b"[" + event * (size // len(event))
        looked, events, log = cost(data, tmp_path, monkeypatch)
        assert not len(events)
        found = {problem.code: problem.count for problem in log.list()}
        assert found["truncated_file"] == 1
        assert found["bad_event"] >= size // len(event) - 1
        assert looked <= MOST_LOOKS * size
        costs.append(looked)
    assert costs[1] <= 2.5 * costs[0]


def test_all_bad_events_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"[" + b'{"a":1,' * 1000 + b'{"name":"good"}]'
    _, events, log = cost(data, tmp_path, monkeypatch)
    assert list(events.names) == ["good"]
    (problem,) = log.list()
    assert (problem.code, problem.count) == ("bad_event", 1000)
    assert problem.where == "byte 1, byte 8, byte 15, byte 22, byte 29 and 995 more"


@pytest.mark.parametrize(
    "args",
    [
        lambda count: b'{"a":' * count + b"1" + b"}" * count,
        lambda count: b'{"x":[1,' * count + b"1" + b"]}" * count,
        lambda count: b'{"x":[1,' * 900 + b'"' + b"y" * count + b'",,' + b"]}" * 900,
    ],
    ids=["objects", "lists", "damage below"],
)
def test_deep_args(args: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    costs = []
    for count in (10_000, 20_000):
        data = b'[{"name":"deep","args":' + args(count) + b'},\n{"name":"good"}]'
        with monkeypatch.context() as patch:
            for module in (msgspec_scanner, native_scanner):
                patch.setattr(module, "MAX_EVENT", 8 << 20)
            looked, _, log = cost(data, tmp_path, monkeypatch)
        assert looked <= MOST_LOOKS * len(data)
        costs.append(looked)
        assert log.list()[0].code == "bad_event"
    assert costs[1] <= 2.5 * costs[0]
