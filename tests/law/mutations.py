"""Seeded damage to the files of results, one change each.

What nobody can detect is excluded by kind: docs/problems.md, "What no check finds".
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Optional

from tests.conftest import FIXTURES

#: Results to damage: every format, small.
BASES = (
    *(f"results/{name}" for name in ("level1", "level2", "two_ranks", "two_steps", "links", "cpu_only")),
    *(f"results/{name}" for name in ("old_spellings", "new_spellings", "db_only", "text_and_db", "no_steps")),
    *(f"results/mindspore_{name}" for name in ("two_ranks", "db", "data", "windows")),
    *(f"results/mindinsight_{name}" for name in ("single", "cluster", "hosts")),
    *(f"results/{name}" for name in ("msprof", "msprof_pieces", "msprof_db")),
    *(f"results/kineto_{name}" for name in ("gpu", "ahead", "old")),
    *(f"recorded/{name}" for name in ("cluster_text", "cluster_db", "kineto_cpu", "kineto_stacks")),
)
#: Mutations that a seed can have.
SEED = 1_000_000
#: Figures that no recording has.
IMPOSSIBLE = (-1e30, 1e25, -5_000_000.0, -0.001)
_IDS = frozenset(
    (
        "pid",
        "tid",
        "id",
        "external id",
        "record function id",
        "ev idx",
        "python id",
        "python parent id",
        "addr",
        "sort_index",
    )
)
#: Files that not all releases, settings or networks write, so that nothing misses them.
_OF_SOME = re.compile(
    r"(?:task_time|communication_statistic|fusion_op|nic\.|roce\.|pcie\.|hccs\.|minddata_aicpu|device_queue"
    r"|profiler_metadata|aicpu_intermediate|flops_\d|step_trace_point_info\."
    r"|(?:api_statistic|l2_cache|step_trace|op_summary)_2025).*"
)
#: A column of some releases, in the only table that has it.
_ONLY_DEVICE = ("StepTraceTime", "deviceId")
#: The last piece of a file that msprof cut: nothing counts them.
_LAST_PIECE = "_slice_2_"
#: Results of one file: nothing is left to miss it.
_WHOLE = re.compile(r".*\.pt\.trace\..*|cluster_analysis\.db|msprof_\d+\.db")
#: Tables without times, in which equal rows and any order occur; those of iterations have no numbers either.
_WITHOUT_TIMES = "operator_details"
_WITHOUT_NUMBERS = (_WITHOUT_TIMES, "ascend_cluster_analyse")
#: Keys that not all objects have: of single events on the host, of metadata, a link or a rank that nothing counts.
_KEYS_OF_SOME = re.compile(
    r"cat|Input .*|Concrete .*|.*context_mode|distributed_args|tb_npu_simulated|jit_level|\(?\d+(?:[-,] ?\d+)*\)?"
)
#: Changes a file; returns what was done, or None where the file has nothing of the kind.
Change = Callable[[Path, Random], Optional[str]]


@dataclass(frozen=True)
class Mutation:
    """One change of one file of a result. number: it alone seeds the change."""

    number: int
    base: str
    file: str
    kind: str

    @property
    def name(self) -> str:
        return f"{self.number} {self.base} {self.file.rpartition('/')[2]} {self.kind}"

    def apply(self, root: Path) -> str | None:
        """Damage the copy of the base in `root`. Returns what was done."""
        return CHANGES[self.kind](root / self.file, Random(f"change {self.number}"))


def mutations(seed: int, bases: Sequence[str] = BASES) -> Iterator[Mutation]:
    """Mutations without end: bases in turn, files and kinds at random. seed: a small number, or that of a mutation to begin
    with."""
    number = seed if seed >= SEED else seed * SEED
    while True:
        base = bases[number % len(bases)]
        random = Random(f"choice {number}")
        file = random.choice(files_of(base))
        kind = random.choice(sorted(kinds_of(file)))
        yield Mutation(number, base, file, kind)
        number += 1


def files_of(base: str) -> list[str]:
    """The files of a base that are not empty, in order."""
    root = FIXTURES / base
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file() and path.stat().st_size > 2)


def kinds_of(file: str) -> set[str]:
    """Kinds of change that suit a file."""
    name = file[:-3] if file.endswith(".gz") else file
    suited = {".csv": _OF_CSV, ".json": _OF_JSON, ".db": _OF_DATABASES}.get(Path(name).suffix, {})
    return {*_OF_ANY, *suited}


def _read(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


def _write(path: Path, data: bytes) -> None:
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def _cut(path: Path, random: Random) -> str | None:
    data = path.read_bytes()
    size = random.randrange(1, len(data))
    if (
        data[size - 1 : size] == b"\n" or data[size:].strip() == b""
    ):  # after a whole row: nothing shows that there was more
        return None
    path.write_bytes(data[:size])
    return f"first {size} bytes of {len(data)}"


def _empty(path: Path, random: Random) -> str:
    path.write_bytes(b"")
    return "no bytes"


def _twice(path: Path, random: Random) -> str:
    data = path.read_bytes()
    path.write_bytes(data + data)
    return "its content twice"


def _remove(path: Path, random: Random) -> str | None:
    is_last_of_rank = "cluster_profiler" in path.parts
    if is_last_of_rank or _WHOLE.fullmatch(path.name) or _OF_SOME.fullmatch(path.name) or _LAST_PIECE in path.name:
        return None
    if path.name == "data_preprocess.csv" and len(list(path.parents[2].iterdir())) == 1:  # no other rank has it
        return None
    path.unlink()
    return "deleted"


def _break(path: Path, random: Random) -> str | None:
    """Delete, double or replace a byte that separates values."""
    data = _read(path)
    places = [place for place, byte in enumerate(data) if byte in _structure(path, data)]
    if path.name.endswith((".json", ".json.gz", ".csv")):
        places = _outside_strings(data, places)
    if path.suffix == ".db" or not places:
        return None
    place = random.choice(places)
    new = random.choice((b"", data[place : place + 1] * 2, b"\x00", b"#"))
    _write(path, data[:place] + new + data[place + 1 :])
    return f"byte {place} {data[place : place + 1]!r} became {new!r} after {data[max(0, place - 20) : place]!r}"


def _structure(path: Path, data: bytes) -> bytes:
    return b'{}[]:,"' if data[:1] in b"{[" and b"json" in path.name.encode() else b",\n"


def _outside_strings(data: bytes, places: Sequence[int]) -> list[int]:
    chosen, found, is_inside, is_escaped = set(places), [], False, False
    for place, byte in enumerate(data):
        if not is_inside and place in chosen:
            found.append(place)
        if byte == 0x22 and not is_escaped:
            is_inside = not is_inside
        is_escaped = byte == 0x5C and not is_escaped
    return found


# Tables of text


def _rows(path: Path) -> list[list[str]]:
    return [row for row in csv.reader(io.StringIO(_read(path).decode(), newline="")) if row]


def _write_rows(path: Path, rows: Sequence[Sequence[str]]) -> None:
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\n").writerows(rows)
    _write(path, out.getvalue().encode())


def _repeat_row(path: Path, random: Random) -> str | None:
    rows = _rows(path)
    if len(rows) < 2 or path.name.startswith(_WITHOUT_TIMES):
        return None
    row = random.randrange(1, len(rows))
    _write_rows(path, [*rows[: row + 1], *rows[row:]])
    return f"row {row} twice"


def _reorder_rows(path: Path, random: Random) -> str | None:
    rows = _rows(path)
    if len(rows) < 3 or path.name.startswith(_WITHOUT_NUMBERS):
        return None
    rest = rows[1:]
    random.shuffle(rest)
    _write_rows(path, [rows[0], *rest])
    return "rows in another order"


def _exceed_cell(path: Path, random: Random) -> str | None:
    rows = _rows(path)
    cells = [(row, at) for row in range(1, len(rows)) for at, cell in enumerate(rows[row]) if _is_figure(cell)]
    if not cells:
        return None
    row, at = random.choice(cells)
    value = random.choice(IMPOSSIBLE)
    rows[row][at] = repr(value)
    _write_rows(path, rows)
    return f"row {row}, {rows[0][at] if at < len(rows[0]) else at}: {value}"


def _is_figure(text: str) -> bool:
    return text.strip().replace(".", "", 1).isdigit()


def _drop_column(path: Path, random: Random) -> str | None:
    rows = _rows(path)
    if len(rows) < 2 or len(rows[0]) < 2:
        return None
    at = random.randrange(len(rows[0]))
    _write_rows(path, [[*row[:at], *row[at + 1 :]] for row in rows])
    return f"without column {rows[0][at]}"


def _rename_column(path: Path, random: Random) -> str | None:
    rows = _rows(path)
    if len(rows) < 2:
        return None
    at = random.randrange(len(rows[0]))
    name, rows[0][at] = rows[0][at], "Other"
    _write_rows(path, rows)
    return f"column {name} is named Other"


# JSON


def _nodes(value: Any, kind: type) -> list[Any]:
    """All lists or objects (`kind`) below a value that have members, the value too."""
    found, left = [], [value]
    while left:
        one = left.pop()
        if isinstance(one, kind) and one:
            found.append(one)
        left += one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
    return found


def _json(path: Path) -> Any:
    try:
        return json.loads(_read(path))
    except ValueError:
        return None


def _write_json(path: Path, value: Any) -> None:
    _write(path, json.dumps(value).encode())


def _drop_key(path: Path, random: Random) -> str | None:
    value = _json(path)
    nodes = _nodes(value, dict)
    if not nodes:
        return None
    node = random.choice(nodes)
    key = random.choice(list(node))
    if _KEYS_OF_SOME.fullmatch(key):
        return None
    shown = repr(node.pop(key))[:60]
    _write_json(path, value)
    return f"without {key}: {shown}, beside {list(node)[:6]}"


def _rename_key(path: Path, random: Random) -> str | None:
    value = _json(path)
    nodes = _nodes(value, dict)
    if not nodes:
        return None
    node = random.choice(nodes)
    key = random.choice(list(node))
    if _KEYS_OF_SOME.fullmatch(key):
        return None
    node["other"] = node.pop(key)
    _write_json(path, value)
    return f"{key} is named other, beside {list(node)[:6]}"


def _repeat_item(path: Path, random: Random) -> str | None:
    value = _json(path)
    nodes = [node for node in _nodes(value, list) if isinstance(node[0], dict)]
    if not nodes:
        return None
    node = random.choice(nodes)
    at = random.randrange(len(node))
    node.insert(at, node[at])
    _write_json(path, value)
    return f"twice: {str(node[at])[:120]}"


def _reorder_items(path: Path, random: Random) -> str | None:
    value = _json(path)
    nodes = [node for node in _nodes(value, list) if isinstance(node[0], dict) and len(node) > 2]
    if not nodes:
        return None
    random.shuffle(random.choice(nodes))
    _write_json(path, value)
    return "items in another order"


def _exceed_figure(path: Path, random: Random) -> str | None:
    value = _json(path)
    figures = ((node, key) for node in _nodes(value, dict) for key, one in node.items() if _is_number(one))
    places = [(node, key) for node, key in figures if key.lower() not in _IDS]  # another id is one, too
    if not places:
        return None
    node, key = random.choice(places)
    old, node[key] = node[key], random.choice(IMPOSSIBLE)
    _write_json(path, value)
    return f"{key}: {old} became {node[key]}, beside {str(node)[:100]}"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


# Databases


def _in_database(
    path: Path, random: Random, change: Callable[[sqlite3.Connection, str, str, Random], str | None]
) -> str | None:
    """Change a table and a column, both at random."""
    with closing(sqlite3.connect(path)) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        table = random.choice(sorted(tables))
        columns = [name for _, name, *_ in connection.execute(f'PRAGMA table_info("{table}")')]
        done = change(connection, table, random.choice(columns), random)
        connection.commit()
    return done


def _drop_table(path: Path, random: Random) -> str | None:
    def change(connection: sqlite3.Connection, table: str, column: str, random: Random) -> str:
        connection.execute(f'DROP TABLE "{table}"')
        return f"without table {table}"

    return _in_database(path, random, change)


def _drop_table_column(path: Path, random: Random) -> str | None:
    def change(connection: sqlite3.Connection, table: str, column: str, random: Random) -> str | None:
        columns = [name for _, name, *_ in connection.execute(f'PRAGMA table_info("{table}")') if name != column]
        if not columns or (table, column) == _ONLY_DEVICE:
            return None
        names = ", ".join(f'"{name}"' for name in columns)
        connection.execute(f'CREATE TABLE _kept AS SELECT {names} FROM "{table}"')
        connection.execute(f'DROP TABLE "{table}"')
        connection.execute(f'ALTER TABLE _kept RENAME TO "{table}"')
        return f"without {table}.{column}"

    return _in_database(path, random, change)


def _rename_table_column(path: Path, random: Random) -> str | None:
    def change(connection: sqlite3.Connection, table: str, column: str, random: Random) -> str | None:
        if (table, column) == _ONLY_DEVICE:
            return None
        connection.execute(f'ALTER TABLE "{table}" RENAME COLUMN "{column}" TO "other"')
        return f"{table}.{column} is named other"

    return _in_database(path, random, change)


def _repeat_table_row(path: Path, random: Random) -> str | None:
    def change(connection: sqlite3.Connection, table: str, column: str, random: Random) -> str | None:
        rows = [row for (row,) in connection.execute(f'SELECT rowid FROM "{table}"')]
        if not rows:
            return None
        row = random.choice(rows)
        try:
            connection.execute(f'INSERT INTO "{table}" SELECT * FROM "{table}" WHERE rowid = {row}')
        except sqlite3.IntegrityError:  # the database itself forbids it
            return None
        return f"row {row} of {table} twice"

    return _in_database(path, random, change)


def _exceed_table_cell(path: Path, random: Random) -> str | None:
    def change(connection: sqlite3.Connection, table: str, column: str, random: Random) -> str | None:
        if column.lower().endswith("id"):  # another id is one, too
            return None
        rows = [
            row for row, value in connection.execute(f'SELECT rowid, "{column}" FROM "{table}"') if _is_number(value)
        ]
        if not rows:
            return None
        row, value = random.choice(rows), random.choice((*IMPOSSIBLE, -5_000_000, 10**18))
        try:
            connection.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE rowid = ?', (value, row))
        except sqlite3.IntegrityError:  # the database itself forbids it
            return None
        return f"{table}.{column} of row {row}: {value}"

    return _in_database(path, random, change)


_OF_ANY: dict[str, Change] = {"cut": _cut, "emptied": _empty, "doubled": _twice, "removed": _remove, "broken": _break}
_OF_CSV: dict[str, Change] = {
    "row repeated": _repeat_row,
    "rows reordered": _reorder_rows,
    "cell impossible": _exceed_cell,
    "column dropped": _drop_column,
    "column renamed": _rename_column,
}
_OF_JSON: dict[str, Change] = {
    "key dropped": _drop_key,
    "key renamed": _rename_key,
    "item repeated": _repeat_item,
    "items reordered": _reorder_items,
    "figure impossible": _exceed_figure,
}
_OF_DATABASES: dict[str, Change] = {
    "table dropped": _drop_table,
    "table column dropped": _drop_table_column,
    "table column renamed": _rename_table_column,
    "table row repeated": _repeat_table_row,
    "table cell impossible": _exceed_table_cell,
}
CHANGES: dict[str, Change] = {**_OF_ANY, **_OF_CSV, **_OF_JSON, **_OF_DATABASES}
