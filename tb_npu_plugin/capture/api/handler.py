"""tensorboard_trace_handler (docs/facts/torch_npu_api.md, tensorboard_trace_handler)."""

from __future__ import annotations

from typing import Any, Callable

from tb_npu_plugin.capture.api.messages import never_raises, warn
from tb_npu_plugin.capture.api.paths import PLACE


def _ignore(prof: Any) -> None:
    """The handler when msprof drives the profiling."""


@never_raises(lambda: _ignore)
def tensorboard_trace_handler(
    dir_name: str | None = None,
    worker_name: str | None = None,
    analyse_flag: bool = True,
    async_mode: bool = False,
    *,
    use_gzip: bool = False,
) -> Callable[[Any], None]:
    """What profile(on_trace_ready=...) takes to parse each capture.

    The call itself sets where the captures of this process go. async_mode: the training does not wait for the parsing.
    use_gzip: the vendor's guide names it and no torch_npu supports it; ignored with a warning.
    """
    if use_gzip:
        warn("use_gzip is not supported, the results are not compressed.")
    PLACE.configure(dir_name, worker_name)
    if not isinstance(analyse_flag, bool):
        warn("analyse_flag is not bool, set by default.")
        analyse_flag = True
    if not isinstance(async_mode, bool):
        warn("async_mode is not bool, set by default.")
        async_mode = False

    def handler(prof: Any) -> None:
        if analyse_flag:
            prof.prof_if.analyse(async_mode=async_mode)

    return handler
