"""dynolog mode: what to profile comes from the daemon of msMonitor instead of a file.
Source: docs/facts/torch_npu_api.md, Dynamic profiles.

The daemon is asked through the client of msMonitor (the package mindstudio_monitor, IPCMonitor before it), where it is
installed. A request is lines of KEY=VALUE; it is translated to the values of profiler_config.json, whose rules hold then.
"""

from __future__ import annotations

import importlib
import logging
import os
from collections.abc import Mapping
from typing import Any, Callable, Protocol

from tb_npu_plugin.capture.api.dynamic_profile.config import FOLDER_VARIABLE, TEMPLATE, parse
from tb_npu_plugin.capture.api.dynamic_profile.monitor import Monitor

#: The first that is set counts: "1" asks for the daemon; the second is the older name.
VARIABLES = ("MSMONITOR_USE_DAEMON", "KINETO_USE_DAEMON")
_PACKAGES = ("mindstudio_monitor", "IPCMonitor")
_EXPERIMENTAL: Mapping[str, Any] = TEMPLATE["experimental_config"]
#: In a request for msMonitor itself, which has nothing to do with profiles.
_OTHER_REQUEST = "NPU_MONITOR_START"


class Client(Protocol):
    """PyDynamicMonitorProxy of msMonitor."""

    def init_dyno(self, npu_id: int) -> bool | None:
        """Register this process with the daemon; False: there is none."""

    def poll_dyno(self) -> str:
        """The request that waits for this process, "" where there is none."""


def is_wanted() -> bool:
    """The environment asks for the daemon, and not for a config file."""
    value = next((os.environ[name] for name in VARIABLES if os.environ.get(name)), "")
    return value.strip() == "1" and not os.environ.get(FOLDER_VARIABLE)


def find_client() -> Client:
    """msMonitor's client. ImportError says why there is none."""
    reason = f"{_PACKAGES[0]} is not installed"
    for package in _PACKAGES:
        try:
            client: Client = importlib.import_module(package).PyDynamicMonitorProxy()
        except ModuleNotFoundError as problem:
            if problem.name != package:
                reason = f"{package}: {problem}"
        except Exception as problem:  # native code, which fails to load in many ways
            reason = f"{package}: {problem}"
        else:
            return client
    raise ImportError(reason)


class DaemonMonitor(Monitor):
    """Asks the daemon."""

    def __init__(self, client: Client, device: int, log: logging.Logger) -> None:
        super().__init__(log)
        self._client, self._device = client, device

    def register(self) -> bool:
        """The daemon knows this process now; False: it is not there."""
        return self._client.init_dyno(self._device) is not False

    def look(self) -> None:
        """Ask whether there is a request."""
        request = read_request(self._client.poll_dyno())
        if _OTHER_REQUEST in request:
            self._log.warning("npu-monitor needs an NPU, its request is ignored.")
        elif request:
            self._offer(parse(values_of(request), self._log.warning))

    def close(self) -> None:
        """Tell the daemon that this process ends."""
        finalize = getattr(self._client, "finalize_dyno", None)  # older clients have none
        if finalize is not None:
            finalize()


def read_request(text: str) -> dict[str, str]:
    """KEY=VALUE of each line; a line that is none is left out."""
    pairs = (line.split("=") for line in str(text).splitlines())
    return {pair[0].strip(): pair[1].strip() for pair in pairs if len(pair) == 2}


def values_of(request: Mapping[str, str]) -> dict[str, Any]:
    """What the keys that are there mean, as profiler_config.json would say it."""
    out: dict[str, Any] = {}
    experimental = dict(_EXPERIMENTAL)
    for key, (name, convert) in KEYS.items():
        if key in request:
            place = experimental if name in _EXPERIMENTAL else out
            place[name] = convert(request[key])
    return {**out, "experimental_config": experimental}


def _true(text: str) -> bool:
    return text.lower() == "true"


def _not_false(text: str) -> bool:
    return text.lower() != "false"


def _number(text: str) -> Any:
    """An int; another text stays, and is refused with a warning."""
    try:
        return int(text)
    except ValueError:
        return text


def _threshold(text: str) -> Any:
    if text == "None":
        return None
    try:
        return float(text)
    except ValueError:
        return text


def _texts(text: str) -> list[str]:
    return [] if text == "None" else [item.strip() for item in text.split(",")]


def _types(text: str) -> list[str]:
    return _texts(text.lower())


def _ranks(text: str) -> list[Any]:
    return [_number(item) for item in _texts(text)]


#: Key of a request → name in profiler_config.json, conversion of its text.
KEYS: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "ACTIVITIES_LOG_FILE": ("prof_dir", str),
    "PROFILE_START_STEP": ("start_step", _number),
    "ACTIVITIES_ITERATIONS": ("active", _number),
    "WARMUP_ITERATIONS": ("warmup", _number),
    "PROFILE_ACTIVITIES": ("activities", _texts),
    "PROFILE_RECORD_SHAPES": ("record_shapes", _true),
    "PROFILE_PROFILE_MEMORY": ("profile_memory", _true),
    "PROFILE_WITH_STACK": ("with_stack", _true),
    "PROFILE_WITH_FLOPS": ("with_flops", _true),
    "PROFILE_WITH_MODULES": ("with_modules", _true),
    "PROFILE_ANALYSE": ("analyse", _true),
    "PROFILE_ASYNC_MODE": ("async_mode", _true),
    "PROFILE_IS_RANK": ("is_rank", _true),
    "PROFILE_RANK_LIST": ("rank_list", _ranks),
    "PROFILE_PROFILER_LEVEL": ("profiler_level", str),
    "PROFILE_AIC_METRICS": ("aic_metrics", str),
    "PROFILE_L2_CACHE": ("l2_cache", _true),
    "PROFILE_OP_ATTR": ("op_attr", _true),
    "PROFILE_GC_DETECT_THRESHOLD": ("gc_detect_threshold", _threshold),
    "PROFILE_DATA_SIMPLIFICATION": ("data_simplification", _not_false),
    "PROFILE_EXPORT_TYPE": ("export_type", _types),
    "PROFILE_MSPROF_TX": ("msprof_tx", _true),
    "PROFILE_MSTX": ("mstx", _true),
    "PROFILE_HOST_SYS": ("host_sys", _texts),
    "PROFILE_MSTX_DOMAIN_INCLUDE": ("mstx_domain_include", _texts),
    "PROFILE_MSTX_DOMAIN_EXCLUDE": ("mstx_domain_exclude", _texts),
    "PROFILE_SYS_IO": ("sys_io", _true),
    "PROFILE_SYS_INTERCONNECTION": ("sys_interconnection", _true),
}
