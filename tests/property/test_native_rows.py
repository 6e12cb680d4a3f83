"""Rows in C and rows in Python: the same tables and the same problems, whatever the file holds."""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tb_npu_plugin.installation import SCANNER_VARIABLE
from tb_npu_plugin.problems import Problem, ProblemLog
from tb_npu_plugin.readers.shared import native_rows
from tb_npu_plugin.readers.shared.csv_rows import RowReader
from tb_npu_plugin.readers.shared.reading import Reading
from tb_npu_plugin.readers.text.reader import read_file
from tb_npu_plugin.tables import StringColumn, Table

pytest.importorskip("tb_npu_plugin.readers._csv", reason="the CSV reader in C was not built")

KERNELS = (
    "Name,Type,Input Shapes,Start Time(us),Duration(us),Wait Time(us),Task ID,aic_ratio,mode,aic_total_cycles,x(ms)"
)
#: Of other units, with columns that are not read, and with one column alone.
HEADERS = (
    KERNELS,
    KERNELS.replace("(us)", "(s)"),
    KERNELS.replace("(us)", "(ns)"),
    "Name,Colour,Host Total Duration(us),Call Stack",
    "Timestamp(us),Component,Total Allocated(MB),Total Reserved(GB)",
    "OP Type",
)
FILES = {KERNELS[:4]: "kernel_details.csv", "Name,Col": "operator_details.csv", "Time": "memory_record.csv"}
#: Line numbers count the line breaks of cells that C has passed.
BROKEN_CELLS = b'Name,Host Total Duration(us)\n"a\nb",1\n"a\r\nb\r",1\r\n"\r\ra\n\n",2\nc,x\n"\rd",1\ne,y\n'
PLAIN = st.one_of(
    st.sampled_from(["", "N/A", "a", "k1", "1", "0", "1736408883704643.212\t", "0.125", "1.5", "3.0", "12"]),
    st.integers(0, 10**7).map(lambda value: f"{value / 1000:.3f}"),
)
#: Figures at the edges: spelling, range, rounding.
SPELLINGS = ("1e5", "1.69512E+15", "1E-5", "-0", "-0.0", "+1", ".5", "5.", "-", ".", "1_000", "１")
WORDS = ("NaN", "inf", "-Infinity")
RANGE = ("9223372036854775807", "9223372036854775808", "9223372036854775.807", "-9223372036854775.808")
ROUNDING = ("0.0005", "0.0015", "-0.0005", "2.5", "9007199254740993", "0.10000000000000000555", "000000000001.5")
DIGITS = st.from_regex(r"-?[0-9]{1,21}(\.[0-9]{1,21})?", fullmatch=True)
FIGURE = st.sampled_from([*SPELLINGS, *WORDS, *RANGE, *ROUNDING]) | DIGITS
SPACES = st.sampled_from(["", " ", "\t", "\xa0", "\x1c", "\u3000", "  "])
TEXT = st.one_of(
    st.sampled_from(
        ['"1,2;3"', '""', '"', '" N/A "', "\xa0", "\u2003N/A", "\x85", "N/A N", "算子", "\U0001f600", "\0", "\x7f"]
    ),
    st.text(st.sampled_from(list('ab",\r\n\t NA/')), max_size=8),
)
QUOTED = TEXT.map(lambda text: '"' + text.replace('"', '""') + '"')
CELL = st.one_of(
    PLAIN, PLAIN, PLAIN, FIGURE, QUOTED, TEXT, st.tuples(SPACES, st.one_of(PLAIN, FIGURE), SPACES).map("".join)
)
END = st.sampled_from(["\n", "\r\n", "\n", "\r\n", "\r", "\n\n"])


def whole_row(width: int) -> st.SearchStrategy[str]:
    """Mostly rows without fault: faults alone would leave C nothing to do."""
    cells = st.lists(PLAIN, min_size=width, max_size=width)
    texts = st.sampled_from(["a", "k 1", '"1,2"', '"a\r\nb"', '"""4,5"""', "名", '"a""b"', " a", "N/A"])
    return st.tuples(texts, texts, cells).map(lambda parts: ",".join([parts[0], parts[1], *parts[2]][:width]))


