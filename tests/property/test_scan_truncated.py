"""A truncated trace keeps every complete event, wherever it ends and however it is cut into chunks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.scan import scan_trace, source
from tests.support.scanners import both_scanners

pytestmark = both_scanners

SMALL = [
    {"ph": "M", "name": "process_name", "pid": 7, "args": {"name": "x"}},
    {"ph": "X", "name": 'a "}, {" b', "pid": 7, "ts": "1.500", "dur": 2, "args": {"l": [{"p": 1}, {"q": "\\"}]}},
    {"ph": "X", "name": "é", "pid": 7, "ts": "3.000", "dur": 2},
]


def names_of(path: Path) -> tuple[list[str], list[str]]:
    log = ProblemLog()
    events = scan_trace(path, log, lambda n: None)
    keep = events.phase > 0
    return [events.names[code] for code in events.name[keep].tolist()], [problem.code for problem in log.list()]


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("chunk", [17, 1 << 20])
def test_truncated_at_every_byte(wrapped: bool, chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "CHUNK", chunk)
    parts = [json.dumps(event, ensure_ascii=False).encode() for event in SMALL]
    head = b'{"version": 1, "traceEvents": [' if wrapped else b"["
    data = head + b", ".join(parts) + (b"]}" if wrapped else b"]")
    ends = [len(head) + len(b", ".join(parts[: count + 1])) for count in range(len(parts))]
    path = tmp_path / "t.json"
    for size in range(len(data)):
        path.write_bytes(data[:size])
        names, codes = names_of(path)
        assert names == [event["name"] for event, end in zip(SMALL, ends) if end <= size], size
        if size <= ends[-1]:
            assert codes, size


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=80)
@given(
    events=st.lists(
        st.fixed_dictionaries({"name": st.text(max_size=12), "args": st.dictionaries(st.text(max_size=4), JSON)}),
        min_size=1,
        max_size=8,
    ),
    chunk=st.integers(7, 300),
    escaped=st.booleans(),
    indent=st.sampled_from([None, 0, 3]),
)
def test_any_events_at_any_cut(
    events: list[dict], chunk: int, escaped: bool, indent: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "CHUNK", chunk)
    path = tmp_path / "t.json"
    data = json.dumps([{"ph": "X", **event} for event in events], indent=indent, ensure_ascii=escaped)
    data = data.encode("utf-8", "surrogatepass" if not escaped else "strict")
    path.write_bytes(data)
    log = ProblemLog()
    found = scan_trace(path, log, lambda n: None)
    assert log.list() == []
    assert [found.names[code] for code in found.name.tolist()] == [event["name"] for event in events]
    for event, start, length in zip(events, found.args_offset.tolist(), found.args_length.tolist()):
        assert json.loads(data[start : start + length]) == event["args"]
