"""The diagnosis of a run is the same however and in which order its files were read."""

from __future__ import annotations

import json
import random
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.cli.show import wait_for_view
from tb_npu_plugin.discovery.watch import scan_once
from tb_npu_plugin.installation import SCANNER_VARIABLE
from tb_npu_plugin.json_encoding import encode_json
from tb_npu_plugin.service.answers import Service
from tb_npu_plugin.store.cache.disk import Cache
from tb_npu_plugin.store.library import Library, StageStatus
from tb_npu_plugin.store.stages import STAGES
from tb_npu_plugin.views.base import ProgressJson, ViewJson
from tb_npu_plugin.views.ledger_layout import without_layout
from tb_npu_plugin.views.registry import VIEWS
from tests.conftest import FIXTURES
from tests.support.cli import run
from tests.support.real_data import REAL_DATA, skip_without
from tests.support.scanners import needs_native
from tests.unit.store.results import settle

SMALL = FIXTURES / "results" / "two_ranks"
DEMO = FIXTURES / "demo" / "transformer_slow_rank"
full = pytest.mark.full
sources = pytest.mark.parametrize("logs", [SMALL, pytest.param(DEMO, marks=full)], ids=["small", "demo"])


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], str]:
    """What the command prints after it read the files with one worker and the default scanner, by logdir."""
    known: dict[Path, str] = {}

    def of(logs: Path) -> str:
        if logs not in known:
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("TB_NPU_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
                patch.setenv("TB_NPU_WORKERS", "1")
                known[logs] = printed(logs)
        return known[logs]

    return of


def printed(logs: Path) -> str:
    done = run("diagnose", logs, "--json")
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(done.stdout)["runs"]
    return json.dumps(found)


@contextmanager
def service(logs: Path, cache: Path, for_page: bool = False) -> Iterator[tuple[Service, str]]:
    """A service with two worker processes, and the id of its run."""
    watcher = scan_once({"": logs})
    library = Library(watcher, Cache(cache), workers=2)
    yield Service(library, for_page), watcher.current().runs[0].token
    library.close()


def answers(views: Sequence[str], logs: Path, cache: Path, *with_traces: bool) -> list[bytes]:
    """What commands print as JSON about the first run or its first two workers, all views with the traces or without them."""
    watcher = scan_once({"": logs})
    library = Library(watcher, Cache(cache), workers=1)
    try:
        run = watcher.current().runs[0]
        first, last = (run.workers[at].spans[0].token for at in (0, min(1, len(run.workers) - 1)))
        given = {"run": run.token, "span": first, "baseline": first, "experimental": last}
        services = [Service(library, False, one) for one in with_traces]
        return [encode_json(wait_for_view(service, view, given)) for service in services for view in views]
    finally:
        library.close()


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Path]:
    """A cache with all that can be read of a logdir."""
    known: dict[Path, Path] = {}

    def of(logs: Path) -> Path:
        if logs not in known:
            known[logs] = tmp_path_factory.mktemp("warm")
            library = Library(scan_once({"": logs}), Cache(known[logs]), workers=2)
            library.read(library.scan().places(), STAGES)
            library.close()
        return known[logs]

    return of


SHOW_TRACES = ("overview", "distributed", "diff", "diagnosis")


def test_an_answer_does_not_depend_on_what_was_read_before(tmp_path: Path) -> None:
    """The command for the first view read no trace, that for the last one did."""
    count = len(SHOW_TRACES)
    found = answers(SHOW_TRACES, SMALL, tmp_path, False, True, False, True)
    assert found[: 2 * count] == found[2 * count :]
    for tables_alone, whole in zip(found[:count], found[count:]):
        states = [json.loads(one)["preliminary"] for one in (tables_alone, whole)]
        assert (states, tables_alone != whole) == ([True, False], True)


