"""The simulated device: the figures of its chips, the tasks of a collective, and its task queue."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from functools import cache

import pytest

from tb_npu_plugin.capture.api.settings import task_queue_level
from tb_npu_plugin.capture.simulation.chips import DEFAULT_CHIP
from tb_npu_plugin.capture.simulation.collectives import Exchange, schedule
from tb_npu_plugin.capture.simulation.device import TASK_QUEUES
from tb_npu_plugin.capture.simulation.topology import Topology
from tb_npu_plugin.csv_tables import read_table
from tb_npu_plugin.schema import chips
from tb_npu_plugin.schema.chips import CHIPS, Chip
from tests.conftest import ROOT
from tests.oracle.raw import Raw
from tests.support.mock import ONE, rank_folder, written

TABLE = read_table(chips.__file__, "chips.csv", dict[str, str])
UNITS = {"memory": 1 << 30, "cache": 1 << 20, **dict.fromkeys(("bandwidth", "hccs", "sio", "rdma", "pcie"), 10**9)}
#: Chip -> figure -> key of its source.
SOURCES = {
    name: {figure: row[name].split()[-1] for figure, row in TABLE.items() if figure not in ("soc", "names", "split")}
    for name in CHIPS
}


def cell(chip: Chip, figure: str) -> str:
    value = getattr(chip, figure) / UNITS.get(figure, 1)
    return f"{value:.4g} `{SOURCES[chip.name][figure]}`" if value else f"none `{SOURCES[chip.name][figure]}`"


def test_each_figure_of_a_chip_has_a_source_and_docs_capture_md_shows_both() -> None:
    for chip in CHIPS.values():
        numbers = {key for key, value in vars(chip).items() if isinstance(value, int) and not isinstance(value, bool)}
        assert numbers == SOURCES[chip.name].keys()
    page = (ROOT / "docs" / "capture.md").read_text()
    table = page.partition(f"| | {' | '.join(CHIPS)} |\n")[2].partition("\n\n")[0]
    shown = [row.split(" | ")[1:] for row in table.replace(" |\n", "\n").removesuffix(" |").splitlines()[1:]]
    assert shown == [[cell(chip, figure) for chip in CHIPS.values()] for figure in SOURCES[DEFAULT_CHIP]]
    explained = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", page.partition("| source | |")[2], re.M))
    assert {key for sources in SOURCES.values() for key in sources.values()} == set(explained)


@pytest.mark.parametrize(
    ("count", "share", "last"), [(4_097_000, 2_064_384, 1_937_312), (2_469_696, 1_245_184, 1_162_496)]
)
def test_an_all_reduce_has_the_tasks_of_a_real_910b(count: int, share: int, last: int) -> None:
    """Counts of operators of the public sample (FP32, 8 ranks) and the sizes of their tasks on rank 0."""
    exchange = Exchange("hcom_allReduce_", 4 * count, tuple(range(8)), "x")
    tasks = schedule(exchange, (10**9,) * 8, Topology(CHIPS["910B2"]), 0)[1].pattern.tasks
    for name in ("Reduce_Inline", "Memcpy"):
        moves = {task.dst: task.size for task in tasks if task.name == name and task.link == "HCCS"}
        assert moves == {**dict.fromkeys(range(1, 7), share), 7: last}
    own = [(task.name, task.size) for task in tasks if task.plane == 0]
    assert own == [("Reduce_Inline", 4), ("Memcpy", share), ("Memcpy", share), ("Reduce_Inline", 4)]
    names = [task.name for task in tasks if task.plane]
    assert (names.count("Notify_Record"), names.count("Notify_Wait")) == (28, 28)
    # on plane 1 the next rank comes first, in the second phase the one before
    assert [task.dst for task in tasks if task.plane == 1 and task.size] == [1, 7]
    assert len({(task.name, task.dst, task.notify) for task in tasks if task.notify}) == 28  # both phases use the same


@pytest.mark.parametrize(
    ("type_", "factor"), [("hcom_allReduce_", 2), ("hcom_reduceScatter_", 1), ("hcom_allGather_", 1)]
)
def test_a_collective_over_two_servers_works_in_levels(type_: str, factor: int) -> None:
    """Each member moves its share of the tensor between the servers, the rest inside; the slowest link bounds the time."""
    size, chip = 1 << 30, CHIPS["910B2"]
    ends, planes = schedule(Exchange(type_, size, tuple(range(16)), "x"), (0,) * 16, Topology(chip), 3)
    moved = Counter[str]()
    tasks = planes.pattern.tasks
    for task in tasks:
        moved[task.link] += task.size if task.src != task.dst else 0
    assert moved["HCCS"] == pytest.approx(factor * size * 7 / 8, rel=1e-3)
    assert moved["RDMA"] == pytest.approx(factor * size / 8 / 2, rel=1e-3)
    assert {task.dst for task in tasks if task.link == "RDMA"} == {11}  # the same place in the other server
    least = factor * (size / 8 / chip.hccs + size / 16 / chip.rdma)
    assert least < max(ends) / 1e9 < 2.5 * least


# -- TASK_QUEUE_ENABLE ------------------------------------------------------------------------------
@cache
def result(level: int) -> Raw:
    return Raw(rank_folder(written(replace(ONE, task_queue=level))[0], 0))


def threads(level: int, name: str) -> set[str]:
    """Kinds of threads of the CANN calls whose names contain this."""
    raw = result(level)
    dequeues = {e["tid"] for e in raw.slices if e["name"].startswith("Dequeue@")}
    operators = {e["tid"] for e in raw.slices if e.get("cat") == "cpu_op"}
    tids = {e["tid"] for e in raw.process("CANN") if e["ph"] == "X" and name in e["name"]}
    kinds = {"launching": tids & dequeues, "operators": tids & operators, "others": tids - dequeues - operators}
    return {kind for kind, found in kinds.items() if found}


@pytest.mark.parametrize(
    ("level", "launch", "size"),
    [(0, "operators", "operators"), (1, "launching", "operators"), (2, "launching", "launching")],
)
def test_the_level_of_the_task_queue_decides_which_thread_calls_cann(level: int, launch: str, size: str) -> None:
    assert (threads(level, "Node@launch"), threads(level, "GetWorkspaceSize")) == ({launch}, {size})
    kinds = Counter(event.get("cat") for event in result(level).events)
    assert [kinds[kind] > 0 for kind in ("enqueue", "dequeue", "async_task_queue")] == [level > 0] * 3
    # where a workspace comes from: the allocator, or beside it
    records = [row for row in result(level).csv("memory_record.csv") if row["Component"] == "WORKSPACE"]
    sizes = {float(row["Size(KB)"]) for row in result(level).csv("operator_memory.csv")}
    assert (bool(records), 32 * 1024 + 0.5 in sizes) == (level == 2, level < 2)
    if records:  # 32 MB and a little more, in whole pages
        assert {float(row["Total Reserved(MB)"]) for row in records} == {34.0}
        assert {float(row["Total Allocated(MB)"]) for row in records} == {0.0, 34.0}


@pytest.mark.parametrize(
    ("level", "blocking", "expected"),
    [("", "", 1), ("0", "", 0), ("2", "", 2), ("3", "", 1), ("on", "", 1), ("2", "1", 0)],
)
def test_the_task_queue_level_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], level: str, blocking: str, expected: int
) -> None:
    for name, value in (("TASK_QUEUE_ENABLE", level), ("ASCEND_LAUNCH_BLOCKING", blocking)):
        monkeypatch.delenv(name, raising=False)
        if value:
            monkeypatch.setenv(name, value)
    assert task_queue_level() == expected and expected in TASK_QUEUES
    assert ("Invalid TASK_QUEUE_ENABLE" in capsys.readouterr().out) == (level in ("3", "on"))
