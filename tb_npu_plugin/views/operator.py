"""Operator: host and device time by operator, by operator and input shapes, by call stack."""

from __future__ import annotations

from typing import Optional, TypedDict

from tb_npu_plugin.analysis.operators import statistics as analysis
from tb_npu_plugin.errors import BadRequest, NotFound
from tb_npu_plugin.messages import Message
from tb_npu_plugin.model import SpanData, timeline_of
from tb_npu_plugin.tables import Table
from tb_npu_plugin.views.base import Param, View, ViewInput, ViewResult, ViewTable
from tb_npu_plugin.views.recorded import recorded_tables
from tb_npu_plugin.views.time_range import STEP, WITHIN, chosen_range


class OperatorJson(TypedDict):
    """Host and device time by operator.

    Tables: "by_name", "by_shape" (name, [input_shapes,] calls, device_self_ns, device_total_ns, host_self_ns,
    host_total_ns, aicore_self_share, aicore_total_share, communication, communication_total_ns, stacks, incomplete); "api_statistic" where it was
    recorded. /api/table/operator.stacks (`name`, `input_shapes`; "null": calls without shapes) has call_stack (innermost
    frame first, one a line), calls and the four times. Parameters `within` and `step`: only the calls that overlap a time
    range or the mark of a step on the host, as wholes, from the trace; without "api_statistic".
    """

    calls: int
    """Number of operator calls."""
    source: str
    """File of the operators."""
    device_self_ns: Optional[int]
    """Device time without nested operators."""
    device_total_ns: Optional[int]
    """Device time with nested operators."""
    host_self_ns: Optional[int]
    """Host time without nested operators."""
    host_total_ns: Optional[int]
    """Host time with nested operators."""
    communication_self_ns: Optional[int]
    """Device self time of communication operators."""
    has_stacks: bool
    """Whether call stacks were recorded."""
    has_shapes: bool
    """Whether input shapes were recorded."""


#: Value of the parameter `input_shapes` for operators without shapes.
NO_SHAPES = "null"


def build(source: ViewInput) -> ViewResult:
    """See OperatorJson."""
    span = source.spans[0]
    range_ns = chosen_range(span, source.params, on_host=True)
    operators = _operators(source)
    if operators is None:  # only CANN calls were recorded
        return ViewResult(_empty_answer(span), recorded_tables("operator", span), span.base_ns)
    totals = analysis.totals(operators)
    data: OperatorJson = {
        "calls": len(operators),
        "source": timeline_of(span).source if range_ns else span.source("operators"),
        "device_self_ns": totals.times["device_self_ns"],
        "device_total_ns": totals.times["device_total_ns"],
        "host_self_ns": totals.times["host_self_ns"],
        "host_total_ns": totals.times["host_total_ns"],
        "communication_self_ns": totals.communication_self_ns,
        "has_stacks": bool((operators.text("call_stack").codes >= 0).any()),
        "has_shapes": bool((operators.text("input_shapes").codes >= 0).any()),
    }
    order = _order(operators)
    tables = {
        "by_name": ViewTable(analysis.by_name(operators), order),
        "by_shape": ViewTable(analysis.by_shape(operators), order),
        **({} if range_ns else recorded_tables("operator", span)),
    }
    return ViewResult(data, tables, span.base_ns)


def _operators(source: ViewInput) -> Optional[Table]:
    """The operators, or those of the range, which come from the trace: the files give them no times."""
    span = source.spans[0]
    range_ns = chosen_range(span, source.params, on_host=True)
    if range_ns is None:
        return span.table("operators")
    found = None if span.timeline is None else span.timeline.operators_between(*range_ns)
    if found is None:
        raise BadRequest(Message("error.within_no_operators"), Message("hint.within_none"))
    return found


def _order(operators: Table) -> str:
    """Default order: by device time, or by host time if nothing ran on a device."""
    return "device_self_ns" if (operators.ints("device_self_ns") > 0).any() else "host_self_ns"


def _empty_answer(span: SpanData) -> OperatorJson:
    return {
        "calls": 0,
        "source": span.source("operators"),
        "device_self_ns": None,
        "device_total_ns": None,
        "host_self_ns": None,
        "host_total_ns": None,
        "communication_self_ns": None,
        "has_stacks": False,
        "has_shapes": False,
    }


def stacks(source: ViewInput) -> ViewTable:
    """Table "stacks": the calls of one operator (parameters name, input_shapes) by call stack."""
    operators = _operators(source)
    if operators is None:  # only CANN calls were recorded
        raise NotFound(Message("error.no_operators"), Message("hint.operators"))
    chosen = operators.text("name").equals(source.params.get("name", ""))
    shapes = source.params.get("input_shapes", "")
    if shapes:
        column = operators.text("input_shapes")
        chosen = chosen & (column.codes < 0 if shapes == NO_SHAPES else column.equals(shapes))
    return ViewTable(analysis.by_stack(operators.take(chosen)), _order(operators))


VIEW = View(
    id="operator",
    scope="span",
    needs=(("operators", "api_statistic"),),
    from_trace=(("operators",),),
    build=build,
    contract=OperatorJson,
    params=(
        WITHIN,
        STEP,
        Param("name", doc='Table "stacks": the operator.'),
        Param("input_shapes", doc='Table "stacks": only these shapes; "null": calls without shapes; empty: all.'),
    ),
    trace_params=(WITHIN.name, STEP.name),
    extra_tables={"stacks": stacks},
    count="operators",
)
