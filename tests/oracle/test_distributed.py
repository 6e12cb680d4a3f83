"""Distributed: budgets, the split of the communication time, bytes and links are those of the files."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.oracle.raw import REAL_RUN, Raw, every_result, ms, ns, raw, whole
from tests.oracle.shown import show, show_extra, span
from tests.support.fixtures import FIXTURES

FOLDERS = every_result("communication.json")
TOTAL = "Total Op Info"
ROLLUP = "SDMA"


def _ops(folder: Path) -> list[tuple[str | None, str, dict[str, Any]]]:
    """(step, operator name, entry) of every single operator."""
    out = []
    for step, kinds in raw(folder).json("communication.json").items():
        for entries in kinds.values():
            out += [
                (step.removeprefix("step") or None, key.split("@")[0], op)
                for key, op in entries.items()
                if key != TOTAL
            ]
    return out


@pytest.mark.parametrize("folder", FOLDERS)
def test_split_sums_to_the_elapsed_time(folder: Path) -> None:
    budgets = {budget["step"]: budget for budget in show("distributed", folder).data["budgets"]}
    for step in {step for step, _, _ in _ops(folder)}:
        times = [op["Communication Time Info"] for at, _, op in _ops(folder) if at == step]
        names = ("Elapse", "Transit", "Wait", "Synchronization")
        elapse, transit, wait, synchronization = (sum(ms(time[f"{name} Time(ms)"]) for time in times) for name in names)
        found = [budgets[step][key] for key in ("elapse", "transit", "synchronization", "wait", "idle")]
        wait -= synchronization
        assert found == [elapse, transit, synchronization, wait, elapse - transit - synchronization - wait]


@pytest.mark.parametrize("folder", FOLDERS)
def test_bytes_and_bandwidth_count_each_link_once(folder: Path) -> None:
    sums: dict[tuple[str | None, str], list[int]] = defaultdict(lambda: [0, 0])
    for step, _, op in _ops(folder):
        for transport, figures in op["Communication Bandwidth Info"].items():
            if transport != ROLLUP and figures["Transit Size(MB)"]:
                sums[step, transport][0] += whole(figures["Transit Size(MB)"], 1_000_000) or 0
                sums[step, transport][1] += ms(figures["Transit Time(ms)"])
    tables = show("distributed", folder).tables
    found = {(row["step"], row["transport"]): row for row in tables["transports"]}
    assert {key: row["size_bytes"] for key, row in found.items()} == {key: size for key, (size, _) in sums.items()}
    for key, (size, time) in sums.items():
        assert found[key]["bandwidth"] == pytest.approx(size / time, abs=1e-4)
    assert sum(row["size_bytes"] for row in tables["ops"]) == sum(size for size, _ in sums.values())
    assert sum(row["calls"] for row in tables["ops"]) == len(_ops(folder))


@pytest.mark.parametrize("folder", FOLDERS)
def test_operators_of_a_range(folder: Path) -> None:
    """Ranges from within the first operator of a third to within the last one of the next third."""
    ops = []
    for _, _, op in _ops(folder):
        time = op["Communication Time Info"]
        start, elapse = ns(str(time["Start Timestamp(us)"])), ms(time["Elapse Time(ms)"])
        sizes = [
            (transport, whole(figures["Transit Size(MB)"], 1_000_000) or 0)
            for transport, figures in op["Communication Bandwidth Info"].items()
            if transport != ROLLUP and figures["Transit Size(MB)"]
        ]
        ops.append((start, elapse, sizes))
    starts = sorted(start + elapse // 2 for start, elapse, _ in ops)
    begin, end = starts[len(starts) // 3], starts[2 * len(starts) // 3] + 1
    own = [one for one in ops if one[0] < end and one[0] + one[1] > begin]
    shown = show("distributed", folder, within=f"{begin},{end}")
    assert sum(row["calls"] for row in shown.tables["ops"]) == len(own) > 0
    assert sum(row["elapse_ns"] for row in shown.tables["ops"]) == sum(elapse for _, elapse, _ in own)
    moved: dict[str, int] = defaultdict(int)
    for transport, size in (one for _, _, sizes in own for one in sizes):
        moved[transport] += size
    found: dict[str, int] = defaultdict(int)
    for row in shown.tables["transports"]:
        found[row["transport"]] += row["size_bytes"]
    assert found == moved
    (budget,) = shown.data["budgets"]
    assert budget["elapse"] == sum(elapse for _, elapse, _ in own)
    times = {key: time for key, time in budget["parts"].items() if time is not None}
    assert not times or sum(times.values()) <= end - begin
    assert (shown.data["links"], shown.data["steps"], "link_use" in shown.tables) == ([], [], False)


@pytest.mark.parametrize("folder", FOLDERS)
def test_calls_and_packets_are_those_of_the_file(folder: Path) -> None:
    of = span(folder).token
    calls = show_extra("distributed", "calls", folder, of=of)
    times = [op["Communication Time Info"] for _, _, op in _ops(folder)]
    assert [row["name"] for row in calls] == [name for _, name, _ in _ops(folder)]
    for row, time in zip(calls, times):
        ratios = [time["Wait Time Ratio"], time["Synchronization Time Ratio"]]
        assert [row["wait_ratio"], row["sync_ratio"]] == ratios
        assert abs(row["start_ns"] - ns(time["Start Timestamp(us)"])) < 250  # float64 of microseconds
    sizes = [
        (name, transport, whole(size, 1_000_000), count, ms(time))
        for _, name, op in _ops(folder)
        for transport, figures in op["Communication Bandwidth Info"].items()
        for size, (count, time) in figures["Size Distribution"].items()
    ]
    keys = ("name", "transport", "packet_bytes", "count", "time_ns")
    packets = show_extra("distributed", "packets", folder, of=of)
    assert sorted(tuple(row[key] for key in keys) for row in packets) == sorted(sizes)


@pytest.mark.parametrize("folder", every_result("communication_matrix.json"))
def test_operators_on_links_are_those_of_the_matrix(folder: Path) -> None:
    listed = [
        (*key.split("@")[0].rsplit("-", 1), f"{link}", figures.get("Op Name", figures.get("op_name")))
        for kinds in raw(folder).json("communication_matrix.json").values()
        for entries in kinds.values()
        for key, links in entries.items()
        if key != TOTAL
        for link, figures in links.items()
    ]
    rows = show_extra("distributed", "matrix", folder, of=span(folder).token)
    assert [(row["op_type"], row["stat"], f"{row['src']}-{row['dst']}", row["op_name"]) for row in rows] == listed


@pytest.mark.parametrize("folder", every_result("communication_matrix.json"))
def test_links_are_the_totals_of_the_matrix(folder: Path) -> None:
    expected = {}
    for step, kinds in raw(folder).json("communication_matrix.json").items():
        for entries in kinds.values():
            for key, links in entries.items():
                type_, stat = key.split("@")[0].rsplit("-", 1)
                if stat == "total":
                    for link, figures in links.items():
                        src, dst = map(int, link.split("-"))
                        expected[step.removeprefix("step") or None, type_, key.split("@")[1], src, dst] = (
                            figures["Transport Type"],
                            whole(figures["Transit Size(MB)"], 1_000_000),
                            ms(figures["Transit Time(ms)"]),
                        )
    shown = show("distributed", folder).data["links"]
    keys, figures = ("step", "op_type", "group", "src", "dst"), ("transport", "size_bytes", "time_ns")
    assert {tuple(row[key] for key in keys): tuple(row[key] for key in figures) for row in shown} == expected
    assert len(shown) == len(expected)


#: Run -> its number of ranks, of which two are recorded.
RUNS = {FIXTURES / "results" / name: 2 for name in ("two_ranks", "new_spellings")}
RUNS |= {FIXTURES / "demo" / "transformer_910b": 8, FIXTURES / "demo" / "transformer_910b_tuned": 8, REAL_RUN: 8}


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_ranks_are_in_order(run: Path) -> None:
    raw(run)  # skips where the real data are absent
    folders = sorted(run.glob("*_ascend_pt"))
    data = show("distributed", *reversed(folders)).data
    assert [rank["rank"] for rank in data["ranks"]] == [0, 1]
    rows = [(rank, row["Step"]) for rank, own in enumerate(folders) for row in Raw(own).csv("step_trace_time.csv")]
    assert [(budget["rank"], budget["step"]) for budget in data["budgets"]] == rows
    assert data["world_size"] == RUNS[run]


#: Bytes of the MB of these files.
MIB = 1 << 20


def test_use_of_the_links_is_that_of_the_files() -> None:
    folder = next((FIXTURES / "results" / "links").glob("*_ascend_pt"))
    one = raw(folder)
    shown = show("distributed", folder).tables["link_use"]
    assert {row["rank"] for row in shown} == {0}
    for row in one.csv("hccs.csv"):
        (found,) = (entry for entry in shown if entry["link"] == "HCCS" and entry["way"] == row["Mode"][:2])
        for key, column in (("average", "Average"), ("peak", "Max")):
            assert found[key] == pytest.approx(float(row[column]) * MIB / 1e9) and found[key] > 0
        assert found["speed"] is None and found["use"] is None and found["errors"] is None
    pcie = {(entry["way"], entry["packets"]): entry for entry in shown if entry["link"] == "PCIe"}
    assert pcie.keys() == {(way, kind) for way in ("Tx", "Rx") for kind in ("post", "nonpost", "cpl")}
    rates = {row["Mode"]: row for row in one.csv("pcie.csv")}
    for mode, key in (("Rx_cpl_avg(MB/s)", ("Rx", "cpl")), ("Tx_p_avg(MB/s)", ("Tx", "post"))):
        assert pcie[key]["average"] == pytest.approx(float(rates[mode]["Avg"]) * MIB / 1e9)
        assert pcie[key]["peak"] == pytest.approx(float(rates[mode]["Max"]) * MIB / 1e9)
    for link, name in (("RoCE", "roce.csv"), ("NIC", "nic.csv")):
        (port,) = one.csv(name)
        for way in ("Tx", "Rx"):
            (found,) = (entry for entry in shown if entry["link"] == link and entry["way"] == way)
            use, speed = float(port[f"{way} Bandwidth efficiency(%)"]), float(port["Bandwidth(MB/s)"]) * MIB / 1e9
            assert (found["use"], found["speed"]) == (use, pytest.approx(speed)) and use > 0
            assert found["average"] == pytest.approx(use / 100 * speed) and found["peak"] is None
