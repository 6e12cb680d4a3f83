"""The scanner against json.loads, and what damage costs."""

from __future__ import annotations

import gzip
import io
import json
import os
from decimal import Decimal
from pathlib import Path

import pytest

from tb_npu_plugin.errors import BadSetting
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.scan import ScanSink, scan_trace, source
from tb_npu_plugin.scan.events import TraceEvents
from tb_npu_plugin.tables import NULL_INT
from tests.support.scanners import NAMES, both_scanners

pytestmark = both_scanners

EVENTS = [
    {"ph": "M", "name": "process_name", "pid": 7, "tid": 0, "args": {"name": "<script>alert(1)</script>"}},
    {
        "ph": "X",
        "name": "aten::add",
        "pid": 7,
        "tid": 8,
        "ts": "1736408883688177.930",
        "dur": 145.57,
        "cat": "cpu_op",
        "args": {"Call stack": 'a(1): "f"}, {"ph": b;\r\nc'},
    },
    {"ph": "X", "name": 'he said "}, {" \\', "pid": "7", "tid": "9", "ts": 1736408883973810, "dur": 3.6500000000000004},
    {
        "name": "first key differs",
        "ph": "X",
        "pid": 7,
        "tid": 8,
        "ts": "1736408883973810",
        "dur": 0,
        "args": {"nested": [{"a": 1}, {"b": {"c": "{"}}], "args": {}},
    },
    {
        "ph": "s",
        "name": "HostToDevice5",
        "cat": "HostToDevice",
        "id": "340282366920938463463374607431768211455",
        "pid": 7,
        "tid": 8,
        "ts": 1736408883973810.123,
    },
    {
        "ph": "f",
        "bp": "e",
        "name": "HostToDevice5",
        "cat": "HostToDevice",
        "id": 340282366920938463463374607431768211455,
        "pid": 7,
        "tid": 8,
        "ts": "1736408883973811.000",
    },
    {"ph": "C", "name": "昇腾", "pid": 7, "ts": "1736408883973812.5", "args": {"MHz": 1800}},
]
PRETTY = json.dumps(EVENTS, indent=4, ensure_ascii=False)


def scan(data: bytes | str, tmp_path: Path, name: str = "trace_view.json") -> tuple[TraceEvents, ProblemLog, int]:
    path = tmp_path / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    log, done = ProblemLog(), []
    events = scan_trace(path, log, done.append)
    return events, log, sum(done)


def nanos(value: object) -> int:
    return NULL_INT if value is None else int((Decimal(str(value)) * 1000).to_integral_value())


def text(codes: object, values: list[str]) -> list[str | None]:
    return [None if code < 0 else values[code] for code in codes.tolist()]  # type: ignore[attr-defined]


def check(events: TraceEvents, wanted: list[dict], data: bytes | None) -> None:
    assert [chr(phase) for phase in events.phase] == [event["ph"] for event in wanted]
    assert text(events.name, events.names) == [event["name"] for event in wanted]
    assert text(events.category, events.categories) == [event.get("cat") for event in wanted]
    for codes, values, key in (
        (events.pid, events.pids, "pid"),
        (events.tid, events.tids, "tid"),
        (events.flow, events.flows, "id"),
    ):
        assert text(codes, values) == [None if key not in e else str(e[key]) for e in wanted]
    assert events.ts.tolist() == [nanos(json_digits(event, "ts")) for event in wanted]
    assert events.dur.tolist() == [nanos(event.get("dur")) for event in wanted]
    assert events.enclosing.tolist() == [int(event.get("bp") == "e") for event in wanted]
    for event, start, length in zip(wanted, events.args_offset.tolist(), events.args_length.tolist()):
        assert (start >= 0) == (length > 0) == ("args" in event)
        if data is not None and "args" in event:
            assert json.loads(data[start : start + length]) == event["args"]


def json_digits(event: dict, key: str) -> object:
    return json.dumps(event[key]).strip('"') if key in event else None


