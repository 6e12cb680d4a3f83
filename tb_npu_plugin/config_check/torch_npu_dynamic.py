"""profiler_config.json of torch_npu's dynamic_profile. Source: docs/facts/torch_npu_api.md, Dynamic profiles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tb_npu_plugin.capture.api.dynamic_config import TEMPLATE, parse
from tb_npu_plugin.config_check.model import Code, ConfigReport, add_unknown_keys, call_of

_EXPERIMENTAL = "experimental_config"


def is_dynamic(values: Mapping[str, Any]) -> bool:
    """Whether the object is a configuration of dynamic_profile."""
    return "start_step" in values or _EXPERIMENTAL in values


def check(values: Mapping[str, Any]) -> ConfigReport:
    """What dynamic_profile records. Its own messages are the traps."""
    report = ConfigReport("profiler_config.json of torch_npu's dynamic_profile")
    add_unknown_keys(report, values, (*TEMPLATE, "metadata"))
    inner = values.get(_EXPERIMENTAL)
    if isinstance(inner, Mapping):
        add_unknown_keys(report, inner, TEMPLATE[_EXPERIMENTAL])
    config = parse(values, lambda text: report.add_trap("torch_npu says", text))
    if config.start_step == 0:
        report.facts["Steps"] = "none: start_step is 0"
        return report
    first = "the next step" if config.start_step < 0 else f"step {config.start_step}"
    warm = f" after {config.warmup} for warm-up" if config.warmup else ""
    report.facts["Steps"] = f"{config.active} from {first}{warm}"
    ranks = config.rank_list
    report.facts["Ranks"] = "all" if ranks is None else ", ".join(map(str, sorted(ranks))) or "none"
    report.facts["Folder"] = f"{config.prof_dir.rstrip('/')}/<host>_<pid>_<time>_ascend_pt"
    report.facts["Parsed"] = "by the capture" if config.analyses_ranks else "not: only raw data are written"
    if config.analyse and not config.analyses_ranks:
        report.add_trap(
            '"rank_list" with "analyse"', "chosen ranks are parsed in the background only", '"async_mode": true'
        )
    handler = f"torch_npu.profiler.tensorboard_trace_handler({config.prof_dir!r}, analyse_flag={config.analyses_ranks})"
    skipped = "" if config.start_step < 0 else f", skip_first={config.start_step - config.warmup}"
    report.call = call_of(
        "torch_npu.profiler.profile",
        {
            **{key: value for key, value in config.arguments.items() if value is True},
            "activities": Code(
                str([f"ProfilerActivity.{one.name}" for one in config.arguments["activities"]]).replace("'", "")
            ),
            "schedule": Code(f"schedule(wait=0, warmup={config.warmup}, active={config.active}, repeat=1{skipped})"),
            "on_trace_ready": Code(handler),
            "experimental_config": Code(call_of("_ExperimentalConfig", _experimental(inner), "    ")),
        },
    )
    return report


def _experimental(values: object) -> dict[str, object]:
    """The arguments of _ExperimentalConfig that differ from its defaults."""
    defaults = TEMPLATE[_EXPERIMENTAL]
    chosen = values if isinstance(values, Mapping) else {}
    enumerations = {"profiler_level": "ProfilerLevel", "aic_metrics": "AiCMetrics"}
    return {
        key: Code(f"{enumerations[key]}.{value}") if key in enumerations else value
        for key, value in chosen.items()
        if key in defaults and value != defaults[key]
    }
