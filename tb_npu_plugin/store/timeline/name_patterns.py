"""Names by regular expression, in a time that is linear in their length whatever the pattern."""

from __future__ import annotations

from itertools import chain

import duckdb
import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.errors import BadRequest
from tb_npu_plugin.messages import Message
from tb_npu_plugin.store.timeline.files import Texts

#: Names per query.
_AT_ONCE = 1 << 16
_SETTINGS: dict[str, str | bool | int | float | list[str]] = {"memory_limit": "256MB", "threads": 1}


def names_matching(names: Texts, pattern: str) -> NDArray[np.bool_]:
    """Mask of the names in which an RE2 expression matches, ignoring case. DuckDB runs it: Python's `re` may take
    exponential time. Raises BadRequest."""
    mask = np.zeros(len(names), dtype=np.bool_)
    with duckdb.connect(":memory:", config=_SETTINGS) as connection:
        try:
            connection.execute("select regexp_matches('', ?, 'i')", [pattern]).fetchall()
            for start in range(0, len(names), _AT_ONCE):
                part = np.arange(start, min(start + _AT_ONCE, len(names)))
                listed = {"name": np.array(names.take(part), dtype=object)}
                connection.register("listed", listed)
                found = connection.execute("select regexp_matches(name, ?, 'i') from listed", [pattern]).fetchall()
                mask[part] = list(chain.from_iterable(found))
        except duckdb.Error as error:
            reason = str(error).removeprefix("Invalid Input Error: ")
            raise BadRequest(
                Message("error.pattern", pattern=pattern[:80], reason=reason), Message("hint.pattern")
            ) from error
    return mask
