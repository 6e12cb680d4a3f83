"""Known truth where some ranks were recorded only: who of the others comes last."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.capture.models.catalog import Sizes
from tb_npu_plugin.capture.models.run import Recipe, write_run
from tb_npu_plugin.capture.writers.dialect import Options
from tb_npu_plugin.discovery.watch import Watcher
from tb_npu_plugin.service.answers import Service
from tb_npu_plugin.store.cache.disk import Cache
from tb_npu_plugin.store.library import Library
from tests.support.span import REAL_DATA
from tests.unit.store.results import settle


def shown(logs: Path, cache: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The view before and after the traces are read."""
    library = Library(Watcher({"": logs}, background=False), Cache(cache), workers=1)
    try:
        library.watcher.update()
        places = library.scan().places()
        service, asked = Service(library, read_ahead=False), {"run": places[0].run.token}
        library.read(places, ["tables"])
        before = service.view("distributed", asked)
        library.read(places, ["trace"])
        after = service.view("distributed", asked)
    finally:
        library.close()
    assert before["fingerprint"] != after["fingerprint"] and before["data"] and after["data"]
    return dict(before["data"]), dict(after["data"])


def simulated(tmp_path: Path, form: str, *faults: str) -> list[dict[str, Any]]:
    options = Options(memory=False, stack=False, export=(form,), gc_threshold=0.0)
    recipe = Recipe("tiny", 4, steps=2, sizes=Sizes(layers=2), faults=faults, only=(0, 2), options=options)
    write_run(recipe, tmp_path / "logs", jobs=1)
    settle(tmp_path / "logs")
    before, after = shown(tmp_path / "logs", tmp_path / "cache")
    assert before["late_peers"] == [] and after["world_size"] == 4
    found: list[dict[str, Any]] = after["late_peers"]
    return found


@pytest.mark.parametrize("form", ["text", "db"])
def test_the_rank_that_pauses_is_told_by_those_that_wait_for_it(tmp_path: Path, form: str) -> None:
    found = simulated(tmp_path, form, "gc-pause:3:20")
    longest = [max(one["wait"] for one in found if one["rank"] == rank) for rank in (0, 2)]
    assert all(15_000_000 < wait < 25_000_000 for wait in longest)
    assert {one["peer_rank"] for one in found if one["wait"] > 5_000_000} == {3}
    assert {one["step"] for one in found if one["wait"] > 5_000_000} == {"11", "12"}


def test_a_rank_that_was_recorded_and_a_healthy_run_are_not_told(tmp_path: Path) -> None:
    assert not [one for one in simulated(tmp_path, "text", "gc-pause:2:20") if one["wait"] > 5_000_000]


def test_two_of_eight_real_ranks_name_the_late_one(tmp_path: Path) -> None:
    """docs/facts/analysis.md, Waiting for peers: at rank 0 peer 5 with 101.64 ms as text, peer 6 with 97.59 ms as
    database, in all."""
    for form, peer, total in (("text", 5, 101_640_000), ("db", 6, 97_590_000)):
        logs = REAL_DATA / f"ascend_pt_{form}_level1"
        if not logs.is_dir():
            pytest.skip(f"real data not found at {REAL_DATA} (set NPU_REAL_DATA)")
        _, after = shown(logs, tmp_path / form)
        assert {one["peer_rank"] for one in after["late_peers"]} == {peer}
        waits = [one["wait"] for one in after["late_peers"] if one["rank"] == 0]
        # Waits below 0.2 ms, and of less than a tenth of their operator, are left out.
        assert sum(waits) == pytest.approx(total, abs=50_000)
