"""Both scanners give the same columns and the same problems on any bytes, the native one also with several threads.
Fixtures and real traces: tests/oracle/test_trace.py."""

from __future__ import annotations

import gzip
import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tb_npu_plugin.installation import SCANNER_VARIABLE
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.scan import ScanSink, scan_trace, source
from tb_npu_plugin.scan.events import DTYPES, TEXT_COLUMNS, TraceEvents
from tests.property.test_scan_json import EVENT, FIELDS, STRING, TIME, VALUE
from tests.support.scanners import differences, needs_native, told

pytestmark = needs_native

THREADS_VARIABLE = "TB_NPU_SCAN_THREADS"

WRONG_NUMBERS = ("00", "1.", ".5", "-", "NaN", "-Infinity", "N/A", "inf", "1e400", "1e999999999", "9" * 40, "1.5e")
WRONG_STRINGS = (r'"\q"', r'"\u12g4"', '"a\tb"', '"a\x01b"', '"\ud800"', r'"\udc00\ud800"', '"', '" 1.5 "', '"1e5"')
WRONG_VALUES = ("nul", "[}", "{]", "[1,]", '{"a" 1}', '{"a":1,}', "", "[" * 64 + "]" * 64, "[" * 300 + "]" * 300)
WRONG = st.sampled_from([*WRONG_NUMBERS, *WRONG_STRINGS, *WRONG_VALUES]) | st.floats().map(repr)
KEYS = st.sampled_from([*FIELDS, "ph", "bp", "n\\u0061me"])
ODD_EVENT = (
    st.lists(st.builds('"{}" :\t{}'.format, KEYS, WRONG | TIME | STRING), max_size=5)
    .map(", ".join)
    .map("{{{}}}".format)
)
ITEMS = st.one_of(EVENT, ODD_EVENT, ODD_EVENT, VALUE | WRONG)
GAPS = st.sampled_from([", ", ", ", ",", ",\n  ", " ", ",,", ",\x00", ", \x0b", "][", " ] ,\n[ "])
ENDS = (("[", "]"), ("\ufeff [", " ] "), ('{"traceEvents": [', "]}"), ("[", ""), ("[", "] x]"), ("[,", ",]"))
MORE = ('{"a": {"b": "\\""}, "traceEvents": [', '], "traceEvents": [{"name": "more"}], "x": [{}, {}]}')


@st.composite
def traces(draw: st.DrawFn) -> bytes:
    """Bytes that are a trace more or less."""
    parts = draw(st.lists(st.tuples(ITEMS, GAPS), max_size=12))
    head, tail = draw(st.sampled_from([*ENDS, MORE]))
    text = head + "".join(item + gap for item, gap in parts)
    if draw(st.booleans()):
        text = text.rstrip(" ,\n\x00\x0b")
    data = bytearray((text + tail).encode("utf-8", "surrogatepass"))
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 3]))):
        place, removed = draw(st.integers(0, len(data))), draw(st.integers(0, 2))
        data[place : place + removed] = draw(st.binary(max_size=3) | st.sampled_from([b'"', b"{", b"\\"]))
    return bytes(data[: draw(st.integers(0, len(data)))] if draw(st.integers(0, 3)) == 0 else data)


#: Places that look like the beginning of an event and are none: in a string, in a list of args, between wrappers.
CUTS_WITHIN = (
    b'{"traceEvents": [{"name": "}, {\\"name\\": \\"x\\"}, {\\"", "args": [{"a": 1}, {"b": 2}, {"c": [{}, {"d": 3}]}]}, '
    b'{"name": "one", "args": {"l": [{"name": "no"}, {"name": "no"}, {"name": "no"}, {"name": "no"}]}}, {"name": "two"}], '
    b'"others": [{"name": "no"}, {"name": "no"}, {"name": "no"}]}'
)


def scan_with(scanner: str, path: Path, blob: io.BytesIO | None, patch: pytest.MonkeyPatch) -> tuple[TraceEvents, list]:
    patch.setenv(SCANNER_VARIABLE, scanner)
    log = ProblemLog()
    found = scan_trace(path, log, lambda _: None, ScanSink(blob))
    return found, [*told(log), {"code": "", "seen": log.seen.as_json()}]


def check_twins(path: Path, data: bytes, patch: pytest.MonkeyPatch) -> None:
    """Scan a file with both. `data`: its JSON."""
    blobs = io.BytesIO(), io.BytesIO()
    one, problems = scan_with("python", path, blobs[0], patch)
    two, same_problems = scan_with("c", path, blobs[1], patch)
    contents = tuple(re.sub(rb"[\t\r\n]", b" ", blob.getvalue()) for blob in blobs)
    assert differences(one, two, data, contents if one.args_path is None else None) == []  # type: ignore[arg-type]
    # In which order kinds of problems are met depends on how much is read at once; each kind's own figures do not.
    assert sorted(problems, key=code_of) == sorted(same_problems, key=code_of)
    check_threads(path, two, same_problems, patch)


def check_threads(path: Path, one: TraceEvents, problems: list[dict[str, Any]], patch: pytest.MonkeyPatch) -> None:
    """Scan again with three threads. one, problems: what a single thread found."""
    with patch.context() as context:
        context.setenv(THREADS_VARIABLE, "3")
        two, same_problems = scan_with("c", path, None, context)
    assert same_problems == problems
    for key in ["complete", "bytes_read", *TEXT_COLUMNS.values()]:
        assert getattr(two, key) == getattr(one, key), key
    for key in DTYPES.keys() - ({"args_offset"} if one.args_path is None else set()):
        np.testing.assert_array_equal(getattr(two, key), getattr(one, key), key)


def code_of(problem: dict[str, Any]) -> str:
    return str(problem["code"])


def with_examples(test: Any) -> Any:
    """Add bytes at which the scanners once differed."""
    for data in (
        rb'[{"name": "\ud83d!", "args": {}}, {"args": ["\udc00\\ud83d"]}, {"x": "\ud83d\ude00"}]',
        CUTS_WITHIN,
        b'[{"name": ""}, {"name": ""}, {"name": ""}]',
        b'[{"name": ""} {"name": ""}, {"name": ""},] ,[{}] [',
        b'[{"name": "a", "args": {"x": "\xff"}}, {"name": "b", "ts": NaN}]',
        b'[{"ts": 1, "dur": 1.25, "ts": null, "dur": null}, {"dur": 1.1, "dur": "2"}]',
        b'[{"name": "\xed\xa0\x80"}, {"name": "\xe0\x80\x80"}]',
        b'[{"name": "\xf4\x90\x80\x80"}, {"name": "\xf0\x80\x80\x80"}]',
        b'[{}, {}, "", {"\\u001f\\u001f": "", "\x1f": []}, ]',
        b'[{"dur": "1.5"}, {"dur": 3.6500000000000004}, {"dur": null}, {"dur": 0.0005}, {"dur": 0.0015}]',
        b'[{"ts": 9223372036854775.807}, {"ts": 9223372036854775.808}, {"ts": "-0.0005"}]',
    ):
        for chunk in (7, 40, 1 << 20):
            test = example(data=data, chunk=chunk, zipped=chunk == 40)(test)
    return test


@with_examples
@given(data=traces(), chunk=st.sampled_from([1, 7, 40, 300, 1 << 20]), zipped=st.sampled_from([False, False, True]))
def test_any_bytes(data: bytes, chunk: int, zipped: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "CHUNK", chunk)
    path = tmp_path / "trace_view.json"
    path.write_bytes(gzip.compress(data, 1) if zipped else data)
    check_twins(path, data, monkeypatch)
