"""profiler_config.json: its template, and the meaning of its values (docs/facts/torch_npu_api.md, Dynamic profiles)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Callable

from tb_npu_plugin.capture.api.options import AiCMetrics, ProfilerActivity, ProfilerLevel, _ExperimentalConfig
from tb_npu_plugin.capture.backend import HostSwitches

CONFIG_FILE = "profiler_config.json"
#: Names its folder, for scripts that do not call dynamic_profile.
FOLDER_VARIABLE = "PROF_CONFIG_PATH"
TEMPLATE: dict[str, Any] = json.loads(Path(__file__).with_name(CONFIG_FILE).read_bytes())
_SWITCHES = [switch.name for switch in fields(HostSwitches)]
#: Key → smallest value, fallback.
_NUMBERS = {"active": (1, 1), "warmup": (0, 0), "start_step": (-1, 0)}


@dataclass(frozen=True)
class Config:
    """The checked values of a config file.

    start_step: the step that the profile begins with; 0: none, -1: the next. arguments: of profile(...).
    """

    start_step: int
    warmup: int
    active: int
    prof_dir: str
    analyse: bool
    async_mode: bool
    arguments: Mapping[str, Any]
    metadata: Mapping[str, Any] = field(default_factory=dict)
    rank_list: frozenset[int] | None = None  # None: all

    @property
    def analyses_ranks(self) -> bool:
        """Parse after the capture. Chosen ranks parse only in the background: else they would hold up the others."""
        return self.analyse and (self.rank_list is None or self.async_mode)


def write_template(path: Path) -> None:
    """Write the file if it does not exist."""
    with suppress(FileExistsError), path.open("x", encoding="utf-8") as file:  # only one rank writes it
        try:
            json.dump(TEMPLATE, file, indent=4)
        except OSError:  # else a partial file would stay
            path.unlink()
            raise


def read(path: Path, warn: Callable[[str], None]) -> Config | None:
    """The config of a file; None (and a warning) if it has none. Invalid values are replaced."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as problem:
        warn(f"Failed to read config from : {path}. {problem}")
        return None
    if not isinstance(found, dict) or not found:
        warn(f"The config data is empty from: {path}. Please check the config file.")
        return None
    return parse(found, warn)


def parse(data: Mapping[str, Any], warn: Callable[[str], None]) -> Config:
    """Check the values of a file."""
    values = {**TEMPLATE, **data}
    for name, (least, fallback) in _NUMBERS.items():
        if not isinstance(values[name], int) or isinstance(values[name], bool) or values[name] < least:
            warn(f"Invalid parameter {name}, reset it to {fallback}.")
            values[name] = fallback
    for name in ("async_mode", "analyse"):
        values[name] = _bool(name, values[name], warn)
    if values["async_mode"] and not values["analyse"]:
        warn("When analyse is False, async_mode will not take effect!")
    metadata = values.get("metadata")
    arguments = {"activities": _activities(values["activities"], warn), **{name: values[name] for name in _SWITCHES}}
    arguments["experimental_config"] = _experimental(values["experimental_config"])
    return Config(
        **{name: values[name] for name in (*_NUMBERS, "prof_dir", "analyse", "async_mode")},
        arguments=arguments,
        metadata=metadata if isinstance(metadata, dict) else {},
        rank_list=_rank_list(values, warn),
    )


def _bool(name: str, value: Any, warn: Callable[[str], None]) -> bool:
    if isinstance(value, bool):
        return value
    warn(f"Invalid parameter {name}, which must be of boolean type, reset it to False.")
    return False


def _rank_list(values: Mapping[str, Any], warn: Callable[[str], None]) -> frozenset[int] | None:
    """The ranks to profile; None: all."""
    if not _bool("is_rank", values["is_rank"], warn):
        return None
    ranks = values["rank_list"]
    if not isinstance(ranks, list):
        warn("Set rank_list failed, rank_list must be list!")
        return frozenset()
    return frozenset(rank for rank in ranks if isinstance(rank, int) and rank >= 0)


def _activities(names: Any, warn: Callable[[str], None]) -> list[ProfilerActivity]:
    """The activities of these names; empty: profile() takes all."""
    known = {activity.name: activity for activity in ProfilerActivity}
    listed = names if isinstance(names, list) else [None]
    found = [known.get(name.upper()) if isinstance(name, str) else None for name in listed]
    if None in found:
        warn("Set activity failed, activity must be CPU OR NPU!")
    return [activity for activity in found if activity is not None]


def _experimental(values: Any) -> _ExperimentalConfig | None:
    """_ExperimentalConfig from names of its parameters; names of enumerations are attribute names."""
    if not isinstance(values, dict) or not values:
        return None
    known = {name: values.get(name, default) for name, default in TEMPLATE["experimental_config"].items()}
    for name, enumeration in (("profiler_level", ProfilerLevel), ("aic_metrics", AiCMetrics)):
        if isinstance(known[name], str):
            known[name] = getattr(enumeration, known[name], known[name])
    return _ExperimentalConfig(**known)
