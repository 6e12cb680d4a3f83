"""Results as a user opens them."""

from __future__ import annotations

from pathlib import Path

from tb_npu_plugin.views.availability import facts_of_span, is_available
from tb_npu_plugin.views.base import ViewInput
from tb_npu_plugin.views.registry import VIEWS
from tests.support.span import found_spans


def open_all(logdir: Path) -> None:
    """Every result below is read without a problem, and every view that it has data for is built."""
    for span in found_spans(logdir):
        problems = [one for one in span.problems if one.code != "not_shown"]  # each database holds what no view shows
        assert not problems, problems
        facts = facts_of_span(span)
        for view in VIEWS:
            if view.id != "trace" and is_available(view, facts):  # what the trace shows is made by the store
                spans = [span, span] if view.scope == "diff" else [span]
                view.build(ViewInput(spans, {param.name: param.default for param in view.params}))
