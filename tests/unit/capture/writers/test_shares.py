"""Two processes write one result: neither touches a file of the other's share."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tb_npu_plugin.capture.models.run import Recipe, write_only_rank
from tb_npu_plugin.capture.writers.dialect import Options
from tb_npu_plugin.capture.writers.framework import Share

RECIPES = {
    "torch": Recipe("tiny", steps=1, options=Options(level=2, l2_cache=True, export=("text", "db"))),
    "mindspore": Recipe("tiny", steps=1, framework="mindspore"),
}


def write(recipe: Recipe, out: Path, share: Share) -> dict[str, bytes]:
    """Write this share below `out`; gives the files that are new or not what they were: name -> content."""
    out.mkdir(exist_ok=True)
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()}
    write_only_rank(recipe, recipe.cluster(), 0, out, share=share)
    return {
        path.name: path.read_bytes()
        for path in out.rglob("*")
        if path.is_file() and before.get(path) != path.stat().st_mtime_ns
    }


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_shares_have_no_file_in_common(recipe: Recipe, tmp_path: Path) -> None:
    # The process of the trace once opened kernel_details.csv too: rows that were there already were gone.
    whole = write(recipe, tmp_path / "whole", "all")
    rest = write(recipe, tmp_path / "shared", "rest")
    trace = write(recipe, tmp_path / "shared", "trace")
    assert set(trace) == {"trace_view.json"} and "kernel_details.csv" in rest
    assert {**rest, **trace} == whole


def test_the_trace_alone_makes_no_file_without_text(tmp_path: Path) -> None:
    recipe = RECIPES["torch"]
    assert write(replace(recipe, options=replace(recipe.options, export=("db",))), tmp_path, "trace") == {}
