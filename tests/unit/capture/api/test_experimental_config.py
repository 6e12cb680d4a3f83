from __future__ import annotations

from typing import Any

import pytest

from tb_npu_plugin.capture.api.options import AiCMetrics
from tests.unit.capture.api.conftest import Said, Truthless, quiet

NONE, PIPE = AiCMetrics.AiCoreNone, AiCMetrics.PipeUtilization
BOOLS = ("l2_cache", "msprof_tx", "mstx", "record_op_args", "op_attr", "sys_io", "sys_interconnection")
METRICS = "Invalid parameter aic_metrics, reset it to default."
HIGHER = "Please use level1 or level2 if you want to collect aic metrics, reset aic metrics to None!"
EXPORT = "Invalid parameter export_type, reset it to text."
NO_NUMBER = "Parameter gc_detect_threshold is not int or float type, reset it to default."
NEGATIVE = "Parameter gc_detect_threshold can not be negative, reset it to default."
FINITE = "Parameter gc_detect_threshold must be finite, reset it to default."
INCLUDE, EXCLUDE = "mstx_domain_include", "mstx_domain_exclude"
NOT_ON = " is only valid when mstx or msprof_tx is True."
LIST = "Invalid parameter {}, which must be of list type, reset it to {}."
CONTENTS = "Invalid parameter {}, which contents must be of str type, reset it to default."
BOTH = "Parameter mstx_domain_include and mstx_domain_exclude can not be both set, only mstx_domain_include will work."
MSTX: dict[str, Any] = {"mstx": True}
NO_LEVEL = {"profiler_level": "Level_none"}
L0, L1, L2 = ({"profiler_level": f"Level{number}"} for number in range(3))


def _bool(name: str, shown: str = "False") -> str:
    return f"Invalid parameter {name}, which must be of boolean type, reset it to {shown}."


#: Parameter, its value, what is stored, the printed line, other arguments: docs/facts/torch_npu_api.md, _ExperimentalConfig.
ROWS: list[tuple[str, Any, Any, str, dict[str, Any]]] = [
    *((name, 1, False, _bool(name), {}) for name in BOOLS),
    ("data_simplification", "no", True, _bool("data_simplification", "default"), {}),
    ("data_simplification", None, None, "", {}),
    ("profiler_level", ["Level1"], "Level0", "Invalid parameter profiler_level, reset it to ProfilerLevel.Level0.", {}),
    ("aic_metrics", PIPE, PIPE, "", L1),
    ("aic_metrics", PIPE, NONE, HIGHER, L0),
    ("aic_metrics", "Pipe", NONE, METRICS, L0),
    ("aic_metrics", None, PIPE, METRICS, L2),
    ("op_attr", True, False, "op_attr switch is invalid with export type set as text.", {}),
    ("gc_detect_threshold", "1", None, NO_NUMBER, {}),
    ("gc_detect_threshold", -0.5, None, NEGATIVE, {}),
    ("gc_detect_threshold", float("nan"), None, NEGATIVE, {}),
    ("gc_detect_threshold", float("inf"), None, FINITE, {}),
    ("gc_detect_threshold", 10**5000, None, FINITE, {}),
    ("export_type", "db", ["db"], "", {}),
    ("export_type", "", ["text"], EXPORT, {}),
    ("export_type", [["text"]], ["text"], EXPORT, {}),
    ("host_sys", "cpu", [], LIST.format("host_sys", "empty"), {}),
    ("host_sys", ["gpu"], [], "Invalid parameter host_sys, reset it to empty.", {}),
    (INCLUDE, Truthless(), [], INCLUDE + NOT_ON, {}),
    (EXCLUDE, ["a"], [], EXCLUDE + NOT_ON, {}),
    (INCLUDE, "a", [], LIST.format(INCLUDE, "default"), MSTX),
    (EXCLUDE, Truthless(), [], LIST.format(EXCLUDE, "default"), MSTX),
    (INCLUDE, [1], [], CONTENTS.format(INCLUDE), MSTX),
    (EXCLUDE, [1], [], CONTENTS.format(EXCLUDE), MSTX),
    (INCLUDE, ["a"], ["a"], BOTH, {EXCLUDE: ["b"], **MSTX}),
    ("mstx", False, True, "Parameter mstx is False while profiler_level is Level_none, reset mstx to True.", NO_LEVEL),
]


@pytest.mark.parametrize(("name", "value", "stored", "line", "others"), ROWS, ids=map(str, range(len(ROWS))))
def test_rows(name: str, value: Any, stored: Any, line: str, others: dict[str, Any], said: Said) -> None:
    config = quiet(**{**others, name: value})
    assert vars(config)[name if name == "record_op_args" else f"_{name}"] == stored
    assert said() == ([("WARNING", line)] if line else [])


def test_zero_collects_every_collection(said: Said) -> None:
    assert quiet(gc_detect_threshold=0)._gc_detect_threshold == 0
    assert said() == [("INFO", "Parameter gc_detect_threshold is set to 0, it will collect all gc events.")]


def test_msprof_tx_is_deprecated(said: Said) -> None:
    with pytest.warns(UserWarning, match="use mstx"):
        config = quiet(profiler_level="Level_none", msprof_tx=True, mstx_domain_include=["a"])
    assert (config._msprof_tx, config._mstx, config._mstx_domain_include) == (True, False, ["a"])
    assert said() == []
