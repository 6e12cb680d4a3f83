"""Views of a whole run, and its ranks."""

from __future__ import annotations

import csv
import dataclasses
import shutil
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.discovery.model import Place
from tb_npu_plugin.server.timeline import rows as rows_module
from tb_npu_plugin.service import ranks
from tb_npu_plugin.store.library import Library, StageStatus
from tests.conftest import FIXTURES
from tests.http.conftest import Browser
from tests.support.ask import part
from tests.support.trace import decode
from tests.unit.discovery.test_watch import until
from tests.unit.store.results import settle


def test_problems_of_several_ranks_say_whose_file_it_is(fresh: Browser, logs: Path) -> None:
    kernels = next((logs / "run").glob("*4243*")) / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv"
    kernels.write_text(kernels.read_text() + "short,row\n")
    settle(logs)  # else it is read anew when it has settled, and is missing from the run for so long
    fresh.spans()
    run = fresh.json("/api/catalog")["runs"][0]
    for worker in run["workers"]:
        fresh.view("overview", span=worker["spans"][0]["id"])
    found = fresh.view("distributed", run=run["id"])["problems"]
    files = {problem["file"] for problem in found if problem["code"] == "short_row"}
    assert files == {"rank 1 · host1_4243: ASCEND_PROFILER_OUTPUT/kernel_details.csv"}


def states(browser: Browser, path: str, run: str) -> dict[str, str]:
    """State of each span of a run."""
    found = browser.json(path, run=run)
    return {
        item["span"]: item["state"] for item in (found if "ranks" in found else found["data"] or {"ranks": []})["ranks"]
    }


def test_ranks_of_a_small_run_are_read_without_urgency(fresh: Browser) -> None:
    spans = fresh.spans()
    run = fresh.json("/api/catalog")["runs"][0]["id"]
    fresh.json("/api/view/distributed", run=run)
    jobs = fresh.plugin.app().library.pool.jobs()
    assert {job.stage for job in jobs} <= {"tables"} and not any(job.urgent for job in jobs)
    assert until(lambda: states(fresh, "/api/view/distributed", run) == dict.fromkeys(spans, "ready"))


