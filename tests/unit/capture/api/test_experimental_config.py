from __future__ import annotations

from typing import Any

import pytest

from tb_npu_plugin.capture.api.enums import AiCMetrics, ProfilerLevel
from tb_npu_plugin.capture.api.experimental_config import RULES, _ExperimentalConfig
from tests.unit.capture.api.conftest import Said

NONE, PIPE = AiCMetrics.AiCoreNone, AiCMetrics.PipeUtilization
#: Without a warning of its own.
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
    """As one of several numbers: neither its truth nor that it equals another can be told."""

    def __bool__(self) -> bool:
        raise ValueError("the truth of several numbers is ambiguous")

    def __eq__(self, other: object) -> Any:
        return Array()

    __hash__ = None  # type: ignore[assignment]


#: Arguments, stored attributes, printed lines: the rows of docs/facts/torch_npu_api.md, _ExperimentalConfig.
ROWS: list[tuple[dict[str, Any], dict[str, Any], list[str]]] = [
    ({"profiler_level": "Level3"}, {"_profiler_level": "Level0"}, [LEVEL]),
    ({"profiler_level": 1}, {"_profiler_level": "Level0"}, [LEVEL]),
    ({"profiler_level": ["Level1"]}, {"_profiler_level": "Level0"}, [LEVEL]),
    ({"profiler_level": "Level1", "aic_metrics": PIPE}, {"_aic_metrics": PIPE}, []),
    ({"profiler_level": "Level1", "aic_metrics": NONE}, {"_aic_metrics": NONE}, []),
    ({"profiler_level": "Level0", "aic_metrics": PIPE}, {"_aic_metrics": NONE}, [HIGHER]),
    (
        {"profiler_level": "Level_none", "aic_metrics": AiCMetrics.Memory, "mstx": True},
        {"_aic_metrics": NONE},
        [HIGHER],
    ),
    ({"profiler_level": "Level0", "aic_metrics": "Pipe"}, {"_aic_metrics": NONE}, [METRICS]),
    ({"profiler_level": "Level2", "aic_metrics": "Pipe"}, {"_aic_metrics": PIPE}, [METRICS]),
    ({"profiler_level": "Level2", "aic_metrics": None}, {"_aic_metrics": PIPE}, [METRICS]),
    ({"l2_cache": 1}, {"_l2_cache": False}, [_bool("l2_cache")]),
    ({"l2_cache": True}, {"_l2_cache": True}, []),
    ({"msprof_tx": "yes"}, {"_msprof_tx": False}, [_bool("msprof_tx")]),
    ({"mstx": None}, {"_mstx": False}, [_bool("mstx")]),
    ({"mstx": True}, {"_mstx": True}, []),
    ({"data_simplification": "no"}, {"_data_simplification": True}, [_bool("data_simplification", "default")]),
    ({"data_simplification": None}, {"_data_simplification": None}, []),
    ({"data_simplification": False}, {"_data_simplification": False}, []),
    ({"record_op_args": 1}, {"record_op_args": False}, [_bool("record_op_args")]),
    ({"op_attr": 1}, {"_op_attr": False}, [_bool("op_attr")]),
    ({"op_attr": True}, {"_op_attr": False}, ["op_attr switch is invalid with export type set as text."]),
    ({"op_attr": True, "export_type": ["text", "db"]}, {"_op_attr": True}, []),
    ({"gc_detect_threshold": "1"}, {"_gc_detect_threshold": None}, [TYPE]),
    ({"gc_detect_threshold": -0.5}, {"_gc_detect_threshold": None}, [NEGATIVE]),
    ({"gc_detect_threshold": float("nan")}, {"_gc_detect_threshold": None}, [NEGATIVE]),
    ({"gc_detect_threshold": float("inf")}, {"_gc_detect_threshold": None}, [FINITE]),
    ({"gc_detect_threshold": 10**5000}, {"_gc_detect_threshold": None}, [FINITE]),
    ({"gc_detect_threshold": 1.5}, {"_gc_detect_threshold": 1.5}, []),
    ({"export_type": "db"}, {"_export_type": ["db"]}, []),
    ({"export_type": "text"}, {"_export_type": ["text"]}, []),
    ({"export_type": ["db", "text", "db"]}, {"_export_type": ["db", "text"]}, []),
    ({"export_type": None}, {"_export_type": ["text"]}, [EXPORT]),
    ({"export_type": ""}, {"_export_type": ["text"]}, [EXPORT]),
    ({"export_type": []}, {"_export_type": ["text"]}, [EXPORT]),
    ({"export_type": ["text", "csv"]}, {"_export_type": ["text"]}, [EXPORT]),
    ({"export_type": [["text"]]}, {"_export_type": ["text"]}, [EXPORT]),
    ({"export_type": 5}, {"_export_type": ["text"]}, [EXPORT]),
    ({"export_type": [Array(), Array()]}, {"_export_type": ["text"]}, [EXPORT]),
    ({"host_sys": ["cpu", "mem"]}, {"_host_sys": ["cpu", "mem"]}, []),
    ({"host_sys": None}, {"_host_sys": []}, []),
    ({"host_sys": "cpu"}, {"_host_sys": []}, ["Invalid parameter host_sys" + LIST + "empty."]),
    ({"host_sys": ["gpu"]}, {"_host_sys": []}, ["Invalid parameter host_sys, reset it to empty."]),
    (
        {"mstx_domain_include": ["a"]},
        {"_mstx_domain_include": []},
        ["mstx_domain_include is only valid when mstx or msprof_tx is True."],
    ),
    (
        {"mstx_domain_exclude": ["a"]},
        {"_mstx_domain_exclude": []},
        ["mstx_domain_exclude is only valid when mstx or msprof_tx is True."],
    ),
    (
        {"mstx_domain_include": Array()},
        {"_mstx_domain_include": []},
        ["mstx_domain_include is only valid when mstx or msprof_tx is True."],
    ),
    (
        {"mstx": True, "mstx_domain_exclude": Array()},
        {"_mstx_domain_exclude": []},
        ["Invalid parameter mstx_domain_exclude" + LIST + "default."],
    ),
    ({"mstx": True, "mstx_domain_include": ["a"]}, {"_mstx_domain_include": ["a"]}, []),
    (
        {"mstx": True, "mstx_domain_include": "a"},
        {"_mstx_domain_include": []},
        ["Invalid parameter mstx_domain_include" + LIST + "default."],
    ),
    (
        {"mstx": True, "mstx_domain_exclude": [1]},
        {"_mstx_domain_exclude": []},
        ["Invalid parameter mstx_domain_exclude" + CONTENTS + "default."],
    ),
    (
        {"mstx": True, "mstx_domain_include": ["a"], "mstx_domain_exclude": ["b"]},
        {"_mstx_domain_include": ["a"], "_mstx_domain_exclude": []},
        [
            "Parameter mstx_domain_include and mstx_domain_exclude can not be both set, "
            "only mstx_domain_include will work."
        ],
    ),
    ({"sys_io": 0}, {"_sys_io": False}, [_bool("sys_io")]),
    ({"sys_interconnection": 0}, {"_sys_interconnection": False}, [_bool("sys_interconnection")]),
    (
        {"profiler_level": "Level_none"},
        {"_mstx": True},
        ["Parameter mstx is False while profiler_level is Level_none, reset mstx to True."],
    ),
]


@pytest.mark.parametrize(("arguments", "stored", "lines"), ROWS)
def test_rows(arguments: dict[str, Any], stored: dict[str, Any], lines: list[str], said: Said) -> None:
    config = _ExperimentalConfig(**{**QUIET, **arguments})
    assert {name: getattr(config, name) for name in stored} == stored
    assert said() == [("WARNING", line) for line in lines]


def test_the_rows_cover_every_rule() -> None:
    told = {line for _, _, lines in ROWS for line in lines}
    # a list of one kind is tested with include, of the other with exclude
    spared = {"Invalid parameter mstx_domain_exclude" + LIST, "Invalid parameter mstx_domain_include" + CONTENTS}
    assert {rule.message for rule in RULES if not rule.message.startswith(tuple(spared))} <= told


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
