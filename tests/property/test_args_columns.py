"""Values of args as columns: C gives what Python gives, whatever the bytes."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tb_npu_plugin.installation import SCANNER_VARIABLE
from tb_npu_plugin.scan import args as plain_args
from tb_npu_plugin.scan.args import ArgsFile
from tb_npu_plugin.scan.args_columns import Key, read_columns
from tb_npu_plugin.tables import NULL_INT
from tests.support.scanners import needs_native

KEYS = ("id", "stack", "ty\u00fe", "n")
IS_TEXT = (False, True, True, False)

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**65), 2**65)
    | st.floats(allow_nan=False)
    | st.text(max_size=9)
    | st.sampled_from(["", "AI_CORE", "a;\r\nb", "\ud800", "\\", "\u0000"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(st.sampled_from([*KEYS, "other", "i\\d", ""]), VALUES, max_size=5)
TEXTS = st.builds(
    lambda value, ascii: json.dumps(value, ensure_ascii=ascii).encode("utf-8", "replace"), OBJECTS, st.booleans()
)
WRONG = (b"", b"{", b"[]", b'{"id": 1,}', b'{"id": NaN}', b'{"id": 1} x', b'{"id": 01}', b'{"stack": "a\tb"}')
EDGES = (
    b" {\n} ",
    b'{"id": -0}',
    b'{"\\u0069d": 7}',
    b'{"id": 1e2}',
    b'{"stack": "\xff"}',
    b'{"stack": "\\ud83d\\ude00\\/"}',
)
TWICE = (
    b'{"id": 1, "id": 2, "id": "x"}',
    b'{"stack": "x", "stack": 5}',
    b'{"n": ' + b"[" * 80 + b"]" * 80 + b', "id": 3}',
)
LARGE = (b'{"id": 9223372036854775807}', b'{"id": -9223372036854775808}')
ODD = st.sampled_from([*WRONG, *EDGES, *TWICE, *LARGE])
CUT = st.builds(lambda text, at: text[: at % (len(text) + 1)], TEXTS, st.integers(0, 99))


def read(path: Path, spans: list[tuple[int, int]], wanted: list[int]) -> Any:
    sinks = [io.BytesIO() if is_text else None for is_text in IS_TEXT]
    offsets, lengths = (np.array([span[part] for span in spans], dtype=np.int64) for part in (0, 1))
    with ArgsFile(path) as args:
        keys = [Key(name, sink) for name, sink in zip(KEYS, sinks)]
        found = read_columns(args, offsets, lengths, np.array(wanted, dtype=np.uint8), keys)
    return (
        [column.tolist() for column in found.values],
        [ends.tolist() for ends in found.ends],
        [sink and sink.getvalue() for sink in sinks],
    )


@needs_native
@given(
    rows=st.lists(st.tuples(TEXTS | ODD | CUT, st.integers(0, 15), st.booleans()), max_size=12),
    window=st.integers(1, 200),
    piece=st.integers(1, 12),
)
@example(rows=[(b'{"stack": "x"}', 15, True)] * 5, window=40, piece=2)
def test_c_gives_what_python_gives(
    rows: list[tuple[bytes, int, bool]], window: int, piece: int, tmp_path: Path
) -> None:
    path = tmp_path / "file"
    spans, at = [], 0
    with path.open("wb") as file:
        for text, _, there in rows:
            file.write(b"??" + text)
            spans.append((at + 2 if there else -1, len(text) if there else 0))
            at += 2 + len(text)
    found = []
    for choice, rows_at_once in (("python", len(rows) + 1), ("c", piece)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(SCANNER_VARIABLE, choice)
            patch.setattr("tb_npu_plugin.scan.args_columns.WINDOW", window)
            patch.setattr("tb_npu_plugin.scan.args_columns._PIECE", rows_at_once)
            found.append(read(path, spans, [mask for _, mask, _ in rows]))
    assert found[0] == found[1]


@pytest.mark.parametrize("scanner", ["python", pytest.param("c", marks=needs_native)])
def test_values_and_texts(scanner: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SCANNER_VARIABLE, scanner)
    path = tmp_path / "file"
    rows = [b'{"id": 5, "stack": "a;\\r\\nb"}', b'{"stack": "c", "id": true}', b'{"stack": "a;\\r\\nb", "n": 1}']
    path.write_bytes(b"".join(rows))
    spans = [(sum(map(len, rows[:i])), len(row)) for i, row in enumerate(rows)]
    values, ends, texts = read(path, spans, [15, 3, 2])
    assert values == [[5, NULL_INT], [0, 1, 0], [NULL_INT], [NULL_INT]]
    assert texts[1] == b"a;\r\nbc"
    assert ends[1] == [0, 5, 6]
    path.write_bytes(b"".join(rows)[:-4])  # it shrank meanwhile
    assert read(path, spans, [15, 3, 2])[0] == [[5, NULL_INT], [0, 1, NULL_INT], [NULL_INT], [NULL_INT]]
    assert plain_args.read_object(rows[0]) == {"id": 5, "stack": "a;\r\nb"}
