"""Damage to JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random
from typing import Any

from tb_npu_plugin.schema.minddata import REMARKS
from tests.law.changes import IMPOSSIBLE, Change, is_number, read, write

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
#: Keys that not all objects have: of single events on the host, of metadata, of the last releases, a link or a rank that
#: nothing counts.
_KEYS_OF_SOME = re.compile(
    r"cat|Input .*|Concrete .*|.*context_mode|distributed_args|tb_npu_simulated|jit_level|_?skip_first_wait|pg_desc|host_name|\(?\d+(?:[-,] ?\d+)*\)?"
)
#: A key that marks an object -> keys that not all such objects have: what torch.profiler adds to a trace and a recording on
#: demand lacks, the release of CANN without an NPU, remarks on a pipeline.
_KEYS_OF_SOME_BESIDE = {
    "schemaVersion": {"record_shapes", "profile_memory", "with_stack", "with_flops", "with_modules", "distributedInfo"},
    "ms_profiler_info": {"cann_version"},
    "pipeline_ops": set(REMARKS),
}


def _is_of_some(key: str, beside: dict[str, Any]) -> bool:
    """Whether most objects rightly lack the key."""
    marked = (keys for mark, keys in _KEYS_OF_SOME_BESIDE.items() if mark in beside)
    return _KEYS_OF_SOME.fullmatch(key) is not None or any(key in keys for keys in marked)


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
        return json.loads(read(path))
    except ValueError:
        return None


def _write_json(path: Path, value: Any) -> None:
    write(path, json.dumps(value).encode())


def _drop_key(path: Path, random: Random) -> str | None:
    value = _json(path)
    nodes = _nodes(value, dict)
    if not nodes:
        return None
    node = random.choice(nodes)
    key = random.choice(list(node))
    if _is_of_some(key, node):
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
    if _is_of_some(key, node):
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
    figures = ((node, key) for node in _nodes(value, dict) for key, one in node.items() if is_number(one))
    places = [(node, key) for node, key in figures if key.lower() not in _IDS]  # another id is one, too
    if not places:
        return None
    node, key = random.choice(places)
    old, node[key] = node[key], random.choice(IMPOSSIBLE)
    _write_json(path, value)
    return f"{key}: {old} became {node[key]}, beside {str(node)[:100]}"


OF_JSON: dict[str, Change] = {
    "key dropped": _drop_key,
    "key renamed": _rename_key,
    "item repeated": _repeat_item,
    "items reordered": _reorder_items,
    "figure impossible": _exceed_figure,
}
