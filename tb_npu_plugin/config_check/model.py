"""What a configuration records."""

from __future__ import annotations

import csv
import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Trap:
    """A setting that does something else than it seems to.

    setting  as it stands in the file: "profile_level: 1"
    effect   what happens
    fix      what to write instead; "" if there is nothing to do
    """

    setting: str
    effect: str
    fix: str = ""


@dataclass
class ConfigReport:
    """What a configuration records.

    kind    "mindformers YAML", "MS_PROFILER_OPTIONS" ...
    facts   what is recorded: label -> sentence or figure
    call    the equivalent code; "" if nothing is recorded
    traps   settings that do something else than they seem to
    """

    kind: str
    facts: dict[str, str] = field(default_factory=dict)
    call: str = ""
    traps: list[Trap] = field(default_factory=list)

    def add_trap(self, setting: str, effect: str, fix: str = "") -> None:
        """Add a trap."""
        self.traps.append(Trap(setting, effect, fix))


def _read_keys() -> list[dict[str, str]]:
    with Path(__file__).with_name("keys.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


_KEYS = _read_keys()


def keys_of(configuration: str, kind: str = "") -> tuple[str, ...]:
    """Keys that a configuration knows; those of a kind: switches of `profile` or of `_ExperimentalConfig`, lists, or
    "own" ones, which no other configuration has."""
    own = [row for row in _KEYS if configuration in row["configurations"].split()]
    return tuple(row["key"] for row in own if not kind or row["kind"] == kind)


class ConfigError(ValueError):
    """The file is no configuration of a profiler; the text says why."""


def integer(report: ConfigReport, values: Mapping[str, Any], key: str, default: int) -> int:
    """An integer setting; another value is a trap and counts as the default."""
    value = values.get(key, default)
    if value is None:
        return default
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    report.add_trap(f"{key}: {value!r}", "not an integer", f"{key}: {default}")
    return default


def boolean(report: ConfigReport, values: Mapping[str, Any], key: str, default: bool = False) -> bool:
    """A switch; another value is a trap and counts as the default."""
    value = values.get(key, default)
    if value is None:
        return default
    if isinstance(value, bool):
        return value
    report.add_trap(f"{key}: {value!r}", f"not a switch; the profiler uses {default}", f"{key}: true or false")
    return default


def add_unknown_keys(report: ConfigReport, values: Mapping[str, Any], known: Iterable[str]) -> None:
    """Add the keys that the profiler ignores silently."""
    names = list(known)
    for key in values:
        if key not in names:
            close = difflib.get_close_matches(str(key), names, 1)
            report.add_trap(str(key), "unknown: ignored without a message", f"{close[0]}" if close else "remove it")


def python(value: object) -> str:
    """A value as Python code; members of enumerations are given as text that stands for itself."""
    return value if isinstance(value, Code) else repr(value)


class Code(str):
    """Python code, e.g. "ProfilerLevel.Level1"."""


def call_of(function: str, arguments: Mapping[str, object], indent: str = "") -> str:
    """A call with one argument a line."""
    inner = "".join(f"{indent}    {name}={python(value)},\n" for name, value in arguments.items())
    return f"{function}(\n{inner}{indent})"
