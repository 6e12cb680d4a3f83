"""Cancel and resume: what ends, what stays, and what begins again only when somebody wants it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.discovery.model import Place
from tb_npu_plugin.schema.core import Stage
from tb_npu_plugin.store.cache.disk import Cache, Entry
from tb_npu_plugin.store.library import Library, StageStatus
from tb_npu_plugin.store.stages import STAGES
from tests.unit.discovery.test_watch import until
from tests.unit.store.results import KERNELS, NAME, settle, write_result
from tests.unit.store.slow_worker import Holding
from tests.unit.store.test_library import only


@pytest.fixture
def holding(tmp_path: Path) -> Holding:
    return Holding(tmp_path / "holding", "kernel_details.csv", "trace_view.json")


def states(library: Library, place: Place) -> list[str]:
    return [library.status(place, stage).state for stage in STAGES]


def building(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "cache" / "building").iterdir())


def test_a_cancelled_stage_ends_its_worker_and_leaves_nothing(
    tmp_path: Path, library: Library, holding: Holding
) -> None:
    write_result(tmp_path / "logs" / NAME)
    place = only(library)
    library.request(place, STAGES)
    assert until(lambda: "kernel_details" in holding.at())
    assert len(building(tmp_path)) == 1
    before = library.generation
    library.cancel([place], STAGES)
    assert states(library, place) == ["cancelled", "cancelled"]
    assert library.generation > before
    assert [(job.stage, job.state) for job in library.jobs()] == [("tables", "cancelled"), ("trace", "cancelled")]
    assert until(lambda: building(tmp_path) == [] and holding.made[0]._child.poll() is not None)
    assert len(holding.made) == 1, "it was no accident: nothing is tried again"


def test_what_is_cancelled_begins_again_when_it_is_resumed_and_not_before(
    tmp_path: Path, library: Library, holding: Holding
) -> None:
    folder = write_result(tmp_path / "logs" / NAME)
    place = only(library)
    library.request(place, STAGES)
    assert until(lambda: "kernel_details" in holding.at())
    library.cancel([place], STAGES)
    assert [status.state for status in library.request(place, STAGES)] == ["cancelled", "cancelled"]
    assert library.pool.jobs() == []
    (folder / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv").write_bytes(
        (KERNELS + KERNELS.splitlines()[2].replace("700.001", "900.001") + "\r\n").encode()
    )
    settle(folder)
    place = only(library)
    library.request(place, STAGES)
    assert states(library, place) == ["cancelled", "cancelled"], "whatever becomes of the files"
    holding.hold()
    library.resume([place], ["tables"])
    library.read([place], STAGES)
    assert states(library, place) == ["ready", "cancelled"]
    assert library.open(place).rows("kernels") == 3
    library.resume([place], ["trace"])
    library.read([place], STAGES)
    assert states(library, place) == ["ready", "ready"]
    assert until(lambda: library.jobs() == [])  # the pool puts a job away after what it read can be seen


def test_finished_stages_stay(tmp_path: Path, library: Library, holding: Holding) -> None:
    write_result(tmp_path / "logs" / NAME)
    place = only(library)
    holding.hold("trace_view.json")
    library.request(place, STAGES)
    assert until(lambda: "trace_view" in holding.at())
    library.cancel([place], STAGES)
    assert states(library, place) == ["ready", "cancelled"]
    again = Library(library.watcher, Cache(tmp_path / "cache"), workers=1)
    assert states(again, place) == ["ready", "new"], "another server goes on with what is not done"
    again.close()


def test_a_cancel_between_two_looks_counts(
    tmp_path: Path, library: Library, holding: Holding, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A page that asked at the moment of the cancel had it begun anew, behind the user's back.
    write_result(tmp_path / "logs" / NAME, trace=None)
    place = only(library)
    library.request(place, ["tables"])
    assert until(lambda: "kernel_details" in holding.at())
    status = library.status
    looks: list[str] = []

    def look(place: Place, stage: Stage) -> StageStatus:
        found = status(place, stage)
        looks.append(stage)
        if len(looks) > 1:
            return found
        library.cancel([place], ["tables"])
        return dataclasses.replace(found, state="waiting")  # as it was

    monkeypatch.setattr(library, "status", look)
    assert [one.state for one in library.request(place, ["tables"])] == ["cancelled"]
    assert [job.state for job in library.jobs()] == ["cancelled"]


def test_what_ends_between_two_looks_is_not_new(
    tmp_path: Path, library: Library, holding: Holding, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Its entry was looked for first: then the job was gone as well, and all was read again.
    write_result(tmp_path / "logs" / NAME, trace=None)
    place = only(library)
    library.request(place, ["tables"])
    assert until(lambda: "kernel_details" in holding.at())
    find = library._entry

    def end_after(*args: Any) -> Entry | None:
        found = find(*args)
        monkeypatch.undo()
        holding.hold()
        assert until(lambda: library.pool.jobs() == [])
        return found

    monkeypatch.setattr(library, "_entry", end_after)
    assert [library.status(place, "tables").state for _ in range(2)] == ["reading", "ready"]
