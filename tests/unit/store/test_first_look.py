"""While large files are read, the Overview shows what the small ones told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tb_npu_plugin.discovery.watch import Watcher
from tb_npu_plugin.server.service import Service
from tb_npu_plugin.store.cache import Cache
from tb_npu_plugin.store.library import Library
from tests.unit.discovery.test_watch import until
from tests.unit.store.results import NAME, write_result
from tests.unit.store.slow_worker import Holding


@pytest.fixture
def holding(tmp_path: Path) -> Holding:
    return Holding(tmp_path / "holding", "kernel_details.csv", rest=1)


@pytest.fixture
def service(tmp_path: Path, holding: Holding) -> Iterator[Service]:
    write_result(tmp_path / "logs" / NAME)
    library = Library(Watcher({"": tmp_path / "logs"}, background=False), Cache(tmp_path / "cache"), 1, process=holding)
    library.watcher.update()
    yield Service(library)
    library.close()


def test_the_overview_has_the_step_times_before_the_kernels_are_read(
    tmp_path: Path, service: Service, holding: Holding
) -> None:
    (place,) = service.library.scan().places()
    query = {"span": place.span.token}
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


def test_a_cancelled_reading_keeps_its_first_look(service: Service, holding: Holding) -> None:
    (place,) = service.library.scan().places()
    query = {"span": place.span.token}
    assert until(lambda: service.view("overview", query)["data"] is not None)
    service.reading([place.span.token], "", "tables", "cancel")
    found = service.view("overview", query)
    assert found["state"] == "reading" and found["data"] is not None and found["data"]["steps"]
    holding.hold()
    service.reading([place.span.token], "", "tables", "resume")
    assert until(lambda: service.view("overview", query)["state"] == "ready")
