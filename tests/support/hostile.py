"""Small files that cost much: each below 1 MB, made the same way every time."""

from __future__ import annotations

import gzip
import json
import sqlite3
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

from tb_npu_plugin.schema.torch_npu_json import OUTPUT_FOLDER
from tests.support.fixtures import FIXTURES
from tests.unit.store.results import TRACE, settle, write_result

#: Most bytes of a file.
SIZE = 1_000_000
_KERNELS = "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us)"
#: Bytes of a page of the databases that are made here; first bytes of pages of a table.
_PAGE, _INTERIOR, _LEAF = 4096, 5, 13
_NOW = 1_736_408_883_704_643_212


def database(path: Path, *statements: str) -> None:
    """Make a database by these statements."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA page_size={_PAGE}")
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def _varint(value: int) -> bytes:
    out = [value & 127]
    while value := value >> 7:
        out.append(value & 127 | 128)
    return bytes(reversed(out))


def endless_tree(path: Path, table: str, levels: int = 5) -> None:
    """Let the pages of a table's tree refer to one page many times."""
    data, root = bytearray(path.read_bytes()), _root(path, table)
    size = int.from_bytes(data[16:18], "big")
    leaf = data[(root - 1) * size : root * size]
    while leaf[0] != _LEAF:
        child = int.from_bytes(leaf[(first := int.from_bytes(leaf[12:14], "big")) : first + 4], "big")
        leaf = data[(child - 1) * size : child * size]
    data += leaf
    for _ in range(levels):
        data += _interior(size, [len(data) // size] * ((size - 12) // 7 - 1))
    data[(root - 1) * size : root * size] = data[-size:]
    data[28:32] = struct.pack(">I", len(data) // size)
    path.write_bytes(data)


def _interior(size: int, children: Sequence[int], start: int = 0) -> bytearray:
    """A page that refers to others. start: bytes of the file's header in it."""
    page, at = bytearray(size), size
    for number, child in enumerate(children):
        at -= 5
        page[at : at + 5] = struct.pack(">IB", child, number % 127 + 1)
        place = start + 12 + 2 * number
        page[place : place + 2] = struct.pack(">H", at)
    page[start] = _INTERIOR
    page[start + 3 : start + 12] = struct.pack(">HHBI", len(children), at, 0, children[-1])
    return page


def shared_text(path: Path, table: str, kind: int = 13, value_first: bool = True) -> None:
    """Let all rows of a table (id, value) share one long text. kind: 13 for text, 12 for a blob."""
    data, root = bytearray(path.read_bytes()), _root(path, table)
    length = 900_000
    first = len(data) // _PAGE + 1
    pages = -(-length // (_PAGE - 4))
    for number in range(pages):
        following = 0 if number == pages - 1 else first + number + 1
        data += struct.pack(">I", following) + b"x" * (_PAGE - 4)
    kinds = (_varint(2 * length + kind), b"\x01") if value_first else (b"\x01", _varint(2 * length + kind))
    header = b"".join(kinds)
    record = bytes([len(header) + 1]) + header
    payload = len(record) + 1 + length
    least = (_PAGE - 12) * 32 // 255 - 23
    local = least + (payload - least) % (_PAGE - 4)
    local = local if local <= _PAGE - 35 else least
    leaves = []
    for leaf in range(200):
        page, at, cells = bytearray(_PAGE), _PAGE, []
        start = (record + b"\x01" + b"y" * local)[:local] + struct.pack(">I", first)
        for row in range(max(1, (_PAGE - 100) // (len(start) + 12))):
            cell = _varint(payload) + _varint(leaf * 100 + row + 1) + start
            at -= len(cell)
            page[at : at + len(cell)] = cell
            cells.append(at)
        # One cell many times: rows of two bytes each.
        cells += [cells[-1]] * min(500, (at - 8 - 2 * len(cells)) // 2)
        page[0], page[3:5], page[5:7] = 13, struct.pack(">H", len(cells)), struct.pack(">H", at)
        for number, place in enumerate(cells):
            page[8 + 2 * number : 10 + 2 * number] = struct.pack(">H", place)
        if len(data) + 2 * _PAGE > SIZE and leaves:
            break
        data += page
        leaves.append(len(data) // _PAGE)
    top = _interior(_PAGE, leaves)
    data[(root - 1) * _PAGE : root * _PAGE] = top
    data[28:32] = struct.pack(">I", len(data) // _PAGE)
    path.write_bytes(data)


def _root(path: Path, table: str) -> int:
    with closing(sqlite3.connect(path)) as connection:
        ((root,),) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,))
        return int(root)


def _recorded(path: Path, *statements: str) -> None:
    """Copy the database of a fixture, and change it."""
    (source,) = (FIXTURES / "results" / "db_only").rglob("ascend_pytorch_profiler_0.db")
    path.write_bytes(source.read_bytes())
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in (*statements, f"PRAGMA page_size={_PAGE}", "VACUUM"):
            connection.execute(statement)


def _endless(table: str) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        _recorded(path)
        endless_tree(path, table)

    return make


def _shared(kind: int, value_first: bool = False) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        columns = "value TEXT, id INT" if value_first else "id INT, value TEXT"
        _recorded(path, "DROP TABLE STRING_IDS", f"CREATE TABLE STRING_IDS ({columns})")
        shared_text(path, "STRING_IDS", kind, value_first)

    return make


def _computed(path: Path) -> None:
    names = (
        "startNs",
        "endNs",
        "deviceId",
        "connectionId",
        "globalTaskId",
        "globalPid",
        "taskType",
        "streamId",
        "taskId",
    )
    _recorded(
        path,
        "DROP TABLE TASK",
        "DROP TABLE STRING_IDS",
        "DROP TABLE PYTORCH_API",
        f"CREATE VIEW TASK ({','.join(names)}) AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) "
        f"SELECT {','.join('x' for _ in names)} FROM n",
        "CREATE TABLE STRING_IDS (id INT, value TEXT AS (hex(zeroblob(200000000))))",
        "INSERT INTO STRING_IDS (id) VALUES (1)",
        "CREATE VIRTUAL TABLE PYTORCH_API USING fts4(startNs, endNs, name)",
    )


def _endless_schema(path: Path) -> None:
    """Let the first page, which holds the schema, refer to the schema's rows many times."""
    database(path, "CREATE TABLE TASK (startNs INT)")
    data = bytearray(path.read_bytes())
    cells = int.from_bytes(data[103:105], "big")
    moved = bytearray(_PAGE)
    moved[108:] = data[108:_PAGE]
    moved[:8] = data[100:108]
    moved[8 : 8 + 2 * cells] = data[108 : 108 + 2 * cells]
    data += moved
    header = data[:100]
    data[:_PAGE] = _interior(_PAGE, [len(data) // _PAGE] * 500, 100)
    data[:100] = header
    data[28:32] = struct.pack(">I", len(data) // _PAGE)
    path.write_bytes(data)


def _trace(events: Iterable[str], size: int = SIZE) -> bytes:
    """A trace of at most `size` bytes."""
    parts, left = ["["], size - 4
    for event in events:
        left -= len(event) + 1
        if left < 0:
            break
        parts += [event, ","]
    return ("".join(parts[:-1]) + "]").encode()


def _events(form: str) -> Iterator[str]:
    return (form.replace("%n", str(number)) for number in range(SIZE))


def _trace_of(form: str) -> bytes:
    return _trace(_events(form))


def _text(name: str, content: Callable[[], bytes]) -> tuple[str, Callable[[Path], None]]:
    def make(path: Path) -> None:
        path.write_bytes(content())

    return name, make


def _repeat(part: str, prefix: str = "", end: str = "", count: int | None = None) -> bytes:
    return (prefix + part * (count or (SIZE - len(prefix) - len(end)) // len(part)) + end).encode()


#: Traces: the form of an event, in which %n is its number.
_TRACES = {
    "names": '{"ph":"X","name":"n%n","pid":1,"tid":1,"ts":%n,"dur":1}',
    "threads": '{"ph":"X","name":"a","pid":1,"tid":%n,"ts":1,"dur":1}',
    "processes": '{"ph":"X","name":"a","pid":%n,"tid":1,"ts":1,"dur":1}',
    "counters": '{"ph":"C","name":"c%n","pid":1,"ts":1,"args":{"v":1}}',
    "series": '{"ph":"C","name":"c","pid":1,"ts":%n,"args":{"v%n":1}}',
    "nested": '{"ph":"X","name":"a","pid":1,"tid":1,"ts":%n,"dur":9000000}',
    "spread": '{"ph":"X","name":"a","pid":1,"tid":1,"ts":%n00000000000,"dur":1}',
    "long": '{"ph":"X","name":"a","pid":1,"tid":1,"ts":%n,"dur":9000000000000}',
    "flows": '{"ph":"s","id":%n,"name":"f","cat":"f","pid":1,"tid":1,"ts":%n}',
    "one_flow": '{"ph":"t","id":1,"name":"f","cat":"f","pid":1,"tid":1,"ts":%n}',
    "open": '{"ph":"B","name":"a","pid":1,"tid":1,"ts":%n}',
    "async": '{"ph":"b","id":%n,"name":"a","cat":"a","pid":1,"tid":1,"ts":%n}',
    "names_of_threads": '{"ph":"M","name":"thread_name","pid":1,"tid":%n,"args":{"name":"t%n"}}',
    "broken": '{"ph":"X","name":"a",pid:1}',
    "kinds": '{"ph":"X","name":"a","cat":"c%n","pid":1,"tid":1,"ts":1,"dur":1}',
    "deep_flows": '{"ph":"X","name":"a","pid":1,"tid":1,"ts":%n,"dur":9000000},'
    '{"ph":"s","id":%n,"name":"f","cat":"f","pid":1,"tid":1,"ts":%n},{"ph":"f","id":%n,"name":"f","cat":"f","pid":1,"tid":1,"ts":9%n}',
    "args": '{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1,"args":{"k%n":"v%n"}}',
}
_ROWS = "\n1,a,MatMul,AI_CORE,{0}.5,2"

#: Name -> file in ASCEND_PROFILER_OUTPUT, what writes it.
HOSTILE: dict[str, tuple[str, Callable[[Path], None]]] = {
    "db_endless_tasks": ("ascend_pytorch_profiler_0.db", _endless("TASK")),
    "db_endless_texts": ("ascend_pytorch_profiler_0.db", _endless("STRING_IDS")),
    "db_endless_schema": ("ascend_pytorch_profiler_0.db", _endless_schema),
    "db_shared_text": ("ascend_pytorch_profiler_0.db", _shared(13)),
    "db_shared_blob": ("ascend_pytorch_profiler_0.db", _shared(12)),
    "db_behind_text": ("ascend_pytorch_profiler_0.db", _shared(13, value_first=True)),
    "db_computed": ("ascend_pytorch_profiler_0.db", _computed),
    "json_quotes": _text("communication.json", lambda: _repeat('\\"', '{"a": x')),
    "json_nested": _text("communication.json", lambda: _repeat('{"a":')),
    "json_keys": _text("communication.json", lambda: _repeat('{"a":{"b":1,')),
    "json_strings": _text("communication.json", lambda: _repeat('":{"":{', '{"a":{"b":"')),
    "json_deep": _text("communication.json", lambda: _repeat('{"a":' * 900 + "1" + "}" * 900 + ",")),
    "json_objects": _text("communication.json", lambda: _repeat("{},", '{"step1":[', "{}]}")),
    "json_rows": _text(
        "communication.json",
        lambda: json.dumps(
            {"step1": {"collective": {f"a{n}@1": {"Communication Time Info": {}} for n in range(16_000)}}}
        ).encode(),
    ),
    "matrix_keys": _text("communication_matrix.json", lambda: _repeat('{"a":{"b":1,')),
    "csv_columns": _text("kernel_details.csv", lambda: (_KERNELS + "".join(f",a{n}" for n in range(120_000))).encode()),
    "csv_same_columns": _text("kernel_details.csv", lambda: _repeat(",x", _KERNELS)),
    "csv_999_columns": _text("kernel_details.csv", lambda: _repeat("\n" + "," * 998, _KERNELS + ",x" * 993)),
    "csv_quotes": _text("kernel_details.csv", lambda: _repeat('\n"', _KERNELS)),
    "csv_open_quotes": _text("kernel_details.csv", lambda: _repeat('\n1,"a' + "b" * 1000, _KERNELS)),
    "csv_quoted_lines": _text("kernel_details.csv", lambda: _repeat('\n1,"a\n' * 9 + '"b', _KERNELS)),
    "csv_long_cell": _text("kernel_details.csv", lambda: _repeat("a", _KERNELS + "\n1,")),
    "csv_long_cells": _text("kernel_details.csv", lambda: _repeat("a" * 90_000 + ",", _KERNELS + "\n1,")),
    "csv_short_rows": _text("kernel_details.csv", lambda: _repeat("\r1", _KERNELS)),
    "csv_distinct": _text(
        "kernel_details.csv",
        lambda: (_KERNELS + "".join(f"\n1,{n},{n},{n},{n}.5,2" for n in range(30_000))).encode(),
    ),
    "csv_steps": _text(
        "step_trace_time.csv",
        lambda: ("Step,Computing,Free\n" + "".join(f"{n},1,1\n" for n in range(90_000))).encode(),
    ),
    "csv_gzip": _text(
        "kernel_details.csv.gz",
        lambda: gzip.compress((_KERNELS + _ROWS.format(_NOW // 1000) * 9_000_000).encode(), 9),
    ),
    "json_gzip": _text("communication.json.gz", lambda: gzip.compress(_repeat("{},", '{"a":[', "", 100_000_000), 9)),
    **{f"trace_{name}": _text("trace_view.json", partial(_trace_of, form)) for name, form in _TRACES.items()},
    "trace_deep": _text("trace_view.json", lambda: _repeat('{"a":[', "[")),
    "trace_array": _text("trace_view.json", lambda: _repeat("{},", "[", "{}]")),
    "trace_gzip": _text(
        "trace_view.json.gz",
        lambda: gzip.compress(_trace(_events('{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1}'), 1 << 29), 9)[
            :SIZE
        ],
    ),
    "info_groups": _text(
        "../profiler_metadata.json",
        lambda: json.dumps(
            {"parallel_group_info": {str(n): {"group_name": "g", "global_ranks": [0]} for n in range(16_000)}}
        ).encode(),
    ),
}


def hostile_result(folder: Path, name: str) -> Path:
    """Write a result with that file, beside small sound ones, and return the file."""
    relative, make = HOSTILE[name]
    is_database, is_trace = relative.endswith(".db"), relative.startswith("trace_view")
    output = write_result(folder, trace=None if is_database or is_trace else TRACE, settled=False) / OUTPUT_FOLDER
    if relative == "kernel_details.csv.gz":
        (output / "kernel_details.csv").unlink()
    if is_database:
        for path in output.iterdir():
            path.unlink()
    make(output / relative)
    settle(folder)
    return output / relative