@st.composite
def files(draw: st.DrawFn) -> tuple[str, bytes]:
    header = draw(st.sampled_from(HEADERS))
    name = next((file for start, file in FILES.items() if header.startswith(start)), "op_statistic.csv")
    if header.startswith("Name,Col"):
        name = "operator_details.csv"
    width = header.count(",") + 1
    numbered = 'k{0},MatMul,"{0},2",17364088837046{0:02d}.212\t,{0}.5,0,{0},0.{0},fast,{0},N/A'
    good = st.integers(0, 99).map(numbered.format) if header.startswith("Name,Type") else whole_row(width)
    odd = st.lists(CELL, min_size=width, max_size=width).map(",".join)
    broken = st.lists(CELL, max_size=width + 2).map(",".join)
    one_odd = st.tuples(good, st.integers(0, width - 1), CELL).map(
        lambda parts: ",".join([*parts[0].split(",")[: parts[1]], parts[2], *parts[0].split(",")[parts[1] + 1 :]])
    )
    rows = draw(
        st.lists(st.one_of(good, good, good, good, one_odd, one_odd, odd, broken, st.just(header)), max_size=40)
    )
    text = "".join(line + draw(END) for line in [header, *rows])
    content = draw(st.sampled_from([b"", b"", b"\xef\xbb\xbf"])) + text.encode()
    if draw(st.booleans()):
        at = draw(st.integers(0, len(content)))
        cut = draw(st.sampled_from([0, 0, 1, 5]))
        content = (
            content[:at]
            + draw(st.sampled_from([b"", b"\xff", b"\0", b'"', b"\xc3", b"\xed\xa0\x80", b","]))
            + content[at + cut :]
        )
    if draw(st.sampled_from([False, False, True])):
        content = content[: draw(st.integers(0, len(content)))]
    if draw(st.sampled_from([False, False, False, True])):
        packed = gzip.compress(content)
        return name + ".gz", packed[: draw(st.integers(len(packed) // 2, len(packed)))]
    return name, content


def read(name: str, content: bytes, scanner: str) -> tuple[dict[str, Table], list[Problem]]:
    log = ProblemLog()
    with tempfile.TemporaryDirectory() as folder, patch.dict("os.environ", {SCANNER_VARIABLE: scanner}):
        path = Path(folder) / name
        path.write_bytes(content)
        return read_file(Reading(path, name, log)), log.list()


def assert_same(one: dict[str, Table], two: dict[str, Table]) -> None:
    assert one.keys() == two.keys()
    for key, table in one.items():
        other = two[key]
        assert table.columns == other.columns
        for column in table.columns:
            left, right = table.data[column.key], other.data[column.key]
            if isinstance(left, StringColumn):
                assert isinstance(right, StringColumn)
                assert left.codes.tolist() == right.codes.tolist() and list(left.values) == list(right.values), column
            else:
                assert not isinstance(right, StringColumn)
                # signed zeros are told apart, payloads of NaN are not
                assert left.dtype == right.dtype and list(map(repr, left.tolist())) == list(map(repr, right.tolist()))


@given(
    files(),
    st.sampled_from([1, 2, 7, 2048]),
    st.sampled_from([1, 30, 1000]),
    st.sampled_from([3, 1 << 17]),
    st.sampled_from([130, 300, 1 << 24]),
)
@example(("kernel_details.csv", b"\xef\xbb"), 2048, 1000, 3, 300)
@example(("operator_details.csv", BROKEN_CELLS), 1, 1, 3, 300)
@example(("operator_details.csv", BROKEN_CELLS), 2, 1000, 3, 300)
@example(("operator_details.csv", b'Name,Host Total Duration(us)\na,1\n"\r",2\nb,"2\n'), 1, 1, 3, 300)
def test_both_readers_give_the_same(file: tuple[str, bytes], chunk: int, ahead: int, codes: int, longest: int) -> None:
    with (
        patch("tb_npu_plugin.readers.shared.csv_rows.CHUNK_ROWS", chunk),
        patch("tb_npu_plugin.readers.shared.cells.MAX_CODES", codes),
        patch("tb_npu_plugin.readers.shared.byte_lines.AHEAD", ahead),
        patch("tb_npu_plugin.readers.shared.source.MAX_LINE", longest),
    ):
        tables, problems = read(*file, "python")
        native_tables, native_problems = read(*file, "c")
    assert_same(tables, native_tables)
    assert problems == native_problems


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_good_rows_are_left_to_c(end: str) -> None:
    rows = [
        f'k{n},T,"""{n},2""",173640888370464{n % 10}.212\t,{n}.5,N/A,{n},0.{n},"a{end}""b""",{n},' for n in range(5000)
    ]
    content = end.join([KERNELS, *rows, ""]).encode()
    taken: list[int] = []
    take = native_rows.NativeRows.take
    with patch.object(
        native_rows.NativeRows, "take", lambda self, reader: taken.append(take(self, reader)) or taken[-1]
    ):
        tables, problems = read("kernel_details.csv", content, "c")
    assert taken == [5000] and not problems
    assert_same(tables, read("kernel_details.csv", content, "python")[0])


def test_c_strips_the_white_space_that_python_strips() -> None:
    spaces = [chr(code) for code in range(1, 0x10000) if chr(code).isspace()]
    near = ["\u180e", "\u200b", "\u202e", "\u2060", "\u3001", "\xa1", "é", "算", "\U0001f600"]
    cells = [form.replace("_", char) for char in [*spaces, *near] for form in ("_", "_N/A_", "_x_ _", '"_x"', "_x y")]
    rows = [f'n{n},1,"{cell.replace(chr(34), 2 * chr(34))}"' for n, cell in enumerate(cells)]
    content = "\n".join(["Name,Host Total Duration(us),Call Stack", *rows, ""]).encode()
    with patch.object(RowReader, "chunks", lambda self: iter(())):
        native, problems = read("operator_details.csv", content, "c")
    assert not problems
    assert_same(native, read("operator_details.csv", content, "python")[0])