@pytest.mark.parametrize(
    "data",
    [
        json.dumps(EVENTS),
        json.dumps(EVENTS, separators=(",", ":")),
        PRETTY,
        "\ufeff" + PRETTY,
        json.dumps({"schemaVersion": 1, "deviceProperties": [{"traceEvents": "}, {"}], "traceEvents": EVENTS}),
        json.dumps({"traceEvents": EVENTS, "displayTimeUnit": "ns", "more": [{"ph": "X"}, {"ph": "X"}]}),
        json.dumps(EVENTS, indent=1).replace("\n", "\r\n") + "\n\n",
    ],
)
@pytest.mark.parametrize("chunk", [1, 100, 1 << 20])
def test_every_form_and_cut(data: str, chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "CHUNK", chunk)
    events, log, done = scan(data, tmp_path)
    check(events, EVENTS, data.encode())
    assert log.list() == []
    assert events.complete
    assert done == len(data.encode())


def test_gzip_keeps_args_in_a_blob(tmp_path: Path) -> None:
    path = tmp_path / "trace_view.json.gz"
    path.write_bytes(gzip.compress(PRETTY[:300].encode()) + gzip.compress(PRETTY[300:].encode()))
    blob, log = io.BytesIO(), ProblemLog()
    events = scan_trace(path, log, lambda n: None, ScanSink(blob))
    check(events, EVENTS, blob.getvalue())
    assert log.list() == []


def test_gzip_that_unpacks_to_more_than_any_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A few megabytes of zeros, packed, filled the memory.
    monkeypatch.setattr("tb_npu_plugin.scan.source._ALWAYS_ALLOWED", 5_000_000)
    one = json.dumps({"ph": "X", "name": "a", "ts": 1, "dur": 1, "x": "y" * 100_000})
    path = tmp_path / "trace_view.json.gz"
    path.write_bytes(gzip.compress(f"[{', '.join([one] * 300)}]".encode()))
    log = ProblemLog()
    events = scan_trace(path, log, lambda count: None)
    assert 0 < len(events) < 300 and not events.complete
    assert [(problem.code, "300 times" in problem.found) for problem in log.list()] == [("broken_gzip", True)]


def test_broken_gzip_keeps_what_came_before(tmp_path: Path) -> None:
    many = json.dumps([{"ph": "X", "name": f"op{i}", "ts": i, "dur": 1, "pid": i * i} for i in range(3000)])
    whole = gzip.compress(many.encode())
    path = tmp_path / "t.json.gz"
    path.write_bytes(whole[: len(whole) // 2])
    log = ProblemLog()
    events = scan_trace(path, log, lambda n: None)
    assert 500 < len(events) < 3000
    assert text(events.name, events.names) == [f"op{i}" for i in range(len(events))]
    assert [problem.code for problem in log.list()] == ["truncated_gzip"]
    assert not events.complete


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
        ('{"ph": "X", "name": }', False, "bad_event"),
        ('{"ph": "X", "name": "open', False, "bad_event"),
        ('{"ph": "X", "args": {"a": 1}', False, "bad_event"),
        ('"ph": "X"}', False, "bad_event"),
        ("17", False, "bad_event"),
        ("{'ph': 'X'}", False, "bad_event"),
    ],
)
@pytest.mark.parametrize("chunk", [50, 1 << 20])
def test_a_bad_event_costs_itself(
    bad: str, kept: bool, code: str | None, chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "CHUNK", chunk)
    good = '{"ph": "X", "name": "%s", "ts": "5.125", "dur": 2.5, "args": {"a": "x"}}'
    data = f"[{good % 'a'}, {bad}, {good % 'c'}, {good % 'd'}]"
    events, log, _ = scan(data, tmp_path)
    names = text(events.name, events.names)
    assert [name for name in names if name in ("a", "c", "d")] == ["a", "c", "d"]
    assert len(names) == (4 if kept else 3)
    rows = [i for i, name in enumerate(names) if name in ("a", "c", "d")]
    assert events.ts[rows].tolist() == [5125] * 3
    starts = events.args_offset[rows].tolist()
    assert [data[start : start + 10] for start in starts] == ['{"a": "x"}'] * 3
    assert {problem.code for problem in log.list()} == ({code} if code else set())


def test_a_key_that_is_written_with_an_escape(tmp_path: Path) -> None:
    plain = '{"ph": "X", "name": "a", "ts": 1, "dur": 1, "args": {}}'
    one, two = plain.replace('"args"', '"\\u0061rgs"'), plain
    data = f"[{one}, {two}, {one}]"
    events, log, _ = scan(data, tmp_path)
    assert [data[start : start + 2] for start in events.args_offset.tolist()] == ["{}"] * 3
    assert log.list() == []


