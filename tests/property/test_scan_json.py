"""The scanner reads what the standard library's json reads, wherever a block or the file ends.
The native one reads the same: test_scanner_twins.py."""

from __future__ import annotations

import gzip
import io
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tb_npu_plugin.installation import SCANNER_VARIABLE
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.scan import ScanSink, scan_trace, source
from tb_npu_plugin.tables import NULL_INT
from tests.support.scanners import both_scanners

FULL = pytest.mark.full

TEXT = st.text(max_size=10) | st.sampled_from(["\0", '"', "\\", "\ud83d", "😀", '}, {"name": "', "é" * 40, "x" * 300])
DIGITS = st.text("0123456789", min_size=1, max_size=12).map(lambda text: str(int(text)))
NUMBER = st.one_of(
    st.integers(-(10**25), 10**25).map(str),
    st.builds("{}{}.{}".format, st.sampled_from(["", "-"]), DIGITS, DIGITS),
    st.builds("{}{}{}".format, DIGITS, st.sampled_from(["e", "E", "e+", ".5e-"]), st.integers(0, 5).map(str)),
    st.floats(0, 1e15).map(repr),
    st.sampled_from(["0.0005", "2.5", "1.0015", "-0", "0.0", "9223372036854775.807", "1736408883688177.930"]),
)
TIME = NUMBER | st.builds('"{}.{}"'.format, DIGITS, DIGITS) | st.just("null")
STRING = st.builds(lambda text, plain: json.dumps(text, ensure_ascii=plain), TEXT, st.booleans()).map(
    lambda text: text.encode("utf-8", "replace").decode()  # half a surrogate can only be written as an escape
)
ID = st.integers(-(2**53), 2**53).map(str) | STRING
DEEP = st.integers(1, 80).map(lambda depth: '{"d": [' * depth + "1" + "]}" * depth)
VALUE = st.recursive(
    NUMBER | STRING | DEEP | st.sampled_from(["null", "true", "[]", "{}"]),
    lambda inner: (
        st.lists(inner, max_size=4).map(lambda parts: "[" + ", ".join(parts) + "]")
        | st.lists(st.tuples(STRING, inner), max_size=4).map(
            lambda parts: "{" + ",\t".join(map(" : ".join, parts)) + "}"
        )
    ),
    max_leaves=6,
)
FIELDS = {
    "ph": st.sampled_from(['"X"', '"M"', '"C"', '"s"']),
    "bp": st.sampled_from(['"e"', '"s"', "null"]),
    "name": STRING | st.just("null"),
    "cat": STRING | st.just("null"),
    "pid": ID,
    "tid": ID,
    "id": ID,
    "ts": TIME,
    "dur": TIME,
    "args": VALUE,
    "other": VALUE,
    "n": VALUE,
    "pidd": VALUE,
}
MEMBER = st.sampled_from(sorted(FIELDS)).flatmap(lambda key: st.tuples(st.just(f'"{key}"'), FIELDS[key]))
#: Keys may come twice: the last counts, as it does for json.
EVENT = st.lists(MEMBER, max_size=8).map(lambda members: "{" + ",\n ".join(map(": ".join, members)) + "}")


def text_of(value: Any) -> str | None:
    return None if value is None else str(value).encode("utf-8", "replace").decode()


def without_halves(value: Any) -> Any:
    """Half a character becomes "?" where args are copied, in keys, too."""
    if isinstance(value, dict):
        return {text_of(key): without_halves(one) for key, one in value.items()}
    if isinstance(value, list):
        return [without_halves(one) for one in value]
    return text_of(value) if isinstance(value, str) else value


def time_of(value: Any) -> int:
    if value is None:
        return NULL_INT
    nanos = (Decimal(str(value)) * 1000).to_integral_value()
    return int(nanos) if abs(nanos) < 2**63 else NULL_INT