@full
@pytest.mark.parametrize("view", SHOW_TRACES)
@pytest.mark.parametrize(
    ("logs", "has_tables"),
    [
        (SMALL, True),
        (REAL_DATA / "ascend_pt_text_level1", True),
        (REAL_DATA / "gpu_kineto" / "df_index_resolver", False),
        (REAL_DATA / "gpu_kineto" / "nccl_data", False),
    ],
    ids=["small", "level1", "gpu", "nccl"],
)
def test_a_cold_answer_is_the_warm_one(view: str, logs: Path, has_tables: bool, warm: Any, tmp_path: Path) -> None:
    skip_without(logs)
    cold = [answers([view], logs, tmp_path / str(with_traces), with_traces) for with_traces in (True, False)]
    assert [answers([view], logs, warm(logs), with_traces) for with_traces in (True, False)] == cold
    assert (cold[0] != cold[1]) == has_tables, "a trace without tables is always read"


def diagnosis(asked: Service, run: str) -> Any:
    """The complete diagnosis, as JSON of the command."""
    pause = threading.Event()
    found, _ = asked.wait("diagnosis", {"run": run}, lambda progress: pause.wait(0.01) and None)
    return json.loads(json.dumps(without_layout(found["data"])))


@sources
@pytest.mark.parametrize(
    ("workers", "scanner"),
    [
        ("4", "python"),
        pytest.param("4", "c", marks=[full, needs_native]),
        pytest.param("1", "python", marks=full),
    ],
)
def test_workers_and_scanners_change_nothing(
    logs: Path, workers: str, scanner: str, expected: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = expected(logs)
    monkeypatch.setenv("TB_NPU_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("TB_NPU_WORKERS", workers)
    monkeypatch.setenv(SCANNER_VARIABLE, scanner)
    assert printed(logs) == wanted


@sources
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=full) for seed in range(2, 6))])
def test_views_that_were_opened_meanwhile_change_nothing(logs: Path, seed: int, expected: Any, tmp_path: Path) -> None:
    wanted, chance, pause = expected(logs), random.Random(seed), threading.Event()
    with service(logs, tmp_path, for_page=True) as (asked, run):
        spans = [place.span.token for place in asked.library.run_places(run)]
        views = [view for view in VIEWS for _ in range(3)]
        chance.shuffle(views)
        for view in views:
            one, other = chance.choice(spans), chance.choice(spans)
            asked.view(view.id, {"run": run, "span": one, "baseline": one, "experimental": other})
            pause.wait(chance.choice((0.0, 0.05)))
        assert diagnosis(asked, run) == json.loads(wanted)
        assert diagnosis(asked, run) == json.loads(wanted), "the kept view"