@pytest.mark.parametrize("limit", ["READ_RANKS", "READ_BYTES"])
def test_other_ranks_of_a_large_run_are_not_read(fresh: Browser, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    monkeypatch.setattr(ranks, limit, 1)
    first, other = fresh.spans()
    fresh.view("overview", span=first)
    assert fresh.json("/api/progress", span=other)["jobs"] == []


def test_a_rank_that_is_read_while_the_view_is_made_is_asked_for_again(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It was called missing, and nothing asked for the view any more.
    run, late = browser.json("/api/catalog")["runs"][0], browser.spans()[1]
    request = Library.request

    def a_moment_ago(self: Library, place: Place, *args: Iterable[Any], **settings: bool) -> list[StageStatus]:
        statuses = request(self, place, *args, **settings)
        return [
            dataclasses.replace(status, state="reading") if place.span.token == late else status for status in statuses
        ]

    monkeypatch.setattr(Library, "request", a_moment_ago)
    found = browser.json("/api/view/distributed", run=run["id"])["data"]["ranks"]
    assert {item["span"]: (item["state"], item["reason"]) for item in found}[late] == ("reading", "")


def test_ranks_with_points_instead_of_budgets_have_a_mean_step(fresh: Browser, logs: Path) -> None:
    """Mean of the file's figures, here without our readers: all steps but the first, not the file's own average; in
    units of 10 ns."""
    shutil.copytree(FIXTURES / "results" / "mindinsight_cluster", logs / "cluster")
    fresh.spans()
    run = next(run for run in fresh.json("/api/catalog")["runs"] if run["label"] == "cluster")
    for worker in run["workers"]:
        path = logs / "cluster" / "profiler" / f"step_trace_raw_{worker['rank']}_detail_time.csv"
        overview = fresh.view("overview", span=worker["spans"][0]["id"])["data"]
        with path.open(newline="") as file:
            steps = [row for row in csv.DictReader(file) if row["step_num"] != "-"][1:]
        for key, name in (("total_ns", "total"), ("gap_ns", "iteration_interval"), ("tail_ns", "tail")):
            mean = 10 * sum(int(row[name]) for row in steps) / len(steps)
            assert abs(overview["course"][key] - mean) <= 0.5
        assert overview["steps"] == []


def test_the_traces_of_a_large_run_are_read_when_the_user_has_them_read(
    fresh: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranks, "READ_BYTES", 1)
    spans = fresh.spans()
    run = fresh.json("/api/catalog")["runs"][0]["id"]
    left = {"missing Its trace is not read."}

    def unread() -> set[str]:
        data = fresh.view("diagnosis", run=run)["data"]
        return {f"{rank['state']} {rank['reason']}" for rank in data["ranks"]}

    assert until(lambda: unread() == left)
    found = fresh.json("/api/view/diagnosis", run=run)
    traces = [job for job in fresh.json("/api/progress", span=spans)["jobs"] if job["stage"] == "trace"]
    assert found["state"] == "ready" and traces == []
    fresh.json("/api/reading", method="POST", run=run, stage="trace", do="read")
    assert until(lambda: unread() == set())
    assert fresh.json("/api/view/diagnosis", run=run)["fingerprint"] != found["fingerprint"]


def test_strips_load_the_ranks_that_they_show_and_no_trace(fresh: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh.spans()
    monkeypatch.setattr(ranks, "READ_BYTES", 1)  # a large run: its traces stay unread
    (run,) = fresh.json("/api/catalog")["runs"]
    tokens = [worker["spans"][0]["id"] for worker in run["workers"]]
    asked: list[Any] = [{"span": tokens[1], "zero": str(10**18)}, 10**18 - 1]

    def strip() -> Any:
        response = fresh.timeline("strips", asked[0], t0=0, t1=asked[1], bins=1)
        assert response.status_code == 200, response.text
        header, columns = decode(response.data)
        return header["strips"][0]["state"] != "reading" and (header, columns)

    assert until(strip)
    base = fresh.view("kernel", span=tokens[1])["base_ns"]
    asked = [{"span": tokens[1], "zero": base}, 10**9]
    header, columns = strip()
    assert header["strips"][0]["state"] == "ready"
    assert dict(zip(header["parts"], columns[tokens[1]].tolist()))["computing"] > 0
    library = fresh.plugin.app().library
    assert library.status(library.place(tokens[0]), "trace").state == "new"
    assert fresh.timeline("strips", "nothing", t0=0, t1=9, bins=1).status_code == 404


def test_the_ranks_of_a_trace_have_clocks_steps_and_shared_collectives(slow_rank: Browser) -> None:
    (run,) = slow_rank.json("/api/catalog")["runs"]
    span = run["workers"][0]["spans"][0]["id"]
    assert until(lambda: len(slow_rank.view("trace_ranks", run=run["id"], span=span)["data"]["lines"]) == 8)
    view = slow_rank.view("trace_ranks", run=run["id"], span=span)
    data = view["data"]
    rank_of = {line["span"]: line["rank"] for line in data["lines"]}
    assert [rank_of[token] for token in data["stragglers"]] == [5]
    assert {line["clock"]["reference"] for line in data["lines"]} <= set(rank_of)
    assert [(one["title"], len(one["spans"])) for one in data["groups"]] == [("default_group", 8)]
    ratios = {line["rank"]: line["computing_ratio"] for line in data["lines"]}
    assert 1.4 < ratios.pop(5) < 1.6 and all(0.95 < ratio < 1.05 for ratio in ratios.values())
    assert [line["waits_for"] for line in data["lines"]] == ["5"] * 5 + [data["lines"][5]["waits_for"]] + ["5"] * 2
    assert set(data["representatives"]) >= {data["stragglers"][0], data["lines"][0]["span"]}
    for line in data["lines"]:
        steps = [step["times"] for step in line["steps"]]
        assert line["times"] == [sum(part) // len(steps) for part in zip(*steps)]
    starts = [[step["start"] for step in line["steps"]] for line in data["lines"]]
    assert all(one == sorted(one) and one for one in starts)
    for line in data["lines"]:
        edges = [step["start"] for step in line["steps"]] + [line["end"]]
        assert [sum(step["times"]) for step in line["steps"]] == [b - a for a, b in zip(edges, edges[1:])]
    computing = data["parts"].index("computing")
    five = [step["times"][computing] for step in data["lines"][5]["steps"]]
    assert all(late > 1.2 * step["times"][computing] for late, step in zip(five, data["lines"][0]["steps"]))
    file = (
        next((FIXTURES / "demo" / "transformer_slow_rank").glob("*31810*"))
        / "ASCEND_PROFILER_OUTPUT/kernel_details.csv"
    )
    with file.open() as kernels:
        times = [(Decimal(row["Start Time(us)"]), Decimal(row["Duration(us)"])) for row in csv.DictReader(kernels)]
    late, base = data["lines"][5], int(view["base_ns"])
    ends = int(min(start for start, _ in times) * 1000), int(max(start + dur for start, dur in times) * 1000)
    assert (base + late["start"], base + late["end"]) == ends
    keys = [(one["step"], one["group"], one["operator"], one["occurrence"]) for one in data["collectives"]]
    assert len(set(keys)) == len(keys) > 0
    clock = {line["span"]: line["clock"] for line in data["lines"]}
    for one in data["collectives"]:  # it ends on all ranks at the same moment of the aligned clocks
        ends = [end["end"] - clock[end["span"]]["offset"] for end in one["ends"]]
        error = sum(clock[end["span"]]["error"] for end in one["ends"])
        assert (
            len({clock[end["span"]]["reference"] for end in one["ends"]}) > 1 or max(ends) - min(ends) <= 10 * error + 1
        )


def test_what_the_ranks_did_in_a_range(slow_rank: Browser) -> None:
    """Figures of kernels recomputed from the file."""
    (run,) = slow_rank.json("/api/catalog")["runs"]
    tokens = [worker["spans"][0]["id"] for worker in run["workers"]]

    def are_traced() -> bool:  # each trace that is read makes waits exact
        lines = slow_rank.view("trace_ranks", run=run["id"])["data"]["lines"]
        return len(lines) == 8 and all(line["is_traced"] for line in lines)

    assert until(are_traced)
    view = slow_rank.view("trace_ranks", run=run["id"])
    base, (start, end) = int(view["base_ns"]), [step["start"] for step in view["data"]["lines"][0]["steps"]][:2]
    sources = [{"span": tokens[rank], "zero": str(base)} for rank in (0, 5)]
    found = slow_rank.timeline("ranks", sources, t0=start, t1=end).get_json()
    first, late = found["ranks"]
    assert first["waits_for"] == "5" and late["waits_for"] != "5"
    assert first["times"] == view["data"]["lines"][0]["steps"][0]["times"]
    assert sum(late["times"]) == end - max(start, view["data"]["lines"][5]["start"])
    for one, folder in ((first, "*31780*"), (late, "*31810*")):
        (file,) = (FIXTURES / "demo" / "transformer_slow_rank").glob(f"{folder}/*/kernel_details.csv")
        rows = []
        with file.open() as lines:
            for row in csv.DictReader(lines):
                begin, dur = (int(Decimal(row[name]) * 1000) for name in ("Start Time(us)", "Duration(us)"))
                if (
                    row["Accelerator Core"] not in ("HCCL", "COMMUNICATION")
                    and begin < base + end
                    and begin + dur > base + start
                ):
                    rows.append((dur, row["Name"]))
        rows.sort()
        assert (one["kernels"], one["longest"]) == (len(rows), rows[-1][1])
        assert [one["p50"], one["p95"]] == [rows[-(-len(rows) * share // 100) - 1][0] for share in (50, 95)]
    wrong = slow_rank.timeline("ranks", sources, t0=5, t1=1)
    assert wrong.status_code == 400


def test_what_stands_out_in_a_step_and_in_a_range(slow_rank: Browser) -> None:
    spans = slow_rank.spans()
    run = slow_rank.json("/api/catalog")["runs"][0]["id"]
    for span in spans:
        for view in ("trace", "overview"):
            slow_rank.view(view, span=span)
    found = slow_rank.view("explain", run=run, step="12")["data"]
    five = found["parts"][found["rank"]]
    assert (five["name"], found["kind"], found["against"], found["ns"]) == (
        "rank 5",
        "computing",
        "ranks",
        five["computing"],
    )
    assert "Rank 5 computes for" in found["text"] and "7 ranks wait for it" in found["text"]
    ledgers = slow_rank.view("diagnosis", run=run, step="12")["data"]["ledgers"]
    for rank, ledger in zip(found["parts"], ledgers):
        sums = dict.fromkeys(("computing", "waiting", "transfer", "idle"), 0)
        for entry in ledger["entries"]:
            sums[{"unexplained": "idle"}.get(entry["entry"], entry["entry"])] += entry["ns"]
        assert {kind: rank[kind] for kind in sums} == sums and sum(sums.values()) == ledger["window_ns"]
    first = found["kernels"][0]
    assert first["type"] == "MatMulV3" and 1.4 < first["ns"] / first["other_ns"] < 1.6
    trace = slow_rank.view("trace", span=spans[0])
    base, (step, *_) = int(trace["base_ns"]), trace["data"]["steps"]
    window = {"t0": step["start"], "t1": step["end"]}
    asked = slow_rank.timeline("explain", [{"span": span, "zero": str(base)} for span in spans], **window).get_json()
    assert asked["parts"][asked["rank"]]["name"] == "rank 5" and asked["kind"] == "computing"
    for rank in asked["parts"]:
        assert (
            0
            < sum(rank[kind] for kind in ("computing", "waiting", "transfer", "copies", "idle"))
            <= step["end"] - step["start"]
        )
    alone = slow_rank.timeline("explain", [{"span": spans[0], "zero": str(base)}], **window).get_json()
    assert alone["rank"] is None and alone["against"] == "capture" and "of the whole capture" in alone["text"]
    nothing = slow_rank.timeline("explain", [{"span": spans[0], "zero": "0"}], t0=0, t1=1).get_json()
    assert (nothing["kind"], nothing["text"]) == (None, "No device task has a time here.")
    assert slow_rank.ask("/api/view/explain", run=run, step="99").status_code == 400
    assert slow_rank.ask("/api/view/explain", run=run, within="١,٢").status_code == 400
    for last, status in ((2**62 - 1, 200), (2**62, 400)):  # 2**63 is no time
        source = {"span": spans[0], "zero": str(last)}
        assert slow_rank.timeline("explain", source, t0=0, t1=last).status_code == status
    mean = slow_rank.view("explain", run=run)["data"]
    assert mean["parts"][mean["rank"]]["name"] == "rank 5" and mean["kernels"] == []


def test_operators_and_memory_of_a_step_are_those_of_its_time(slow_rank: Browser) -> None:
    span = slow_rank.spans()[0]
    whole, first, second = (slow_rank.view("operator", span=span, step=step)["data"]["calls"] for step in ("", 11, 12))
    assert first + second <= whole and min(first, second) > 0.4 * whole
    trace = slow_rank.view("trace", span=span)
    mark = next(one for one in trace["data"]["steps"] if one["step"] == "12")
    base = int(trace["base_ns"])
    within = f"{base + mark['start']},{base + mark['end']}"
    assert slow_rank.view("operator", span=span, within=within)["data"]["calls"] == second
    found = slow_rank.view("memory", span=span, step="12")
    start, end = found["data"]["chosen_ns"]
    overview = slow_rank.view("overview", span=span)["data"]["steps"][1]
    assert overview["step"] == "12" and abs(end - start - overview["stage"]) < 1000  # the files round to µs
    rows = found["tables"]["allocations"]
    released = rows["data"]["release_ns"]
    assert all(one < end for one in rows["data"]["alloc_ns"])
    assert all(one is None or one >= start for one in released)
    assert 0 < rows["total"] < slow_rank.view("memory", span=span)["tables"]["allocations"]["total"]
    for view in ("operator", "memory"):
        assert slow_rank.ask(f"/api/view/{view}", span=span, step="99").status_code == 400


def test_rows_of_several_ranks_come_in_one_answer(slow_rank: Browser) -> None:
    """Each part is that of a question about it alone; a source that cannot be shown costs itself."""
    (run,) = slow_rank.json("/api/catalog")["runs"]
    tokens = [worker["spans"][0]["id"] for worker in run["workers"]][:3]
    views = [slow_rank.view("trace", span=token)["data"] for token in tokens]
    threads = [thread for process in views[0]["processes"] for thread in process["threads"]]
    curve = next(thread["track"] for thread in threads if thread["kind"] == "counter")
    window = {"t0": 1000, "t1": 90_000_000, "px": 50_000}
    sources: list[dict[str, Any]] = [
        {"span": token, "version": view["version"], "rows": [[0, 0, 4095], [1, 0, 4095], [2, 0, 0]]}
        for token, view in zip(tokens, views)
    ]
    sources[1]["version"], sources[0]["counters"] = "old", [curve]
    response = slow_rank.timeline("rows", sources, **window)
    assert response.status_code == 200, response.text
    header, columns = decode(response.data)
    assert header["parts"] == ["ready", "stale", "ready"] and [*columns] == ["0", f"0.{curve}", "2"]
    for number in (0, 2):
        alone = part(slow_rank.timeline("rows", sources[number], **window).data, "0")
        found = decode(columns[str(number)].tobytes())
        assert found[0] == alone[0] and all((found[1][key] == alone[1][key]).all() for key in alone[1])
    for wrong in ([{"span": "a", "rows": "b"}], [], [sources[0]] * 257):
        assert slow_rank.timeline("rows", wrong, **window).status_code == 400


def test_an_exact_answer_has_room_for_six_parts(slow_rank: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_module, "BUDGET", 4_000)
    span = slow_rank.spans()[0]
    slow_rank.view("trace", span=span)
    source = {"span": span, "rows": [[track, 0, 99] for track in range(3)]}

    def bars(count: int, exact: bool) -> int:
        answer = slow_rank.timeline("rows", [source] * count, t0=0, t1=10**12, px=1, exact=exact).data
        return len(part(answer, "0")[1]["start"])

    assert bars(1, True) == bars(6, True) > bars(24, True) and bars(1, False) > bars(6, False)


def test_a_search_reads_no_trace(fresh: Browser) -> None:
    span = fresh.spans()[0]
    found = fresh.timeline("search", [{"span": span}, {"span": "gone"}], q="a").get_json()
    assert [(part["state"], part["total"]) for part in found["parts"]] == [("unread", None), ("none", None)]
    library = fresh.plugin.app().library
    assert library.status(library.place(span), "trace").state == "new"


def test_a_search_covers_several_ranks(slow_rank: Browser) -> None:
    (run,) = slow_rank.json("/api/catalog")["runs"]
    tokens = [worker["spans"][0]["id"] for worker in run["workers"]][:2]
    views = [slow_rank.view("trace", span=token) for token in tokens]
    base = int(views[0]["base_ns"])
    parts = [{"span": token, "zero": str(base)} for token in tokens]
    parts[0]["version"] = views[0]["data"]["version"]
    asked = [*parts, {**parts[1], "version": "old"}]
    found = slow_rank.timeline("search", asked, q="matmul", limit=1000).get_json()
    assert [part["state"] for part in found["parts"]] == ["ready", "ready", "stale"]
    assert found["parts"][1]["version"] == views[1]["data"]["version"]
    starts = [hit[1] for hit in found["hits"]]
    assert starts == sorted(starts) and len(starts) == found["total"]
    per_rank = [sum(hit[6] == rank for hit in found["hits"]) for rank in (0, 1)]
    assert per_rank == [part["total"] for part in found["parts"][:2]] and min(per_rank) > 0
    page = slow_rank.timeline("hits", parts, q="matmul", page={"sort": "rank", "desc": True, "limit": 3}).get_json()
    assert page["total"] == found["total"] and page["data"]["part"] == [1, 1, 1]
    assert page["data"]["start"] == [hit[1] for hit in found["hits"] if hit[6] == 1][:3]
    lines = slow_rank.timeline("hits", parts, q="matmul", format="csv").text.splitlines()
    assert len(lines) == 1 + found["total"] and lines[0].startswith("run,worker,id,name,track,start_ns")
    for wrong, text in (([], "a"), ([{}], "a"), ([parts[0]] * 257, "a"), (parts, " ")):
        assert slow_rank.timeline("search", wrong, q=text).status_code == 400


def test_each_user_sees_the_runs_that_he_chose(fresh: Browser, logs: Path) -> None:
    shutil.move(next((logs / "run").glob("*4243*")), logs / "node2" / "host1_4243_20250109154804123_ascend_pt")
    settle(logs)
    fresh.spans()
    runs = fresh.json("/api/catalog")["runs"]
    assert [run["label"] for run in runs] == ["node2", "run"]
    join = {"join": ".".join(run["id"] for run in runs)}
    (joined,) = fresh.json("/api/catalog", **join)["runs"]
    assert (joined["label"], joined["texts"]["basis"]["code"]) == ("node2 + 1", "run.chosen")
    assert [folder["label"] for folder in joined["folders"]] == ["node2", "run"]
    for run in runs:  # also by the ids of its folders, and from a span of either
        found = fresh.view("distributed", run=run["id"], **join)
        assert [rank["rank"] for rank in found["data"]["ranks"]] == [0, 1]
    found = fresh.view("distributed", run=runs[0]["id"], **join)
    assert {rank["worker"] for rank in found["data"]["ranks"]} == {worker["label"] for worker in joined["workers"]}
    alone = fresh.view("distributed", run=runs[0]["id"])
    assert [rank["rank"] for rank in alone["data"]["ranks"]] == [1]
    assert len(fresh.json("/api/catalog", **join, split=runs[0]["id"])["runs"]) == 1, "join comes after split"
    for number in range(20):
        fresh.json("/api/catalog", split=f"r{number}")
    assert len(fresh.plugin.app()._chosen) == 8


def test_a_capture_of_diff_is_not_the_same_rank_beside_it(fresh: Browser) -> None:
    """A beside itself with the other rank of its run, and with that rank as third capture: the same data, another answer."""
    first, other = fresh.spans()
    for span in (first, other):
        fresh.view("overview", span=span)
    for view, key in (("diff", "captures"), ("diff_ledger", "names")):
        pair = fresh.view(view, baseline=first, experimental=first)["data"]
        three = fresh.view(view, baseline=first, captures=first, experimental=other)["data"]
        assert (len(pair[key]), len(three[key])) == (2, 3)
    many = ",".join([other] * 7)
    refused = fresh.ask("/api/view/diff", baseline=first, captures=many, experimental=first)
    assert refused.status_code == 400 and "at most 8" in refused.text
    assert fresh.ask("/api/view/diff", baseline=first, experimental=other, pair="AC").status_code == 400
