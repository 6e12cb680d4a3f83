"""Whatever csv.writer writes is read back equal, whatever the cells hold; and nothing makes a reader raise."""

from __future__ import annotations

import csv
import io
import tempfile
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.shared.reading import Reading
from tb_npu_plugin.readers.text.reader import read_file
from tb_npu_plugin.tables import NULL_INT, Table
from tb_npu_plugin.units import scale_decimal, scaled_column

#: Text of any kind that UTF-8 can hold, spiced with what CSV gives a meaning.
CELL = st.text(
    st.one_of(
        st.sampled_from(list('",\r\n\t; \ufeff')), st.characters(exclude_categories=["Cs"], exclude_characters="\0")
    )
)
HEADER = ["Name", "Call Stack", "Host Total Duration(us)"]
DECIMALS = st.decimals(-(10**12), 10**12, allow_nan=False, places=6)


def read(name: str, content: bytes) -> tuple[dict[str, Table], ProblemLog]:
    log = ProblemLog()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        return read_file(Reading(path, name, log)), log


def known(cell: str) -> str | None:
    return None if cell.strip() in ("", "N/A") else cell.strip()


@given(
    st.lists(st.tuples(CELL, CELL, DECIMALS), max_size=30),
    # with "\n" the writer leaves a lone "\r" unquoted, which no reader can tell from a line break
    st.sampled_from([("\r\n", csv.QUOTE_MINIMAL), ("\n", csv.QUOTE_ALL)]),
    st.sampled_from(["utf-8", "utf-8-sig"]),
)
@example([('"', "\r", Decimal(0))], ("\r\n", csv.QUOTE_MINIMAL), "utf-8")
def test_rows_are_read_as_they_were_written(
    rows: list[tuple[str, str, Decimal]], dialect: tuple[str, int], encoding: str
) -> None:
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator=dialect[0], quoting=dialect[1])
    writer.writerows([HEADER, *rows])
    tables, log = read("operator_details.csv", buffer.getvalue().encode(encoding))
    kept = [row for row in rows if known(row[0]) is not None]  # a row without a name is lost
    table = tables["operators"]
    assert table.text("name").tolist() == [known(name) for name, _, _ in kept]
    assert table.text("call_stack").tolist() == [known(stack) for _, stack, _ in kept]
    assert table.ints("host_total_ns").tolist() == [
        int((value * 1000).to_integral_value(ROUND_HALF_EVEN)) for _, _, value in kept
    ]
    lost = sum(problem.count for problem in log.list() if problem.code == "bad_required_cell")
    assert lost == len(rows) - len(kept)


@given(
    st.lists(st.decimals(allow_nan=False, allow_infinity=False), max_size=20), st.sampled_from([1, 1000, 1024, 10**9])
)
@example([Decimal("1736408883704643.212"), Decimal("1736408883704643.213")], 1000)
@example([Decimal("0.0005"), Decimal("562949953.4213125")], 1000)
def test_figures_are_exact(figures: list[Decimal], factor: int) -> None:
    texts = [str(figure) for figure in figures]
    values, bad = scaled_column(texts, factor)
    for text, value, wrong in zip(texts, values.tolist(), bad.tolist()):
        assert (None if wrong else value) == scale_decimal(text, factor)
        if not wrong and abs(Decimal(text).adjusted()) < 20:
            assert abs(Decimal(text) * factor - value) <= Decimal("0.5")


@given(
    st.sampled_from(["kernel_details.csv", "step_trace_time.csv", "communication.json", "communication_matrix.json"]),
    st.binary(max_size=400),
)
def test_no_bytes_make_a_reader_raise(name: str, content: bytes) -> None:
    read(name, content)


@given(st.data())
def test_no_damage_makes_the_reader_raise_or_costs_rows_silently(data: st.DataObject) -> None:
    rows = [f'k{n},"1,2",{n}.125\t,{n}' for n in range(12)]
    content = "\r\n".join(["Name,Input Shapes,Start Time(us),Duration(us)", *rows, ""]).encode()
    at = data.draw(st.integers(50, len(content)))
    removed = data.draw(st.integers(0, 12))
    inserted = data.draw(st.binary(max_size=6))
    damaged = content[:at] + inserted + content[at + removed :]
    tables, log = read("kernel_details.csv", damaged)
    if "kernels" not in tables:
        assert log.list()
        return
    table = tables["kernels"]
    assert not (table.ints("start_ns") == NULL_INT).any()
    if len(table) < 12 and removed < 12 and b"\n" not in content[at : at + removed]:
        assert log.list()
    assert len(table) >= 8  # the damage touches two rows at most; a quotation mark may take one more