@given(
    events=st.lists(EVENT, min_size=1, max_size=6),
    chunk=st.sampled_from([1, 30, 200, 1 << 20]),
    form=st.sampled_from(
        [
            "[{}]",
            '{{"a": [{{}}, {{"b": "}}, {{"}}], "traceEvents": [{}], "c": [{{"ph": "X"}}]}}',
            "\ufeff\r\n[ {}\r\n]\n",
        ]
    ),
    zipped=st.booleans(),
)
@example(events=['{"args": {"" : [],\t"\\ud83d" : []}}'], chunk=1, form="[{}]", zipped=True)
def test_any_json(
    events: list[str], chunk: int, form: str, zipped: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "CHUNK", chunk)
    monkeypatch.setenv(SCANNER_VARIABLE, "python")
    data = form.format(" ,\n".join(events)).encode()
    path = tmp_path / ("t.json.gz" if zipped else "t.json")
    path.write_bytes(gzip.compress(data[:9]) + gzip.compress(data[9:]) if zipped else data)
    log, blob, read = ProblemLog(), io.BytesIO(), list[int]()
    found = scan_trace(path, log, read.append, ScanSink(blob))
    assert sum(read) == path.stat().st_size
    if zipped:
        data = blob.getvalue()
    halves = any("\\ud" in event for event in events)  # half a character is reported
    assert {problem.code for problem in log.list()} <= ({"bad_json"} if halves else set()) and found.complete
    wanted = [json.loads(event, parse_float=Decimal) for event in events]
    for key, column, texts in (
        ("name", found.name, found.names),
        ("cat", found.category, found.categories),
        ("pid", found.pid, found.pids),
        ("tid", found.tid, found.tids),
        ("id", found.flow, found.flows),
    ):
        shown = [None if code < 0 else texts[code] for code in column.tolist()]
        assert shown == [text_of(event.get(key)) for event in wanted], key
    assert found.phase.tolist() == [ord(event.get("ph", "\0")) for event in wanted]
    assert found.enclosing.tolist() == [event.get("bp") == "e" for event in wanted]
    assert found.ts.tolist() == [time_of(event.get("ts")) for event in wanted]
    assert found.dur.tolist() == [time_of(event.get("dur")) for event in wanted]
    for event, start, length in zip(wanted, found.args_offset.tolist(), found.args_length.tolist()):
        assert (start >= 0) == ("args" in event)
        if start >= 0:
            args = without_halves(event["args"]) if zipped else event["args"]
            assert json.loads(data[start : start + length], parse_float=Decimal) == args


@both_scanners[0]
@both_scanners[1]
@pytest.mark.parametrize("fill", ["\\n昇", *(pytest.param(text, marks=FULL) for text in ("x", '}, {\\"name\\": '))])
def test_a_very_long_string(fill: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "CHUNK", 64 << 10)
    path = tmp_path / "t.json"
    path.write_text(
        '[{"name": "a"}, {"name": "b", "args": {"x": "' + fill * (9_000_000 // len(fill)) + '"}}, {"name": "c"}]'
    )
    log = ProblemLog()
    found = scan_trace(path, log, lambda _: None)
    assert (found.names, found.args_length.tolist()[1], log.list()) == (["a", "b", "c"], path.stat().st_size - 55, [])


SMALL = [
    {"ph": "M", "name": "process_name", "pid": 7, "args": {"name": "x"}},
    {"ph": "X", "name": 'a "}, {" b', "pid": 7, "ts": "1.500", "dur": 2, "args": {"l": [{"p": 1}, {"q": "\\"}]}},
    {"ph": "X", "name": "é", "pid": 7, "ts": "3.000", "dur": 2},
]


@both_scanners[0]
@both_scanners[1]
@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("chunk", [17, pytest.param(1 << 20, marks=FULL)])
def test_a_truncated_trace_keeps_every_complete_event(
    wrapped: bool, chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "CHUNK", chunk)
    parts = [json.dumps(event, ensure_ascii=False).encode() for event in SMALL]
    head = b'{"version": 1, "traceEvents": [' if wrapped else b"["
    data = head + b", ".join(parts) + (b"]}" if wrapped else b"]")
    ends = [len(head) + len(b", ".join(parts[: count + 1])) for count in range(len(parts))]
    path = tmp_path / "t.json"
    for size in range(len(data)):
        path.write_bytes(data[:size])
        log = ProblemLog()
        found = scan_trace(path, log, lambda _: None)
        names = [found.names[code] for code in found.name[found.phase > 0].tolist()]
        assert names == [event["name"] for event, end in zip(SMALL, ends) if end <= size], size
        assert log.list() or size > ends[-1], size
