"""TASK_QUEUE_ENABLE: who launches, how long operators take on the host, and whose memory a workspace is."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache

import pytest
from click.testing import CliRunner

from tb_npu_plugin.capture.api.settings import task_queue_level
from tb_npu_plugin.capture.simulation.device import TASK_QUEUES
from tb_npu_plugin.cli import cli
from tests.oracle.raw import Raw
from tests.support.mock import ONE, rank_folder, written


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
    "level, launch, size",
    [(0, "operators", "operators"), (1, "launching", "operators"), (2, "launching", "launching")],
)
def test_which_thread_calls_cann(level: int, launch: str, size: str) -> None:
    assert threads(level, "Node@launch") == {launch}
    assert threads(level, "GetWorkspaceSize") == {size}


def test_without_a_queue_there_are_no_events_of_one() -> None:
    kinds = {level: Counter(e.get("cat") for e in result(level).events) for level in TASK_QUEUES}
    for kind in ("enqueue", "dequeue", "async_task_queue"):
        assert [kinds[level][kind] > 0 for level in TASK_QUEUES] == [False, True, True]
    named = {
        level: len({e["tid"] for e in result(level).events if e["name"] == "thread_name"}) for level in TASK_QUEUES
    }
    assert named[0] < named[1] == named[2]


def test_a_workspace_comes_from_the_allocator_or_beside_it() -> None:
    components = [{row["Component"] for row in result(level).csv("memory_record.csv")} for level in TASK_QUEUES]
    assert [("WORKSPACE" in found) for found in components] == [False, False, True]
    rows = [row for row in result(2).csv("memory_record.csv") if row["Component"] == "WORKSPACE"]
    assert {float(row["Total Reserved(MB)"]) for row in rows} == {34.0}  # 32 MB and a little more, in whole pages
    assert {float(row["Total Allocated(MB)"]) for row in rows} == {0.0, 34.0}
    sizes = [{float(row["Size(KB)"]) for row in result(level).csv("operator_memory.csv")} for level in TASK_QUEUES]
    assert [32 * 1024 + 0.5 in found for found in sizes] == [True, True, False]


@pytest.mark.parametrize(
    "variables, expected",
    [
        ({}, 1),
        ({"TASK_QUEUE_ENABLE": "0"}, 0),
        ({"TASK_QUEUE_ENABLE": "2"}, 2),
        ({"TASK_QUEUE_ENABLE": "3"}, 1),
        ({"TASK_QUEUE_ENABLE": "on"}, 1),
        ({"TASK_QUEUE_ENABLE": "2", "ASCEND_LAUNCH_BLOCKING": "1"}, 0),
    ],
)
def test_the_task_queue_level_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], variables: dict[str, str], expected: int
) -> None:
    for name in ("TASK_QUEUE_ENABLE", "ASCEND_LAUNCH_BLOCKING"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert task_queue_level() == expected
    wrong = variables.get("TASK_QUEUE_ENABLE") in ("3", "on")
    assert ("Invalid TASK_QUEUE_ENABLE" in capsys.readouterr().out) == wrong


def test_it_is_a_variable_of_torch_npu(tmp_path: str) -> None:
    arguments = ["mock", "--model", "linear", "--framework", "mindspore", "--task-queue", "0", "--out", str(tmp_path)]
    said = CliRunner().invoke(cli, arguments)
    assert said.exit_code != 0 and "TASK_QUEUE_ENABLE is a variable of torch_npu" in str(said.exception or said.output)
