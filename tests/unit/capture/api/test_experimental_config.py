from __future__ import annotations

from typing import Any

import pytest

from tb_npu_plugin.capture.api.enums import AiCMetrics, ProfilerLevel
from tb_npu_plugin.capture.api.experimental_config import RULES, _ExperimentalConfig
from tests.unit.capture.api.conftest import Said

NONE, PIPE = AiCMetrics.AiCoreNone, AiCMetrics.PipeUtilization
#: Gives no warning.
QUIET: dict[str, Any] = {"aic_metrics": NONE}
LEVEL = "Invalid parameter profiler_level, reset it to ProfilerLevel.Level0."
METRICS = "Invalid parameter aic_metrics, reset it to default."
HIGHER = "Please use level1 or level2 if you want to collect aic metrics, reset aic metrics to None!"
EXPORT = "Invalid parameter export_type, reset it to text."
NEGATIVE = "Parameter gc_detect_threshold can not be negative, reset it to default."
FINITE = "Parameter gc_detect_threshold must be finite, reset it to default."
TYPE = "Parameter gc_detect_threshold is not int or float type, reset it to default."
LIST, CONTENTS = ", which must be of list type, reset it to ", ", which contents must be of str type, reset it to "


def _bool(name: str, shown: str = "False") -> str:
    return f"Invalid parameter {name}, which must be of boolean type, reset it to {shown}."


class Array:
    """Like an array of several numbers: bool() and == fail."""

    def __bool__(self) -> bool:
        raise ValueError("the truth of several numbers is ambiguous")

    def __eq__(self, other: object) -> Any:
        return Array()

    __hash__ = None  # type: ignore[assignment]


INCLUDE, EXCLUDE = "mstx_domain_include", "mstx_domain_exclude"
NOT_ON = " is only valid when mstx or msprof_tx is True."
BOTH = "Parameter mstx_domain_include and mstx_domain_exclude can not be both set, only mstx_domain_include will work."
MSTX: dict[str, Any] = {"mstx": True}
NO_LEVEL = {"profiler_level": "Level_none"}
L0, L1, L2 = ({"profiler_level": f"Level{number}"} for number in range(3))

#: Parameter, its value, what is stored, the printed line, other arguments: docs/facts/torch_npu_api.md, _ExperimentalConfig.
ROWS: list[tuple[str, Any, Any, str, dict[str, Any]]] = [
    ("profiler_level", "Level3", "Level0", LEVEL, {}),
    ("profiler_level", 1, "Level0", LEVEL, {}),
    ("profiler_level", ["Level1"], "Level0", LEVEL, {}),
    ("aic_metrics", PIPE, PIPE, "", L1),
    ("aic_metrics", NONE, NONE, "", L1),
    ("aic_metrics", PIPE, NONE, HIGHER, L0),
    ("aic_metrics", AiCMetrics.Memory, NONE, HIGHER, {**NO_LEVEL, **MSTX}),
    ("aic_metrics", "Pipe", NONE, METRICS, L0),
    ("aic_metrics", "Pipe", PIPE, METRICS, L2),
    ("aic_metrics", None, PIPE, METRICS, L2),
    ("l2_cache", 1, False, _bool("l2_cache"), {}),
    ("l2_cache", True, True, "", {}),
    ("msprof_tx", "yes", False, _bool("msprof_tx"), {}),
    ("mstx", None, False, _bool("mstx"), {}),
    ("mstx", True, True, "", {}),
    ("data_simplification", "no", True, _bool("data_simplification", "default"), {}),
    ("data_simplification", None, None, "", {}),
    ("data_simplification", False, False, "", {}),
    ("record_op_args", 1, False, _bool("record_op_args"), {}),
    ("op_attr", 1, False, _bool("op_attr"), {}),
    ("op_attr", True, False, "op_attr switch is invalid with export type set as text.", {}),
    ("op_attr", True, True, "", {"export_type": ["text", "db"]}),
    ("gc_detect_threshold", "1", None, TYPE, {}),
    ("gc_detect_threshold", -0.5, None, NEGATIVE, {}),
    ("gc_detect_threshold", float("nan"), None, NEGATIVE, {}),
    ("gc_detect_threshold", float("inf"), None, FINITE, {}),
    ("gc_detect_threshold", 10**5000, None, FINITE, {}),
    ("gc_detect_threshold", 1.5, 1.5, "", {}),
    ("export_type", "db", ["db"], "", {}),
    ("export_type", ["db", "text", "db"], ["db", "text"], "", {}),
    ("export_type", None, ["text"], EXPORT, {}),
    ("export_type", "", ["text"], EXPORT, {}),
    ("export_type", [], ["text"], EXPORT, {}),
    ("export_type", ["text", "csv"], ["text"], EXPORT, {}),
    ("export_type", [["text"]], ["text"], EXPORT, {}),
    ("export_type", 5, ["text"], EXPORT, {}),
    ("export_type", [Array(), Array()], ["text"], EXPORT, {}),
    ("host_sys", ["cpu", "mem"], ["cpu", "mem"], "", {}),
    ("host_sys", None, [], "", {}),
    ("host_sys", "cpu", [], "Invalid parameter host_sys" + LIST + "empty.", {}),
    ("host_sys", ["gpu"], [], "Invalid parameter host_sys, reset it to empty.", {}),
    (INCLUDE, ["a"], [], INCLUDE + NOT_ON, {}),
    (EXCLUDE, ["a"], [], EXCLUDE + NOT_ON, {}),
    (INCLUDE, Array(), [], INCLUDE + NOT_ON, {}),
    (EXCLUDE, Array(), [], "Invalid parameter mstx_domain_exclude" + LIST + "default.", MSTX),
    (INCLUDE, ["a"], ["a"], "", MSTX),
    (INCLUDE, "a", [], "Invalid parameter mstx_domain_include" + LIST + "default.", MSTX),
    (EXCLUDE, [1], [], "Invalid parameter mstx_domain_exclude" + CONTENTS + "default.", MSTX),
    (EXCLUDE, ["b"], [], BOTH, {INCLUDE: ["a"], **MSTX}),
    (INCLUDE, ["a"], ["a"], BOTH, {EXCLUDE: ["b"], **MSTX}),
    ("sys_io", 0, False, _bool("sys_io"), {}),
    ("sys_interconnection", 0, False, _bool("sys_interconnection"), {}),
    ("mstx", False, True, "Parameter mstx is False while profiler_level is Level_none, reset mstx to True.", NO_LEVEL),
]