def test_a_raw_tab_in_a_name_is_a_space(tmp_path: Path) -> None:
    events, log, _ = scan('[{"ph": "X", "name": "a\tb", "ts": 1, "dur": 1, "args": {"x": "\t"}}]', tmp_path)
    assert (events.names, log.list()) == (["a b"], [])


def test_bytes_that_are_no_utf8(tmp_path: Path) -> None:
    data = b'[{"ph": "X", "name": "a\xff\xfe", "ts": 1, "dur": 1}, {"ph": "X", "name": "b", "ts": 2, "dur": 1}]'
    events, log, _ = scan(data, tmp_path)
    assert text(events.name, events.names) == ["a??", "b"]
    assert [problem.code for problem in log.list()] == ["bad_json"]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        ("", "empty_file"),
        ("  \n", "empty_file"),
        ("hello", "not_a_trace"),
        ('{"a": 1}', "not_a_trace"),
        ('{"traceEvents": 5}', "not_a_trace"),
        ("\x00\x01", "not_a_trace"),
        ("[", "truncated_file"),
    ],
)
def test_what_is_no_trace(data: str, code: str, tmp_path: Path) -> None:
    events, log, _ = scan(data, tmp_path)
    assert len(events) == 0
    assert [problem.code for problem in log.list()] == [code]
    assert not events.complete


@pytest.mark.parametrize("data", ["[]", '{"traceEvents": []}', " [ ] "])
def test_an_empty_list_is_a_trace(data: str, tmp_path: Path) -> None:
    events, log, _ = scan(data, tmp_path)
    assert (len(events), log.list(), events.complete) == (0, [], True)


def test_a_file_that_is_gone(tmp_path: Path) -> None:
    log = ProblemLog()
    events = scan_trace(tmp_path / "gone.json", log, lambda n: None)
    assert len(events) == 0
    assert [problem.code for problem in log.list()] == ["unreadable_file"]


def test_a_file_that_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "CHUNK", 64)
    path = tmp_path / "t.json"
    path.write_text(json.dumps(EVENTS))

    def append(_: int) -> None:
        with path.open("a") as file:
            file.write(" ")
        monkeypatch.undo()

    log = ProblemLog()
    events = scan_trace(path, log, append)
    assert len(events) == len(EVENTS)
    assert [problem.code for problem in log.list()] == ["file_changed"]


def test_an_event_longer_than_a_chunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "CHUNK", 256)
    long = {"ph": "X", "name": "n" * 5000, "ts": 1, "dur": 1, "args": {"x": "}, {" * 1000}}
    data = json.dumps([*EVENTS, long, *EVENTS])
    events, log, _ = scan(data, tmp_path)
    check(events, [*EVENTS, long, *EVENTS], data.encode())
    assert log.list() == []


def test_the_choice_is_told(tmp_path: Path, scanner: str) -> None:
    events, _, _ = scan("[]", tmp_path)
    assert events.scanner == NAMES[scanner]


def test_an_unknown_choice_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TB_NPU_SCANNER", "fast")
    with pytest.raises(BadSetting, match="'fast'"):
        scan("[]", tmp_path)


def test_a_file_that_shrinks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "CHUNK", 64)
    path = tmp_path / "t.json"
    path.write_text(json.dumps(EVENTS * 50))  # more than the reader keeps ready
    log = ProblemLog()
    events = scan_trace(path, log, lambda _: os.truncate(path, 200))
    assert 0 < len(events) < len(EVENTS) * 50
    assert {problem.code for problem in log.list()} == {"file_changed", "truncated_file"}


def test_texts_that_are_written_in_two_ways_are_one(tmp_path: Path) -> None:
    names = [
        r"a\n\"b\"",
        r"\u0061\u000a\u0022b\u0022",
        r"\ud83d\ude00\/\u00e9\u6607",
        "😀/é昇",
        r"\\\b\f\r\t",
        r"\u0000",
    ]
    data = "[" + ",".join(f'{{"name": "{name}", "id": "{name}"}}' for name in names) + "]"
    events, log, _ = scan(data, tmp_path)
    assert log.list() == []
    assert events.names == events.flows == ['a\n"b"', "😀/é昇", "\\\b\f\r\t", "\x00"]
    assert events.name.tolist() == events.flow.tolist() == [0, 0, 1, 1, 2, 3]
