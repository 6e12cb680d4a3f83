"""_ExperimentalConfig and its rules: data, applied in order, each a message and a fallback.
Source: docs/facts/torch_npu_api.md, _ExperimentalConfig."""

from __future__ import annotations

import sys
import warnings
from typing import Any, Callable, NamedTuple

from tb_npu_plugin.capture.api import messages
from tb_npu_plugin.capture.api.enums import (
    AiCMetrics,
    ExportType,
    HostSystem,
    ProfilerLevel,
    supported_ai_core_metrics,
    supported_export_type,
    supported_profiler_level,
    values,
)

_WITHOUT_METRICS = (ProfilerLevel.Level0, ProfilerLevel.Level_none)


class Rule(NamedTuple):
    """When `bad(config)`: print `message` and store `fallback(config)` in `field`."""

    field: str
    bad: Callable[[Any], bool]
    message: str
    fallback: Callable[[Any], Any]


def _bool(field: str, shown: str = "False", fallback: bool = False, none: bool = False) -> Rule:
    """`field` must be a bool (or None, where `none`)."""
    return Rule(
        field,
        lambda c: not isinstance(getattr(c, field), bool) and not (none and getattr(c, field) is None),
        f"Invalid parameter {field.lstrip('_')}, which must be of boolean type, reset it to {shown}.",
        lambda c: fallback,
    )


def _texts(field: str) -> tuple[Rule, Rule]:
    """`field` must be a list of texts."""
    name = field.lstrip("_")
    return (
        Rule(
            field,
            lambda c: not isinstance(getattr(c, field), list),
            f"Invalid parameter {name}, which must be of list type, reset it to default.",
            lambda c: [],
        ),
        Rule(
            field,
            lambda c: any(not isinstance(item, str) for item in getattr(c, field)),
            f"Invalid parameter {name}, which contents must be of str type, reset it to default.",
            lambda c: [],
        ),
    )


def _is_one_of(value: Any, allowed: set[str]) -> bool:
    return isinstance(value, str) and value in allowed


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float))


RULES: tuple[Rule, ...] = (
    Rule(
        "_profiler_level",
        lambda c: not _is_one_of(c._profiler_level, supported_profiler_level()),
        "Invalid parameter profiler_level, reset it to ProfilerLevel.Level0.",
        lambda c: ProfilerLevel.Level0,
    ),
    Rule(
        "_aic_metrics",
        lambda c: not _is_one_of(c._aic_metrics, supported_ai_core_metrics()),
        "Invalid parameter aic_metrics, reset it to default.",
        lambda c: AiCMetrics.AiCoreNone if c._profiler_level in _WITHOUT_METRICS else AiCMetrics.PipeUtilization,
    ),
    Rule(
        "_aic_metrics",
        lambda c: c._profiler_level in _WITHOUT_METRICS and c._aic_metrics != AiCMetrics.AiCoreNone,
        "Please use level1 or level2 if you want to collect aic metrics, reset aic metrics to None!",
        lambda c: AiCMetrics.AiCoreNone,
    ),
    _bool("_l2_cache"),
    _bool("_msprof_tx"),
    _bool("_mstx"),
    _bool("_data_simplification", shown="default", fallback=True, none=True),
    _bool("record_op_args"),
    Rule(
        "_export_type",
        lambda c: not c._export_type or not all(_is_one_of(item, supported_export_type()) for item in c._export_type),
        "Invalid parameter export_type, reset it to text.",
        lambda c: [ExportType.Text],
    ),
    _bool("_op_attr"),
    Rule(
        "_op_attr",
        lambda c: c._op_attr and ExportType.Db not in c._export_type,
        "op_attr switch is invalid with export type set as text.",
        lambda c: False,
    ),
    Rule(
        "_gc_detect_threshold",
        lambda c: c._gc_detect_threshold is not None and not _is_number(c._gc_detect_threshold),
        "Parameter gc_detect_threshold is not int or float type, reset it to default.",
        lambda c: None,
    ),
    Rule(
        "_gc_detect_threshold",
        lambda c: c._gc_detect_threshold is not None and not c._gc_detect_threshold >= 0,  # nan is not, either
        "Parameter gc_detect_threshold can not be negative, reset it to default.",
        lambda c: None,
    ),
    Rule(
        "_gc_detect_threshold",  # JSON has no Infinity
        lambda c: c._gc_detect_threshold is not None and c._gc_detect_threshold > sys.float_info.max,
        "Parameter gc_detect_threshold must be finite, reset it to default.",
        lambda c: None,
    ),
    _bool("_sys_io"),
    _bool("_sys_interconnection"),
    Rule(
        "_mstx",
        lambda c: c._profiler_level == ProfilerLevel.Level_none and not c._mstx and not c._msprof_tx,
        "Parameter mstx is False while profiler_level is Level_none, reset mstx to True.",
        lambda c: True,
    ),
    Rule(
        "_mstx_domain_include",
        lambda c: messages.truth_of(c._mstx_domain_include) and not c._uses_marks(),
        "mstx_domain_include is only valid when mstx or msprof_tx is True.",
        lambda c: [],
    ),
    Rule(
        "_mstx_domain_exclude",
        lambda c: messages.truth_of(c._mstx_domain_exclude) and not c._uses_marks(),
        "mstx_domain_exclude is only valid when mstx or msprof_tx is True.",
        lambda c: [],
    ),
    *_texts("_mstx_domain_include"),
    *_texts("_mstx_domain_exclude"),
    Rule(
        "_mstx_domain_exclude",
        lambda c: bool(c._mstx_domain_include) and bool(c._mstx_domain_exclude),
        "Parameter mstx_domain_include and mstx_domain_exclude can not be both set, only mstx_domain_include will work.",
        lambda c: [],
    ),
    Rule(
        "_host_sys",
        lambda c: not isinstance(c._host_sys, list),
        "Invalid parameter host_sys, which must be of list type, reset it to empty.",
        lambda c: [],
    ),
    Rule(
        "_host_sys",
        lambda c: not all(_is_one_of(item, set(values(HostSystem))) for item in c._host_sys),
        "Invalid parameter host_sys, reset it to empty.",
        lambda c: [],
    ),
)


def _as_list(value: Any) -> Any:
    """The texts of a list without duplicates; a single text becomes a list. None if it is neither."""
    if isinstance(value, str) and value:
        return [value]
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return list(dict.fromkeys(value))
    return None


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
        for rule in RULES:
            if rule.bad(self):
                messages.warn(rule.message)
                setattr(self, rule.field, rule.fallback(self))
        if self._msprof_tx:
            warnings.warn("msprof_tx is deprecated, please use mstx instead.", stacklevel=2)
        if self._gc_detect_threshold == 0:
            messages.info("Parameter gc_detect_threshold is set to 0, it will collect all gc events.")

    def _uses_marks(self) -> bool:
        return bool(self._mstx or self._msprof_tx)

    @property
    def export_type(self) -> list[str]:
        """Forms of the result."""
        return list(self._export_type)

    @property
    def with_gc(self) -> bool:
        """Garbage collections are recorded."""
        return self._gc_detect_threshold is not None

    @property
    def gc_detect_threshold(self) -> float | None:
        """Shortest collection that is recorded, ms."""
        return self._gc_detect_threshold