@pytest.mark.parametrize(("name", "value", "stored", "line", "others"), ROWS, ids=map(str, range(len(ROWS))))
def test_rows(name: str, value: Any, stored: Any, line: str, others: dict[str, Any], said: Said) -> None:
    config = _ExperimentalConfig(**{**QUIET, **others, name: value})
    assert vars(config)["record_op_args" if name == "record_op_args" else f"_{name}"] == stored
    assert said() == ([("WARNING", line)] if line else [])


def test_the_rows_cover_every_rule() -> None:
    printed = {line for _, _, _, line, _ in ROWS}
    # a list of one kind is tested with include, of the other with exclude
    spared = {"Invalid parameter mstx_domain_exclude" + LIST, "Invalid parameter mstx_domain_include" + CONTENTS}
    assert {rule.message for rule in RULES if not rule.message.startswith(tuple(spared))} <= printed


def test_defaults_are_those_of_the_newest_release(said: Said) -> None:
    config = _ExperimentalConfig()
    assert vars(config) == {
        "_profiler_level": "Level0",
        "_aic_metrics": NONE,
        "_l2_cache": False,
        "_msprof_tx": False,
        "_mstx": False,
        "_data_simplification": True,
        "record_op_args": False,
        "_export_type": ["text"],
        "_host_sys": [],
        "_op_attr": False,
        "_gc_detect_threshold": None,
        "_mstx_domain_include": [],
        "_mstx_domain_exclude": [],
        "_sys_io": False,
        "_sys_interconnection": False,
    }
    assert said() == [("WARNING", HIGHER)]
    assert _ExperimentalConfig(ProfilerLevel.Level1)._aic_metrics == PIPE


def test_zero_collects_every_collection(said: Said) -> None:
    config = _ExperimentalConfig(gc_detect_threshold=0, **QUIET)
    assert config.with_gc
    assert config.gc_detect_threshold == 0
    assert said() == [("INFO", "Parameter gc_detect_threshold is set to 0, it will collect all gc events.")]


def test_msprof_tx_is_deprecated(said: Said) -> None:
    with pytest.warns(UserWarning, match="use mstx"):
        config = _ExperimentalConfig("Level_none", msprof_tx=True, mstx_domain_include=["a"], **QUIET)
    assert config._msprof_tx
    assert config._mstx_domain_include == ["a"]
    assert not config._mstx  # msprof_tx is enough for Level_none
    assert said() == []