def test_waiting_resolves_the_run_again_only_when_its_jobs_have_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Resolving 64 ranks takes longer than the pause between two looks, and the time of the workers."""
    resolved, states, pause = 0, [], threading.Event()

    def counted(self: Service, *args: Any) -> Any:
        nonlocal resolved
        resolved += 1
        return resolve(self, *args)

    resolve = Service.resolve
    monkeypatch.setattr(Service, "resolve", counted)
    with service(SMALL, tmp_path) as (asked, run):

        def look(progress: Sequence[ProgressJson]) -> None:
            states.append({item["state"] for item in progress})
            pause.wait(0.01)

        assert asked.wait("diagnosis", {"run": run}, look)[0]["state"] == "ready"
    assert resolved <= 3 and len(states) > 5
    assert {"waiting", "reading"} <= set.union(*states), "the progress is live"


@pytest.mark.parametrize("logs", [pytest.param(SMALL, marks=full), pytest.param(DEMO, marks=full)])
@pytest.mark.parametrize("seed", range(3))
def test_a_cancelled_and_resumed_reading_changes_nothing(logs: Path, seed: int, expected: Any, tmp_path: Path) -> None:
    wanted, chance, pause = expected(logs), random.Random(seed), threading.Event()
    with service(logs, tmp_path) as (asked, run):
        for _ in range(3):
            asked.view("diagnosis", {"run": run})
            pause.wait(chance.uniform(0, 1))
            asked.control_reading([], run, "all", "cancel")
            assert asked.view("diagnosis", {"run": run})["state"] in ("reading", "ready")
            asked.control_reading([], run, "all", "resume")
        assert diagnosis(asked, run) == json.loads(wanted)


def test_a_trace_that_is_read_while_the_diagnosis_is_made_is_part_of_the_next_one(
    expected: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The diagnosis without the trace was kept under the version of the diagnosis with it."""
    built: list[object] = []
    build = Service.result
    with service(SMALL, tmp_path) as (asked, run), monkeypatch.context() as patch:
        patch.setattr(Service, "result", lambda self, request: built.append(request) or build(self, request))
        wanted = diagnosis(asked, run)
    assert len(built) == 1, "the command builds it once, not whenever a rank is read"
    assert wanted == json.loads(expected(SMALL))
    request = Library.request

    def before_its_end(self: Library, *args: Any, **settings: Any) -> list[StageStatus]:
        found = request(self, *args, **settings)
        return [replace(one, state="reading", entry=None) if one.stage == "trace" else one for one in found]

    with service(SMALL, tmp_path) as (asked, run):
        with monkeypatch.context() as patch:
            patch.setattr(Library, "request", before_its_end)
            first: ViewJson = asked.view("diagnosis", {"run": run})
        assert first["data"] is not None and first["data"]["unchecked"] != wanted["unchecked"]
        assert {rank["state"] for rank in first["data"]["ranks"]} == {"reading"}
        assert diagnosis(asked, run) == wanted


def copied(folder: Path) -> Path:
    """Ranks 0, 4 and 5 of the demo; returns the output folder of rank 0."""
    for rank in (0, 4, 5):
        (info,) = DEMO.rglob(f"profiler_info_{rank}.json")
        shutil.copytree(info.parent, folder / "run" / info.parent.name)
    (info,) = folder.rglob("profiler_info_0.json")
    return info.parent / "ASCEND_PROFILER_OUTPUT"


def facts(found: Any) -> list[tuple[Any, ...]]:
    return [(one["rule"], one["subject"].get("rank"), one["ms_per_step"]) for one in found["findings"]]


@pytest.mark.parametrize("broken", ["kernel_details.csv", pytest.param("trace_view.json", marks=full)])
def test_a_rank_with_a_broken_file_leaves_the_findings_of_the_rest(
    broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TB_NPU_CACHE_DIR", str(tmp_path / "cache"))
    output = copied(tmp_path / "logs")
    (output / broken).write_bytes(b"\0\xffnothing\n1,2\n")
    settle(tmp_path / "logs")
    found = json.loads(printed(tmp_path / "logs"))
    assert facts(found)[0][:2] == ("straggler", 5) and facts(found)[0][2] == pytest.approx(18.8, abs=0.1)
    assert [(one["rank"], one["state"]) for one in found["ranks"]] == [(0, "ready")]
    assert broken in found["ranks"][0]["reason"]
    assert "Partly included: rank 0" in run("diagnose", tmp_path / "logs").stdout


@pytest.mark.full
def test_a_cancelled_trace_leaves_the_findings_of_the_rest(expected: Any, tmp_path: Path) -> None:
    wanted = json.loads(expected(DEMO))
    with service(DEMO, tmp_path) as (asked, run):
        place = next(place for place in asked.library.run_places(run) if place.worker.rank == 0)
        asked.view("diagnosis", {"run": run})
        asked.library.cancel([place], ["trace"])
        found = diagnosis(asked, run)
    assert facts(found)[0] == facts(wanted)[0]
    assert [(one["rank"], one["state"], one["reason"]) for one in found["ranks"]] == [
        (0, "missing", "Reading it was cancelled.")
    ]
