"""Content and names of profiler_info[_rank].json and profiler_metadata.json.
Source: docs/facts/ascend_pt.md, profiler_info.json, profiler_metadata.json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tb_npu_plugin.schema.torch_npu_json import ENVIRONMENT, GROUPS


def attributes(thing: object) -> dict[str, Any]:
    """The attributes of a settings object as profiler_info lists them."""
    return _as_json_values(getattr(thing, "__dict__", {}))


def _as_json_values(values: Mapping[Any, Any]) -> dict[str, Any]:
    """The user's values as JSON, else as text."""
    return {_text(name): _value(value) for name, value in values.items()}


def _value(value: Any) -> Any:
    try:
        return json.loads(json.dumps(value, default=str, allow_nan=False))
    except Exception:  # the user's object, NaN, keys that are no texts
        return _text(value)


def _text(value: Any) -> str:
    try:
        return str(value)
    except Exception:  # the user's object
        return type(value).__name__


def info(
    common: Mapping[str, Any],
    experimental: Mapping[str, Any],
    start: Mapping[str, Any],
    end: Mapping[str, Any] | None,
    versions: Mapping[str, str],
    rank: int | str | None,
) -> dict[str, Any]:
    """Content of profiler_info. `end` None: the capture has not ended."""
    return {
        "config": {"common_config": dict(common), "experimental_config": dict(experimental)},
        "start_info": dict(start),
        **({} if end is None else {"end_info": dict(end)}),
        **versions,
        **({} if rank is None else {"rank_id": rank}),
    }


def write_info(folder: Path, content: Mapping[str, Any]) -> None:
    """profiler_info.json, or profiler_info_{rank}.json where the rank is known."""
    rank = content.get("rank_id")
    name = "profiler_info.json" if rank is None else f"profiler_info_{rank}.json"
    write(folder / name, content)
    for other in folder.glob("profiler_info*.json"):  # the rank was not known yet when the capture began
        if other.name != name:
            other.unlink()


def metadata(
    user: Mapping[str, Any],
    variables: Mapping[str, str] | None,
    groups: Mapping[str, Any],
    trace_id: str = "",
    added: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Content of profiler_metadata. variables None: they go to the database."""
    return {
        **_as_json_values(user),
        **({} if variables is None else {ENVIRONMENT: dict(variables)}),
        **({GROUPS: dict(groups)} if groups else {}),
        **({"trace_id": trace_id} if trace_id else {}),
        **(added or {}),
    }


def read_info(folder: Path) -> dict[str, Any]:
    """profiler_info of a result folder; {} if none can be read."""
    return next(filter(None, map(read_object, sorted(folder.glob("profiler_info*.json")))), {})


def read_object(path: Path) -> dict[str, Any]:
    """The object of a JSON file; {} if there is none."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def write(path: Path, content: Mapping[str, Any]) -> None:
    """Write one of the files."""
    text = json.dumps(content, indent=4, ensure_ascii=False)
    # file names may be invalid UTF-8: replace those characters
    path.write_text(text, encoding="utf-8", errors="replace")
