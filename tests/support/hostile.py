"""Small files that cost much: each below 1 MB, made the same way every time."""

from __future__ import annotations

import gzip
import json
import sqlite3
import struct
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path

#: Most bytes of a file.
SIZE = 1_000_000
_KERNELS = "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us)"
_PAGE = 4096
#: Columns of TASK and the values of a row that is read.
_TASK = "startNs INT, endNs INT, deviceId INT, connectionId INT, globalTaskId INT, globalPid INT, taskType INT, contextId INT"
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


def endless_tree(path: Path, table: str, levels: int = 6) -> None:
    """Let the pages of a table's tree refer to one page many times. Its rows must fit one page."""
    data, root = bytearray(path.read_bytes()), _root(path, table)
    data += data[(root - 1) * _PAGE : root * _PAGE]
    for _ in range(levels):
        child, page, at = len(data) // _PAGE, bytearray(_PAGE), _PAGE
        count = (_PAGE - 12) // 7 - 1
        page[0], page[3:5], page[8:12] = 5, struct.pack(">H", count), struct.pack(">I", child)
        for cell in range(count):
            at -= 5
            page[at : at + 5] = struct.pack(">IB", child, cell % 127 + 1)
            page[12 + 2 * cell : 14 + 2 * cell] = struct.pack(">H", at)
        page[5:7] = struct.pack(">H", at)
        data += page
    data[(root - 1) * _PAGE : root * _PAGE] = data[-_PAGE:]
    data[28:32] = struct.pack(">I", len(data) // _PAGE)
    path.write_bytes(data)


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
    top, at = bytearray(_PAGE), _PAGE
    for number, leaf in enumerate(leaves[:-1]):
        cell = struct.pack(">I", leaf) + _varint(number * 100 + 99)
        at -= len(cell)
        top[at : at + len(cell)] = cell
        top[12 + 2 * number : 14 + 2 * number] = struct.pack(">H", at)
    top[0], top[3:5], top[5:7] = 5, struct.pack(">H", len(leaves) - 1), struct.pack(">H", at)
    top[8:12] = struct.pack(">I", leaves[-1])
    data[(root - 1) * _PAGE : root * _PAGE] = top
    data[28:32] = struct.pack(">I", len(data) // _PAGE)
    path.write_bytes(data)


def _root(path: Path, table: str) -> int:
    with closing(sqlite3.connect(path)) as connection:
        ((root,),) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,))
        return int(root)


def _tasks(path: Path) -> None:
    database(path, f"CREATE TABLE TASK ({_TASK})", "CREATE TABLE STRING_IDS (id INT, value TEXT)")
    with closing(sqlite3.connect(path)) as connection:
        for row in range(40):
            values = (_NOW + row, _NOW + row + 1, 0, row, row, 1, 1, row)
            connection.execute(f"INSERT INTO TASK VALUES ({','.join(map(str, values))})")
        connection.execute("INSERT INTO STRING_IDS VALUES (1, 'a')")
        connection.commit()


def _endless(table: str) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        _tasks(path)
        endless_tree(path, table)

    return make


def _shared(kind: int, value_first: bool = False) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        columns = "value TEXT, id INT" if value_first else "id INT, value TEXT"
        database(path, f"CREATE TABLE STRING_IDS ({columns})", f"CREATE TABLE TASK ({_TASK})")
        shared_text(path, "STRING_IDS", kind, value_first)

    return make


def _computed(path: Path) -> None:
    names = ",".join(part.split()[0] for part in _TASK.split(", "))
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)"
    columns = ",".join("x" for _ in names.split(","))
    database(
        path,
        f"CREATE VIEW TASK ({names}) AS {endless} SELECT {columns} FROM n",
        "CREATE TABLE STRING_IDS (id INT, value TEXT AS (hex(zeroblob(200000000))))",
        "INSERT INTO STRING_IDS (id) VALUES (1)",
        "CREATE VIRTUAL TABLE PYTORCH_API USING fts4(startNs, endNs, name)",
    )


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


def _text(name: str, content: Callable[[], bytes]) -> tuple[str, Callable[[Path], None]]:
    return name, lambda path: path.write_bytes(content()) and None


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
    "args": '{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1,"args":{"k%n":"v%n"}}',
}
_ROWS = "\n1,a,MatMul,AI_CORE,{0}.5,2"

#: Name -> file in ASCEND_PROFILER_OUTPUT, what writes it.
HOSTILE: dict[str, tuple[str, Callable[[Path], None]]] = {
    "db_endless_tasks": ("ascend_pytorch_profiler_0.db", _endless("TASK")),
    "db_endless_texts": ("ascend_pytorch_profiler_0.db", _endless("STRING_IDS")),
    "db_endless_schema": (
        "ascend_pytorch_profiler_0.db",
        lambda path: _endless_schema(path),
    ),
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
    "csv_short_rows": _text("kernel_details.csv", lambda: _repeat("\n1", _KERNELS)),
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
    **{
        f"trace_{name}": _text("trace_view.json", lambda form=form: _trace(_events(form)))  # type: ignore[misc]
        for name, form in _TRACES.items()
    },
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


def _endless_schema(path: Path) -> None:
    """Let the first page, which holds the schema, refer to the schema's rows many times."""
    _tasks(path)
    data = bytearray(path.read_bytes())
    leaf = bytearray(data[:_PAGE])
    cells = struct.unpack(">H", leaf[103:105])[0]
    moved = bytearray(_PAGE)
    moved[108:] = leaf[108:]
    moved[0:8] = leaf[100:108]
    moved[8 : 8 + 2 * cells] = leaf[108 : 108 + 2 * cells]
    data += moved
    child, at, count = len(data) // _PAGE, _PAGE, 500
    page = bytearray(_PAGE)
    page[:100] = leaf[:100]
    page[100], page[103:105], page[108:112] = 5, struct.pack(">H", count), struct.pack(">I", child)
    for cell in range(count):
        at -= 5
        page[at : at + 5] = struct.pack(">IB", child, cell % 127 + 1)
        page[112 + 2 * cell : 114 + 2 * cell] = struct.pack(">H", at)
    page[105:107] = struct.pack(">H", at)
    data[:_PAGE] = page
    data[28:32] = struct.pack(">I", len(data) // _PAGE)
    path.write_bytes(data)
