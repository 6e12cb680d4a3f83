"""The first look at a result: tables of its small files, shown while the large files are read.

It is a folder with the layout of a cache entry: tables in SHORT_FILE, facts in META. It is preliminary: its tables are
not yet joined with those of other files.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tb_npu_plugin.refusal import raise_if_refused
from tb_npu_plugin.store.cache.disk import META, Entry
from tb_npu_plugin.store.stages import SHORT_ROWS
from tb_npu_plugin.store.tables.index import write_tables
from tb_npu_plugin.tables import Table

#: Tables of the first look: where step time went.
FIRST_TABLES = ("step_trace",)
#: Subfolder of the entry that is being built.
FIRST_LOOK = "first-look"
#: Bytes that must be left to read for a first look to be worth its cost.
MIN_BYTES_LEFT = 1 << 20


def is_due(tables: Mapping[str, Table], left: Sequence[int]) -> bool:
    """Whether FIRST_TABLES are read and enough bytes are left. left: sizes of the files not read yet."""
    return sum(left) >= MIN_BYTES_LEFT and all(0 < len(tables.get(name, ())) <= SHORT_ROWS for name in FIRST_TABLES)


def write_first_look(
    folder: Path, tables: Mapping[str, Table], files: Mapping[str, Mapping[str, int]], facts: Mapping[str, Any]
) -> None:
    """Write FIRST_TABLES into a new folder. files: see StoredTable. facts: as in the meta.json of an entry. Raises OSError."""
    folder.mkdir()
    index = write_tables(folder, {name: tables[name] for name in FIRST_TABLES}, files)
    (folder / META).write_text(json.dumps({**facts, "tables": index}), encoding="utf-8")


def open_first_look(folder: Path) -> Entry | None:
    """The entry that `write_first_look` wrote; None when the folder was removed because the complete entry exists."""
    try:
        return Entry(folder, json.loads((folder / META).read_text(encoding="utf-8")))
    except OSError as error:
        raise_if_refused(error)
        return None
