"""Both scanners give the same columns and the same problems on the same bytes, whatever these are; and so does the
native one with several threads, wherever it cuts."""

from __future__ import annotations

import gzip
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tb_npu_plugin.installation import SCANNER_VARIABLE
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.scan import ScanSink, scan_trace, source
from tb_npu_plugin.scan.events import DTYPES, TEXT_COLUMNS, TraceEvents
from tests.conftest import FIXTURES
from tests.support.scanners import differences, needs_native, told

pytestmark = needs_native

THREADS_VARIABLE = "TB_NPU_SCAN_THREADS"

DIGITS = st.text("0123456789", min_size=1, max_size=20)
NUMBERS = st.one_of(
    st.integers().map(str),
    st.floats().map(repr),
    st.floats(0, 1e7).map(repr),
    st.builds("{}.{}".format, DIGITS, DIGITS),
    st.builds("-{}.{}5".format, DIGITS, DIGITS),
    st.builds("{}{}{}".format, DIGITS, st.sampled_from("eE"), st.sampled_from(["3", "-2", "+1", "400", ""])),
    st.sampled_from(
        [
            "-0",
            "-0.0",
            "00",
            "1.",
            ".5",
            "-",
            "NaN",
            "-Infinity",
            "N/A",
            "inf",
            "-nan",
            "1736408883704643.212",
            "3.6500000000000004",
            "0.0005",
            "0.0015",
            "9223372036854775.807",
            "9223372036854775.808",
            "1e999999999",
            "9" * 40,
        ]
    ),
)
STRINGS = st.one_of(
    st.text(max_size=12).map(json.dumps),
    st.text(max_size=12).map(lambda text: json.dumps(text, ensure_ascii=False)),
    st.text(st.characters(), max_size=4).map(lambda text: f'"{text}"'),
    NUMBERS.map('"{}"'.format),
    st.sampled_from(
        [
            r'"\ud83d\ude00"',
            r'"\ud800"',
            r'"\udc00\ud800"',
            r'"\u00e9"',
            r'"\/\b"',
            r'"\q"',
            r'"\u12g4"',
            '""',
            '"e"',
            '"X"',
            '" 1.5 "',
            '"a\tb"',
            '"a\x01b"',
            '"null"',
            r'"}, {\" "',
            '"args"',
            r'"\u0058"',
            '"\ud800"',
        ]
    ),
)
WORDS = st.sampled_from(
    [
        "null",
        "true",
        "false",
        "nul",
        "[]",
        "{}",
        "[1 , {}]",
        '{"args": {}}',
        "[" * 64 + "]" * 64,
        "[" * 65 + "]" * 65,
        "[" * 300 + "]" * 300,
        "[}",
        "{]",
        "[1,]",
        '{"a" 1}',
        '{"a":1,}',
        "",
    ]
)
VALUES = st.recursive(
    STRINGS | NUMBERS | WORDS,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda parts: "[" + ",".join(parts) + "]")
        | st.lists(st.tuples(STRINGS, inner), max_size=3).map(
            lambda parts: "{" + ", ".join(map(": ".join, parts)) + "}"
        )
    ),
    max_leaves=5,
)
KEYS = st.sampled_from(
    ["ph", "name", "cat", "pid", "tid", "ts", "dur", "id", "bp", "args", "other", "n\\u0061me", "arg"]
).map('"{}"'.format)
GOOD = {'"ph"': st.sampled_from(['"X"', '"s"', '"f"', '""', '"XX"']), '"ts"': NUMBERS, '"dur"': NUMBERS}
BLANK = st.sampled_from(["", " ", " ", " ", "\n", "\t\r\n  "])
MEMBERS = KEYS.flatmap(lambda key: st.tuples(st.just(key), BLANK, GOOD.get(key, STRINGS | NUMBERS) | VALUES)).map(
    lambda parts: f"{parts[0]}{parts[1]}:{parts[1]}{parts[2]}"
)
EVENTS = st.lists(MEMBERS, max_size=7).map(", ".join).map("{{{}}}".format)
ITEMS = st.one_of(EVENTS, EVENTS, EVENTS, VALUES)
GAPS = st.sampled_from([", ", ", ", ",", ",\n  ", " ", ",,", ",\x00", ", \x0b"])


