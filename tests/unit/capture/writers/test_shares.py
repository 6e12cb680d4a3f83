"""Two processes write one result: neither touches a file of the other's share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tb_npu_plugin.capture.models.run import Recipe, write_only_rank
from tb_npu_plugin.capture.writers.dialect import Options
from tb_npu_plugin.capture.writers.framework import Share
from tb_npu_plugin.capture.writers.frameworks import FRAMEWORKS

RECIPES = {
    "torch": Recipe("tiny", steps=1, options=Options(level=2, l2_cache=True, export=("text", "db"))),
    "mindspore": Recipe("tiny", steps=1, framework="mindspore"),
}


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def write(recipe: Recipe, out: Path, share: Share, wait: Callable[[], object] = lambda: None) -> None:
    write_only_rank(recipe, recipe.cluster(), 0, out, share=share, wait=wait)


@pytest.mark.parametrize("trace_is", ["early", "late"])
@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_shares_have_no_file_in_common(recipe: Recipe, trace_is: str, tmp_path: Path) -> None:
    # The process of the trace once opened kernel_details.csv too: rows that were there already were gone.
    whole, shared = tmp_path / "whole", tmp_path / "shared"
    write(recipe, whole, "all")
    if trace_is == "early":
        write(recipe, shared, "trace")
        write(recipe, shared, "rest")
    else:
        write(recipe, shared, "rest", lambda: write(recipe, shared, "trace"))
    assert contents(shared) == contents(whole)
    assert {"trace_view.json", "kernel_details.csv"} <= set(contents(shared))


@pytest.mark.parametrize(
    ("recipe", "export", "files"),
    [
        ("torch", "text", {"trace_view.json"}),
        ("torch", "db", {"ascend_pytorch_profiler_0.db.host.part", "analysis.db"}),
        ("mindspore", "text", {"trace_view.json"}),
        ("mindspore", "db", set()),
    ],
)
def test_what_the_second_process_writes(recipe: str, export: str, files: set[str], tmp_path: Path) -> None:
    of_form = replace(RECIPES[recipe], options=replace(RECIPES[recipe].options, export=(export,)))
    write(of_form, tmp_path, "trace")
    assert set(contents(tmp_path)) == files
    assert FRAMEWORKS[recipe].shared(of_form.options) == bool(files)
