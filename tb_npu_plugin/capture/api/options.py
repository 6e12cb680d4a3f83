"""What scripts choose from, and _ExperimentalConfig: an invalid value prints a warning and becomes the default, in the order of
torch_npu's checks. All enumerations but the first two are classes of plain strings.
Source: docs/facts/torch_npu_api.md, Enumerations, _ExperimentalConfig."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from enum import Enum
from typing import Any

from tb_npu_plugin.capture.api.messages import info, truth_of, warn
from tb_npu_plugin.schema.settings import STORED_METRICS

#: What is recorded: the framework's side, the device's side.
ProfilerActivity = Enum("ProfilerActivity", "CPU NPU", start=0)
#: What the profiler does in a step.
ProfilerAction = Enum("ProfilerAction", "NONE WARMUP RECORD RECORD_AND_SAVE", start=0)


def _strings(name: str, **values: str) -> Any:
    return type(name, (), values)


#: How much of the device's side is recorded.
ProfilerLevel = _strings("ProfilerLevel", Level0="Level0", Level1="Level1", Level2="Level2", Level_none="Level_none")
#: The set of counters that AI cores record.
AiCMetrics = _strings("AiCMetrics", **STORED_METRICS)
#: Form of the result.
ExportType = _strings("ExportType", Db="db", Text="text")
#: Counters of the host.
HostSystem = _strings("HostSystem", CPU="cpu", MEM="mem", DISK="disk", NETWORK="network", OSRT="osrt", NUMA="numa")


def values_of(cls: type) -> Callable[[], set[str]]:
    """A function that returns the strings of one of the classes above."""
    return lambda: {value for name, value in vars(cls).items() if not name.startswith("_")}


def supported_activities() -> set[ProfilerActivity]:
    """Both activities."""
    return set(ProfilerActivity)


supported_profiler_level, supported_ai_core_metrics = values_of(ProfilerLevel), values_of(AiCMetrics)
supported_export_type, supported_host_systems = values_of(ExportType), values_of(HostSystem)


def _are_all_of(found: Any, allowed: set[str]) -> bool:
    return all(isinstance(item, str) and item in allowed for item in found)


def _as_list(value: Any) -> list[str]:
    """The texts of a list without duplicates; a single text becomes a list. Empty if it is neither."""
    found = [value] if isinstance(value, str) and value else value
    is_list = isinstance(found, list) and all(isinstance(item, str) for item in found)
    return list(dict.fromkeys(found)) if is_list else []


class _ExperimentalConfig:
    """Further settings of a profile. The attributes are those that profiler_info.json lists."""

    def __init__(
        self,
        profiler_level: str = ProfilerLevel.Level0,
        aic_metrics: str = AiCMetrics.PipeUtilization,
        l2_cache: bool = False,
        msprof_tx: bool = False,
        mstx: bool = False,
        data_simplification: bool | None = True,
        record_op_args: bool = False,
        op_attr: bool = False,
        gc_detect_threshold: float | None = None,
        export_type: str | list[str] = ExportType.Text,
        host_sys: list[str] | None = None,
        mstx_domain_include: list[str] | None = None,
        mstx_domain_exclude: list[str] | None = None,
        sys_io: bool = False,
        sys_interconnection: bool = False,
    ) -> None:
        self._profiler_level = profiler_level
        self._aic_metrics = aic_metrics
        self._l2_cache = l2_cache
        self._msprof_tx = msprof_tx
        self._mstx = mstx
        self._data_simplification = data_simplification
        self.record_op_args = record_op_args
        self._export_type = _as_list(export_type)
        self._host_sys = host_sys if host_sys is not None else []
        self._op_attr = op_attr
        self._gc_detect_threshold = gc_detect_threshold
        self._mstx_domain_include = mstx_domain_include if mstx_domain_include is not None else []
        self._mstx_domain_exclude = mstx_domain_exclude if mstx_domain_exclude is not None else []
        self._sys_io = sys_io
        self._sys_interconnection = sys_interconnection
        self._check_level()
        self._check_bools("_l2_cache", "_msprof_tx", "_mstx", "_data_simplification", "record_op_args")
        self._check_export()
        self._check_gc_threshold()
        self._check_bools("_sys_io", "_sys_interconnection")
        self._check_marks()
        if not isinstance(self._host_sys, list):
            self._reset("_host_sys", [], "Invalid parameter host_sys, which must be of list type, reset it to empty.")
        if not _are_all_of(self._host_sys, supported_host_systems()):
            self._reset("_host_sys", [], "Invalid parameter host_sys, reset it to empty.")
        if self._msprof_tx:
            warnings.warn("msprof_tx is deprecated, please use mstx instead.", stacklevel=2)
        if self._gc_detect_threshold == 0:
            info("Parameter gc_detect_threshold is set to 0, it will collect all gc events.")

    def _reset(self, attribute: str, fallback: Any, message: str) -> None:
        warn(message)
        setattr(self, attribute, fallback)

    def _check_level(self) -> None:
        if not _are_all_of([self._profiler_level], supported_profiler_level()):
            message = "Invalid parameter profiler_level, reset it to ProfilerLevel.Level0."
            self._reset("_profiler_level", ProfilerLevel.Level0, message)
        has_metrics = self._profiler_level not in (ProfilerLevel.Level0, ProfilerLevel.Level_none)
        if not _are_all_of([self._aic_metrics], supported_ai_core_metrics()):
            default = AiCMetrics.PipeUtilization if has_metrics else AiCMetrics.AiCoreNone
            self._reset("_aic_metrics", default, "Invalid parameter aic_metrics, reset it to default.")
        if not has_metrics and self._aic_metrics != AiCMetrics.AiCoreNone:
            message = "Please use level1 or level2 if you want to collect aic metrics, reset aic metrics to None!"
            self._reset("_aic_metrics", AiCMetrics.AiCoreNone, message)

    def _check_bools(self, *attributes: str) -> None:
        """Reset values that are not bool. data_simplification may be None, and is True by default."""
        for attribute in attributes:
            name, value = attribute.lstrip("_"), getattr(self, attribute)
            fallback = name == "data_simplification"
            if not isinstance(value, bool) and not (fallback and value is None):
                shown = "default" if fallback else "False"
                message = f"Invalid parameter {name}, which must be of boolean type, reset it to {shown}."
                self._reset(attribute, fallback, message)

    def _check_export(self) -> None:
        if not self._export_type or not _are_all_of(self._export_type, supported_export_type()):
            self._reset("_export_type", [ExportType.Text], "Invalid parameter export_type, reset it to text.")
        self._check_bools("_op_attr")
        if self._op_attr and ExportType.Db not in self._export_type:
            self._reset("_op_attr", False, "op_attr switch is invalid with export type set as text.")

    def _check_gc_threshold(self) -> None:
        """JSON has no NaN and no Infinity."""
        threshold, wrong = self._gc_detect_threshold, ""
        if threshold is None:
            return
        if not isinstance(threshold, (int, float)):
            wrong = "is not int or float type"
        elif not threshold >= 0:
            wrong = "can not be negative"
        elif threshold > sys.float_info.max:
            wrong = "must be finite"
        if wrong:
            self._reset("_gc_detect_threshold", None, f"Parameter gc_detect_threshold {wrong}, reset it to default.")

    def _check_marks(self) -> None:
        if self._profiler_level == ProfilerLevel.Level_none and not self._mstx and not self._msprof_tx:
            message = "Parameter mstx is False while profiler_level is Level_none, reset mstx to True."
            self._reset("_mstx", True, message)
        for name in ("mstx_domain_include", "mstx_domain_exclude"):
            domains, wrong = getattr(self, f"_{name}"), ""
            if truth_of(domains) and not self._mstx and not self._msprof_tx:
                wrong = f"{name} is only valid when mstx or msprof_tx is True."
            elif not isinstance(domains, list):
                wrong = f"Invalid parameter {name}, which must be of list type, reset it to default."
            elif not all(isinstance(item, str) for item in domains):
                wrong = f"Invalid parameter {name}, which contents must be of str type, reset it to default."
            if wrong:
                self._reset(f"_{name}", [], wrong)
        if self._mstx_domain_include and self._mstx_domain_exclude:
            message = "Parameter mstx_domain_include and mstx_domain_exclude can not be both set, "
            self._reset("_mstx_domain_exclude", [], message + "only mstx_domain_include will work.")
