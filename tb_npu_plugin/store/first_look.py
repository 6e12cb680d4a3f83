"""The first look at a result: what its small files told, to show while the large ones are read.

A folder as a cache entry: the tables in SHORT_FILE, their facts in META. It is preliminary: nothing is joined with what
the other files say yet.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tb_npu_plugin.store.cache.disk import META, Entry
from tb_npu_plugin.store.stages import SHORT_FILE, SHORT_ROWS
from tb_npu_plugin.tables import Table

#: Tables that answer the first question: where the time of a step went.
ANSWERS = ("step_trace",)
#: Folder within the one that is being built.
FIRST_LOOK = "first-look"
#: It pays where so many bytes are still to be read.
REST = 1 << 20


def is_due(tables: Mapping[str, Table], left: Sequence[int]) -> bool:
    """There is an answer, and the rest takes a while. left: sizes of the files that are still to be read."""
    return sum(left) >= REST and all(0 < len(tables.get(name, ())) <= SHORT_ROWS for name in ANSWERS)


def write_first_look(folder: Path, tables: Mapping[str, Table], facts: Mapping[str, Any]) -> None:
    """Write the answers into a new folder. facts: as in the meta.json of an entry. Raises OSError."""
    from tb_npu_plugin.store.tables.short import write_short

    answers = {name: tables[name] for name in ANSWERS}
    folder.mkdir()
    write_short(folder / SHORT_FILE, answers)
    rows = {name: len(table) for name, table in answers.items()}
    (folder / META).write_text(json.dumps({**facts, "rows": rows}), encoding="utf-8")


def open_first_look(folder: Path) -> Entry | None:
    """What `write_first_look` wrote; None when the folder has gone, as there is something better."""
    try:
        return Entry(folder, json.loads((folder / META).read_text(encoding="utf-8")))
    except OSError:
        return None
