"""While large files are read, the Overview shows what the small ones told."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.analysis.steps.partition import from_kernels, from_step_trace
from tb_npu_plugin.discovery.scan import scan
from tb_npu_plugin.service.answers import Service
from tb_npu_plugin.store import first_look
from tb_npu_plugin.store.first_look import open_first_look
from tb_npu_plugin.store.library import Library
from tb_npu_plugin.store.pool import worker
from tb_npu_plugin.store.stages import SHORT_FILE, Request, files_of
from tb_npu_plugin.store.tables.short import read_short
from tests.support.mock import run
from tests.unit.discovery.test_watch import until
from tests.unit.store.results import NAME, write_result
from tests.unit.store.slow_worker import Holding
from tests.unit.store.test_library import only


@pytest.fixture
def holding(tmp_path: Path) -> Holding:
    return Holding(tmp_path / "holding", "kernel_details.csv", rest=1)


def test_the_overview_has_the_step_times_before_the_kernels_are_read(
    tmp_path: Path, library: Library, holding: Holding
) -> None:
    write_result(tmp_path / "logs" / NAME)
    service, query = Service(library), {"span": only(library).span.token}
    assert until(lambda: service.view("overview", query)["data"] is not None)
    first = service.view("overview", query)
    assert first["state"] == "reading" and first["data"] is not None and first["tables"] == {}
    assert [step["computing"] for step in first["data"]["steps"]] == [13750]
    assert first["data"]["capture"]["recorded"] == ["with_stack"]
    assert service.view("kernel", query)["data"] is None, "it has nothing to show yet"
    holding.hold()
    assert until(lambda: service.view("overview", query)["state"] == "ready")
    final = service.view("overview", query)
    assert final["data"] is not None and "kernels" in final["tables"]
    assert final["data"]["steps"] == first["data"]["steps"] and final["fingerprint"] != first["fingerprint"]
    assert until(lambda: not any((tmp_path / "cache" / "building").iterdir())), "nobody needs the first look any more"


def test_a_database_shows_its_steps_before_the_metrics_of_its_kernels_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without analysis.db nothing else tells of them; metrics are most rows of a database."""
    monkeypatch.setattr(first_look, "MIN_BYTES_LEFT", 1)
    found = next(run("db_only")[0].glob("*_ascend_pt"))
    shutil.copytree(found, tmp_path / "logs" / found.name, ignore=shutil.ignore_patterns("analysis.db"))
    (place,) = scan({"": tmp_path / "logs"}).places()
    (tmp_path / "out").mkdir()
    files, said = files_of(place.span, "tables"), []

    def say(message: dict[str, Any]) -> None:
        if "preview" in message:
            entry = open_first_look(Path(message["preview"]))
            assert entry is not None
            said.append((read_short(entry.folder / SHORT_FILE, "step_trace"), entry.meta))

    request = Request("tables", place.span.folder, files, tmp_path / "out", place.span.format)
    meta = worker.run(request, say)
    ((steps, facts),) = said
    kernels = read_short(tmp_path / "out" / SHORT_FILE, "kernels")
    assert [step.step for step in from_step_trace(steps)] == ["11", "12"] == facts["steps"]
    assert from_step_trace(steps) == from_kernels(kernels)
    assert list(facts["tables"]["step_trace"]["files"]) == [files[-1].name] and "step_trace" not in meta["tables"]
