"""Damaged traces, what they cost, and files that are none. Against json.loads: tests/property/test_scan_json.py."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.errors import BadSetting
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.scan import msgspec_scanner, native_scanner, scan_trace, source, tokens
from tb_npu_plugin.scan.events import TraceEvents
from tests.support.scanners import both_scanners

pytestmark = both_scanners

#: Bytes that are looked at for each byte of the file: blocks that are read again until they are long enough, the two
#: ways to see quotes, and levels of salvage.
MOST_LOOKS = 40


def scan(data: bytes | str, folder: Path, name: str = "trace_view.json") -> tuple[TraceEvents, ProblemLog]:
    path, log = folder / name, ProblemLog()
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return scan_trace(path, log, lambda count: None), log


@pytest.mark.parametrize(
    ("bad", "kept", "code"),
    [
        ('{"ph": "X", "name": "b", "ts": NaN, "dur": Infinity}', True, "bad_json"),
        ('{"ph": "X", "name": "b", "ts": 1, "args": {"rate": N/A, "x": -inf, "y": nan}}', True, "bad_json"),
        ('{"ph": "X", "name": "b", "ts": "soon", "dur": "x"}', True, None),
        ('{"ph": "X", "name": "b", "ts": 1e999999999, "dur": 9e99}', True, None),
        ('{"ph": "X", "name": "b", "ts": null, "dur": {"a": 1}}', True, None),
        ('{"ph": "X", "name": 5, "ts": 1, "dur": 1}', True, None),
        ('{"ph": "X", "name": "tab\there", "ts": 1, "dur": 1}', True, None),
        ('{"ph": "X", "name": "b", "\\u0061rgs": {"a": "x"}}', True, None),
        ('{"ph": "X", "name": }', False, "bad_event"),
        ('{"ph": "X", "name": "open', False, "bad_event"),
        ('{"ph": "X", "args": {"a": 1}', False, "bad_event"),
        ('"ph": "X"}', False, "bad_event"),
        ("17", False, "bad_event"),
        ("{'ph': 'X'}", False, "bad_event"),
    ],
)
@pytest.mark.parametrize("chunk", [50, 1 << 20])
def test_a_bad_event_is_skipped(
    bad: str, kept: bool, code: str | None, chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "CHUNK", chunk)
    good = '{"ph": "X", "name": "%s", "ts": "5.125", "dur": 2.5, "args": {"a": "x"}}'
    data = f"[{good % 'a'}, {bad}, {good % 'c'}, {good % 'd'}]"
    events, log = scan(data, tmp_path)
    names = [events.names[code] if code >= 0 else None for code in events.name.tolist()]
    assert names[:1] + names[-2:] == ["a", "c", "d"] and len(names) == 3 + kept
    good_rows = [0, -2, -1]
    assert events.ts[good_rows].tolist() == [5125] * 3
    starts = events.args_offset[good_rows].tolist() + ([events.args_offset[1]] if "u0061" in bad else [])
    assert {data[start : start + 10] for start in starts} == {'{"a": "x"}'}
    assert {problem.code for problem in log.list()} == ({code} if code else set())


@pytest.mark.parametrize(
    ("data", "code"),
    [
        ("  \n", "empty_file"),
        ("hello", "not_a_trace"),
        ('{"a": 1}', "not_a_trace"),
        ('{"traceEvents": 5}', "not_a_trace"),
        ("\x00\x01", "not_a_trace"),
        ("[", "truncated_file"),
        ("[]", None),
        ('{"traceEvents": []}', None),
    ],
)
def test_files_without_events(data: str, code: str | None, tmp_path: Path) -> None:
    events, log = scan(data, tmp_path)
    assert len(events) == 0 and events.complete is (code is None)
    assert [problem.code for problem in log.list()] == ([code] if code else [])


def test_a_file_that_is_gone(tmp_path: Path) -> None:
    log = ProblemLog()
    assert len(scan_trace(tmp_path / "gone.json", log, lambda n: None)) == 0
    assert [problem.code for problem in log.list()] == ["unreadable_file"]


def test_an_unknown_choice_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TB_NPU_SCANNER", "fast")
    with pytest.raises(BadSetting, match="'fast'"):
        scan("[]", tmp_path)


def test_gzip_that_unpacks_to_more_than_any_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A few megabytes of zeros, packed, filled the memory.
    monkeypatch.setattr("tb_npu_plugin.scan.source._ALWAYS_ALLOWED", 5_000_000)
    one = json.dumps({"ph": "X", "name": "a", "ts": 1, "dur": 1, "x": "y" * 100_000})
    events, log = scan(gzip.compress(f"[{', '.join([one] * 300)}]".encode()), tmp_path, "trace_view.json.gz")
    assert 0 < len(events) < 300 and not events.complete
    assert [(problem.code, "120 times" in problem.found) for problem in log.list()] == [("broken_gzip", True)]


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


def deep(begin: bytes, inner: bytes, end: bytes, depth: int) -> bytes:
    return b'[{"name":"deep","args":' + begin * depth + inner + end * depth + b'},\n{"name":"good"}]'


NEVER_CLOSED = {
    "usual": b'{"name": "aten::add", "ph": "X", "ts": "1.5", "dur": 2, "pid": 1, "tid": 3, "args": {"x": 1},\n',
    "short": b'{"":0,',
    "in a list": b'{"x":[1,',
    "in a text": b'{"name": "aten,',
    "with escapes": b'{"a":"\\\\",{"b":",',
}
DEEP: dict[str, Callable[[int], bytes]] = {
    "deep objects": lambda size: deep(b'{"a":', b"1", b"}", size // 6),
    "deep lists": lambda size: deep(b'{"x":[1,', b"1", b"]}", size // 6),
    "damage below": lambda size: deep(b'{"x":[1,', b'"' + b"y" * (size // 6) + b'",,', b"]}", 900),
}


@pytest.mark.parametrize("case", [*NEVER_CLOSED, *DEEP])
def test_each_byte_is_looked_at_a_few_times(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    walked, decoded = [0], [0]

    def find(ends: tokens.TokenEnds, start: int, real: Any = tokens.TokenEnds._find) -> None:
        walked[0] += len(ends._codes)
        real(ends, start)

    def decode(decoder: Any, piece: bytes, real: Any = msgspec_scanner.decode) -> Any:
        decoded[0] += len(piece)
        return real(decoder, piece)

    resume = Counter(tokens.RESUME)
    monkeypatch.setattr(tokens.TokenEnds, "_find", find)
    monkeypatch.setattr(tokens, "RESUME", resume)
    monkeypatch.setattr(msgspec_scanner, "decode", decode)
    monkeypatch.setattr(source, "CHUNK", 4 << 10)
    for module in (msgspec_scanner, native_scanner):
        monkeypatch.setattr(module, "MAX_EVENT", (8 << 20) if case in DEEP else (8 << 10))
    costs = [0]
    for size in (64 << 10, 128 << 10):
        event = NEVER_CLOSED.get(case, b"")
        data = b"[" + event * (size // len(event)) if event else DEEP[case](size)
        events, log = scan(data, tmp_path)
        found = {problem.code: problem.count for problem in log.list()}
        if not event:
            assert log.list()[0].code == "bad_event"
        else:
            assert not len(events) and found["truncated_file"] == 1
            assert found["bad_event"] >= len(data) // len(event) - 1
        costs.append(resume.looked + walked[0] + decoded[0] - sum(costs))
        assert costs[-1] <= MOST_LOOKS * len(data)
    assert costs[2] <= 2.5 * costs[1]


def test_all_bad_events_are_counted(tmp_path: Path) -> None:
    events, log = scan(b"[" + b'{"a":1,' * 1000 + b'{"name":"good"}]', tmp_path)
    assert list(events.names) == ["good"]
    (problem,) = log.list()
    assert (problem.code, problem.count) == ("bad_event", 1000)
    assert problem.where == "byte 1, byte 8, byte 15, byte 22, byte 29 and 995 more"


@pytest.mark.parametrize(
    ("text", "names", "codes"),
    [
        ('[{"name": "a"}, {"name": "b"}][{"name": "c"}]', "abc", ["joined_lists"]),
        ('[{"name": "a"}] ,\n [ {"name": "b"}][]', "ab", ["joined_lists"]),
        ('[{"name": "a"} {"name": "b"}, {"name": "c"}]', "abc", ["wrong_comma"]),
        ('[{"name": "a"},, {"name": "b"},]', "ab", ["wrong_comma"]),
        ('[{"name": "a"}, {"name": "b"}]', "ab", []),
        ('{"traceEvents": [{"name": "a"}], "other": [{"name": "b"}]}', "a", []),
    ],
)
@pytest.mark.parametrize("chunk", [3, 1 << 20])
def test_lists_that_are_no_json_are_read_to_their_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, names: str, codes: list[str], chunk: int
) -> None:
    monkeypatch.setattr(source, "CHUNK", chunk)
    (tmp_path / "trace_view.json").write_text(text)
    log = ProblemLog()
    found = scan_trace(tmp_path / "trace_view.json", log, lambda _: None)
    assert "".join(found.names[code] for code in found.name) == names
    assert [problem.code for problem in log.list()] == codes and found.complete