@st.composite
def traces(draw: st.DrawFn) -> bytes:
    """Bytes that are a trace more or less."""
    parts = draw(st.lists(st.tuples(ITEMS, GAPS), max_size=12))
    head, tail = draw(
        st.sampled_from(
            [
                ("[", "]"),
                ("\ufeff [", " ] "),
                ('{"traceEvents": [', "]}"),
                ("[", ""),
                ("[", "] x]"),
                ("[,", ",]"),
                ('{"a": {"b": "\\""}, "traceEvents": [', '], "traceEvents": [{"name": "more"}], "x": [{}, {}]}'),
            ]
        )
    )
    text = head + "".join(item + gap for item, gap in parts)
    if draw(st.booleans()):
        text = text.rstrip(" ,\n\x00\x0b")
    data = bytearray((text + tail).encode("utf-8", "surrogatepass"))
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 3]))):
        place = draw(st.integers(0, len(data)))
        data[place : place + draw(st.integers(0, 2))] = draw(
            st.binary(max_size=3) | st.sampled_from([b'"', b"{", b"\\"])
        )
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
    return scan_trace(path, log, lambda _: None, ScanSink(blob)), told(log)


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


@settings(max_examples=400)
@given(data=traces(), chunk=st.sampled_from([1, 7, 40, 300, 1 << 20]), zipped=st.sampled_from([False, False, True]))
@example(
    data=rb'[{"name": "\ud83d!", "args": {}}, {"args": ["\udc00\\ud83d"]}, {"x": "\ud83d\ude00"}]',
    chunk=40,
    zipped=True,
)
@example(data=CUTS_WITHIN, chunk=40, zipped=False)
@example(data=CUTS_WITHIN, chunk=7, zipped=False)
@example(data=b'[{"name": ""}, {"name": ""}, {"name": ""}]', chunk=7, zipped=False)
@example(data=b'[{"name": "a", "args": {"x": "\xff"}}, {"name": "b", "ts": NaN}]', chunk=1 << 20, zipped=False)
@example(
    data=b'[{"ts": 1, "dur": 1.25, "ts": null, "dur": null}, {"dur": 1.1, "dur": "2"}]', chunk=1 << 20, zipped=False
)
@example(data=b'[{"name": "\xed\xa0\x80"}, {"name": "\xe0\x80\x80"}]', chunk=1 << 20, zipped=False)
@example(data=b'[{"name": "\xf4\x90\x80\x80"}, {"name": "\xf0\x80\x80\x80"}]', chunk=1 << 20, zipped=False)
@example(data=b'[{}, {}, "", {"\\u001f\\u001f": "", "\x1f": []}, ]', chunk=40, zipped=False)
@example(data=b'[{"dur": "1.5"}, {"dur": 3.6500000000000004}, {"dur": null}]', chunk=1 << 20, zipped=False)
def test_any_bytes(data: bytes, chunk: int, zipped: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "CHUNK", chunk)
    path = tmp_path / "trace_view.json"
    path.write_bytes(gzip.compress(data, 1) if zipped else data)
    check_twins(path, data, monkeypatch)


@settings(max_examples=300)
@given(numbers=st.lists(NUMBERS | st.floats(0, 1e9, width=64).map(repr), min_size=1, max_size=40), quoted=st.booleans())
def test_any_number(numbers: list[str], quoted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    form = '{{"ts": "{0}", "dur": "{0}"}}' if quoted else '{{"ts": {0}, "dur": {0}}}'
    data = "[" + ",".join(form.format(number) for number in numbers) + "]"
    path = tmp_path / "trace_view.json"
    path.write_text(data)
    check_twins(path, data.encode(), monkeypatch)


@pytest.mark.parametrize("chunk", [1000, 4 << 20])
@pytest.mark.parametrize("path", sorted(FIXTURES.rglob("trace_view.json*")), ids=lambda path: path.parents[2].name)
def test_fixtures(path: Path, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "CHUNK", chunk)
    data = path.read_bytes()
    check_twins(path, gzip.decompress(data) if path.suffix == ".gz" else data, monkeypatch)


def test_real_data(real_text_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in sorted(real_text_run.rglob("trace_view.json")):
        check_twins(path, path.read_bytes(), monkeypatch)
