"""`tb-npu show VIEW PATH --json`, through discovery, workers and cache: the views of what the readers return."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tb_npu_plugin.json_encoding import encode_json
from tb_npu_plugin.views.base import ViewInput
from tb_npu_plugin.views.registry import find_view
from tb_npu_plugin.views.tables_json import inline_tables
from tests.oracle.raw import FULL, REAL_RUN, raw
from tests.support.cli import shown
from tests.support.fixtures import FIXTURES
from tests.support.span import found_spans

RUNS = {name: FIXTURES / "results" / name for name in ("two_ranks", "new_spellings", "old_spellings")}
RUNS["real"] = REAL_RUN
VIEWS = ("overview", "kernel", "operator", "memory", "distributed", "diff")


@pytest.mark.parametrize("name", ["two_ranks", *(pytest.param(name, marks=FULL) for name in [*RUNS][1:])])
def test_views_of_what_the_readers_return(name: str) -> None:
    raw(RUNS[name])  # skips where the real data are absent
    spans = found_spans(RUNS[name])
    for view in map(find_view, VIEWS):
        for rank in (0, 1) if view.scope == "span" else (0,):
            given = {"span": spans[rank : rank + 1], "run": spans, "diff": [spans[0], spans[-1]]}[view.scope]
            result = view.build(ViewInput(given, {}, [spans] * len(given) if view.with_ranks else ()))
            worker = ("--worker", str(rank)) if view.scope == "span" else ()
            printed = shown(view.id, RUNS[name], "--no-trace", *worker)
            assert int(printed["base_ns"]) == result.base_ns
            assert _figures(printed["data"]) == _figures(json.loads(encode_json(result.data))), view.id
            assert printed["tables"] == json.loads(encode_json(inline_tables(view.id, result))), view.id


def _figures(data: dict[str, Any]) -> dict[str, Any]:
    """Data of a view without the labels of the sides, which the cache makes."""
    return {key: value for key, value in data.items() if key not in ("captures", "baseline", "experimental")}


def test_diff_takes_two_paths() -> None:
    first, second = sorted(RUNS["two_ranks"].glob("*_ascend_pt"))
    assert shown("diff", first, second)["tables"] == shown("diff", RUNS["two_ranks"])["tables"]


def test_two_cycles_of_one_rank_are_two_spans() -> None:
    run = FIXTURES / "results" / "several_cycles"
    steps = [shown("overview", run, "--span", str(number))["data"]["steps"][0]["step"] for number in (1, 2)]
    assert sorted(steps) == ["5", "8"]
