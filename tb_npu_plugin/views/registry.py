"""All views, in sidebar order."""

from __future__ import annotations

from collections.abc import Mapping

from tb_npu_plugin.errors import NotFound, check_choice
from tb_npu_plugin.messages import Message
from tb_npu_plugin.views import (
    data_pipeline,
    diagnosis,
    diff,
    diff_ledger,
    distributed,
    doctor,
    explain,
    idle,
    kernel,
    kernel_ranks,
    memory,
    operator,
    overview,
    step_trace,
    trace,
    trace_ranks,
)
from tb_npu_plugin.views.base import View

VIEWS: tuple[View, ...] = (
    overview.VIEW,
    trace.VIEW,
    step_trace.VIEW,
    kernel.VIEW,
    operator.VIEW,
    memory.VIEW,
    distributed.VIEW,
    diff.VIEW,
    data_pipeline.VIEW,
    idle.VIEW,
    doctor.VIEW,
    diagnosis.VIEW,
    diff_ledger.VIEW,
    trace_ranks.VIEW,
    explain.VIEW,
    kernel_ranks.VIEW,
)


def find_view(view_id: str) -> View:
    """View by id. Raises NotFound."""
    for view in VIEWS:
        if view.id == view_id:
            return view
    raise NotFound(
        Message("error.view", view=repr(view_id[:80])),
        Message("hint.views", views=", ".join(view.id for view in VIEWS)),
    )


def view_params(view: View, given: Mapping[str, str]) -> dict[str, str]:
    """The known parameters of a view, with defaults; others are ignored. Raises BadRequest for a value outside a
    parameter's choices."""
    out = {}
    for param in view.params:
        value = given.get(param.name, param.default)
        if param.choices:
            check_choice(param.name, value, param.choices)
        out[param.name] = value
    return out
