"""Settings that all configurations of MindSpore's profiler share. Source: docs/facts/mindspore_config.md, Resets between settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tb_npu_plugin.config_check.model import Code, ConfigReport, boolean, call_of, keys_of
from tb_npu_plugin.schema.mindspore import LEVELS

METRICS = (
    "PipeUtilization",
    "ArithmeticUtilization",
    "Memory",
    "MemoryL0",
    "MemoryUB",
    "ResourceConflictRatio",
    "L2Cache",
    "MemoryAccess",
)
NO_METRICS = "AiCoreNone"
ACTIVITIES = ("CPU", "NPU")
EXPORT_TYPES = ("text", "db")
#: Switches of `profile` and of `_ExperimentalConfig`, and lists.
PROFILE_SWITCHES, EXPERIMENTAL_SWITCHES, LISTS = (
    keys_of("options", kind) for kind in ("profile", "experimental", "list")
)


class Settings:
    """The settings of a capture as MindSpore takes them: wrong ones are reset, each with a trap in the report."""

    def __init__(self, report: ConfigReport, values: Mapping[str, Any]) -> None:
        self._report = report
        self.level = self._choice(values, "profiler_level", tuple(LEVELS), "Level0")
        metrics = self._choice(values, "aic_metrics", (*METRICS, NO_METRICS), NO_METRICS)
        self.activities = self._choices(values, "activities", ACTIVITIES, ACTIVITIES)
        self.export_types = self._choices(values, "export_type", EXPORT_TYPES, ("text",))
        self.switches = {
            key: boolean(report, values, key) for key in (*PROFILE_SWITCHES, *EXPERIMENTAL_SWITCHES) if key in values
        }
        self.lists = {key: list(values[key]) for key in LISTS if isinstance(values.get(key), list) and values[key]}
        self.metrics = self._settle(metrics)

    def _choice(self, values: Mapping[str, Any], key: str, known: Sequence[str], default: str) -> str:
        value = values.get(key, default)
        if value is None or value in known:
            return default if value is None else str(value)
        self._report.add_trap(
            f"{key}: {value!r}", f"not a value of {key}; reset to {default}", f"{key}: one of {', '.join(known)}"
        )
        return default

    def _choices(
        self, values: Mapping[str, Any], key: str, known: Sequence[str], default: Sequence[str]
    ) -> tuple[str, ...]:
        value = values.get(key, list(default))
        if isinstance(value, list) and all(one in known for one in value):
            return tuple(value)
        effect = f"reset to {list(default)}"
        if isinstance(value, str):
            effect = f"a text is read letter by letter; {effect}"
        self._report.add_trap(f"{key}: {value!r}", effect, f"{key}: a list of {', '.join(known)}")
        return tuple(default)

    def _settle(self, metrics: str) -> str:
        """Apply the resets between settings; gives the metrics that hold."""
        add, mstx = self._report.add_trap, self.switches.get("mstx", False)
        if self.level == "LevelNone" and not mstx:
            add("profiler_level: LevelNone", "reset to Level0 without mstx", "mstx: true, or profiler_level: Level0")
            self.level = "Level0"
        if self.level in ("LevelNone", "Level0") and metrics != NO_METRICS:
            add(f"aic_metrics: {metrics}", f"not recorded at {self.level}", "profiler_level: Level1")
            metrics = NO_METRICS
        elif self.level in ("Level1", "Level2") and metrics == NO_METRICS:
            metrics = "PipeUtilization"
        if self.switches.get("record_shapes") and "CPU" not in self.activities:
            add(
                "record_shapes: true",
                "ignored by MindSpore because it needs the CPU activity",
                "activities: [CPU, NPU]",
            )
            self.switches["record_shapes"] = False
        domains = [key for key in self.lists if key.startswith("mstx_domain")]
        if domains and not mstx:
            add(", ".join(domains), "ignored without mstx", "mstx: true")
        elif len(domains) == 2:
            add(", ".join(domains), "mstx_domain_exclude is ignored beside mstx_domain_include", "keep one of them")
        if not self.activities:
            add("activities: []", "nothing is recorded", "activities: [CPU, NPU]")
        return metrics

    def add_facts(self) -> None:
        """Add what is recorded beside steps, ranks and folder."""
        facts = self._report.facts
        facts["Level"] = self.level
        facts["Activities"] = ", ".join(self.activities) or "none"
        facts["AI Core metrics"] = "none" if self.metrics == NO_METRICS else self.metrics
        facts["Switches"] = ", ".join(name for name, on in self.switches.items() if on) or "none"
        facts["Export"] = ", ".join(self.export_types)

    def call(self, folder: str, schedule: Mapping[str, object] | None, analyse: bool = True) -> str:
        """The equivalent `profile(...)`."""
        metrics = "AiCoreNone" if self.metrics == NO_METRICS else self.metrics
        experimental: dict[str, object] = {
            "profiler_level": Code(f"ProfilerLevel.{self.level}"),
            "aic_metrics": Code(f"AicoreMetrics.{metrics}"),
            "export_type": Code(_list(f"ExportType.{one.capitalize()}" for one in self.export_types)),
            **{key: True for key in EXPERIMENTAL_SWITCHES if self.switches.get(key)},
            **self.lists,
        }
        handler = f"tensorboard_trace_handler({folder!r}{'' if analyse else ', analyse_flag=False'})"
        arguments: dict[str, object] = {
            "activities": Code(_list(f"ProfilerActivity.{one}" for one in self.activities)),
            **{key: True for key in PROFILE_SWITCHES if self.switches.get(key)},
        }
        if schedule is not None:
            arguments["schedule"] = Code(
                f"schedule({', '.join(f'{key}={value!r}' for key, value in schedule.items())})"
            )
        arguments["on_trace_ready"] = Code(handler)
        arguments["experimental_config"] = Code(call_of("_ExperimentalConfig", experimental, "    "))
        return call_of("profile", arguments)


def _list(items: Any) -> str:
    return f"[{', '.join(items)}]"
