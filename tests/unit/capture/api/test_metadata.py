from __future__ import annotations

from sys import getsizeof
from typing import Any

import pytest

from tb_npu_plugin.capture.api import metadata
from tests.unit.capture.api.conftest import Said

TYPE = "The key and value of metadata must be string. Skip this metadata."
LONG = "Invalid input key or value. Skip this metadata."
JSON = "The metadata value must be json format string. Skip this metadata"
MANY = "Too many metadata added. Skip this metadata"

#: JSON?, key, value, stored, printed.
ROWS: list[tuple[bool, Any, Any, dict[str, Any], list[str]]] = [
    (False, "key", "value", {"key": "value"}, []),
    (False, "key", 5, {}, [TYPE]),
    (False, None, "value", {}, [TYPE]),
    (False, "k" * 4096, "v" * 4096, {"k" * 4096: "v" * 4096}, []),
    (False, "k" * 4097, "v", {}, [LONG]),
    (False, "k", "v" * 4097, {}, [LONG]),
    (True, "key", "[1, 2, 3]", {"key": [1, 2, 3]}, []),
    (True, "key", '{"a": null}', {"key": {"a": None}}, []),
    (True, "key", [1, 2, 3], {}, [TYPE]),
    (True, "key", "[1, 2", {}, [JSON]),
    (True, "key", "[NaN]", {}, [JSON]),  # Python's json takes it; those who read the file do not
    (True, "key", "Infinity", {}, [JSON]),
    (True, "key", "[-1e999]", {}, [JSON]),
    (True, "key", "[1e308, 0.5]", {"key": [1e308, 0.5]}, []),
    (True, "key", "v" * 4097, {}, [LONG]),
]


@pytest.mark.parametrize(("as_json", "key", "value", "stored", "lines"), ROWS)
def test_rows(as_json: bool, key: Any, value: Any, stored: dict[str, Any], lines: list[str], said: Said) -> None:
    found: dict[str, Any] = {}
    (metadata.add_json if as_json else metadata.add)(found, key, value)
    assert found == stored
    assert said() == [("WARNING", line) for line in lines]


def test_a_second_value_overrides(said: Said) -> None:
    found: dict[str, Any] = {}
    metadata.add(found, "key", "one")
    metadata.add_json(found, "key", "2")
    assert found == {"key": 2}
    assert said() == [("WARNING", "key is already saved as metadata, override it.")]


def test_there_is_a_limit_to_all_of_it(said: Said) -> None:
    """50 KiB of the table (not of the texts in it), the new key and the new value, as sys.getsizeof counts."""
    found: dict[str, Any] = {}
    sizes: dict[bool, list[int]] = {True: [], False: []}
    for number in range(3000):
        key = f"key{number}"
        size = getsizeof(found) + getsizeof(key) + getsizeof("value")
        metadata.add(found, key, "value")
        sizes[key in found].append(size)
    assert max(sizes[True]) < 50 * 1024 <= min(sizes[False])
    lines = said()
    assert {text for _, text in lines} == {MANY}
    assert len(lines) == 3000 - len(found)
