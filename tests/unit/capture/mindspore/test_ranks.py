"""Collectives of several ranks: groups, sizes, and who waits for whom."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.capture.mindspore import exchanges
from tb_npu_plugin.capture.mindspore.exchanges import collectives_of, wait_for_other_ranks
from tb_npu_plugin.capture.mindspore.parse import parse_folder
from tb_npu_plugin.capture.mindspore.raw_data import Launch, RawData
from tests.support.invariants import check_all
from tests.unit.capture.mindspore.captures import write_rank

#: us of two collectives on two ranks: the second rank comes 3 ms later to the second one.
ON_TIME, LATE, ENDS = [100, 1_000], [100, 4_000], [300, 4_200]


def collectives(folder: Path) -> list[dict[str, Any]]:
    """ "Communication Time Info" of each."""
    found = json.loads((folder / "ASCEND_PROFILER_OUTPUT" / "communication.json").read_bytes())
    ops = [op for step in found.values() for name, op in step["collective"].items() if "Total" not in name]
    return [op["Communication Time Info"] for op in ops]


def waits(folder: Path) -> list[float]:
    """ms of each."""
    return [times["Wait Time(ms)"] for times in collectives(folder)]


def test_a_rank_waits_for_those_that_came_later(tmp_path: Path) -> None:
    """Only members of the group count, and only with a capture of the same collectives."""
    group = [1, 3]
    early = write_rank(tmp_path, 1, 4, group, ON_TIME, ENDS)
    late = write_rank(tmp_path, 3, 4, group, LATE, ENDS)
    for folder in (early, late):
        parse_folder(folder)
        assert "12" in check_all(folder)
    assert waits(early) == [pytest.approx(0, abs=0.15), pytest.approx(3, abs=0.15)]
    assert max(waits(late)) < 0.15


@pytest.mark.parametrize("type_", ["AllReduce", "AllGather"])
def test_a_share_moves_to_each_other_member_of_the_group(tmp_path: Path, type_: str) -> None:
    """8 x 64 elements of FLOAT16. Members are counted in the group."""
    folder = write_rank(tmp_path, 3, 4, [1, 3], ON_TIME, ENDS, type_)
    parse_folder(folder)
    found = json.loads((folder / "ASCEND_PROFILER_OUTPUT" / "communication_matrix.json").read_bytes())
    (name, links), *_ = next(iter(found.values()))["collective"].items()
    assert name.startswith(f"{type_.lower()}-")
    sizes = {pair: link["Transit Size(MB)"] for pair, link in links.items() if len(set(pair.split("-"))) > 1}
    assert sizes == {"1-0": pytest.approx(0.001024)}


@pytest.mark.parametrize("others", [[], [([100], [300])], [([90_000, 91_000], [90_300, 91_300])]])
def test_ranks_that_recorded_something_else_arrive_with_this_one(
    tmp_path: Path, others: list[tuple[list[int], list[int]]]
) -> None:
    """No capture, one of fewer collectives, and one of other times."""
    folder = write_rank(tmp_path, 0, 2, [0, 1], ON_TIME, ENDS)
    for begins, ends in others:
        write_rank(tmp_path, 1, 2, [0, 1], begins, ends)
    parse_folder(folder)
    assert max(waits(folder)) < 0.15


def test_computation_is_no_host_time_and_waiting_for_another_group_is() -> None:
    """An NPU would wait there, too."""
    spans = [("AllGather", "", 0, 10), ("MatMul", "", 10, 30), ("AllReduce", "pair", 40, 90), ("AllGather", "", 95, 99)]
    launches = [Launch(start, end, 1, type_, type_, ((8,),), group=group) for type_, group, start, end in spans]
    data = RawData({"pid": 1}, [(start, end) for *_, start, end in spans], launches)
    found = collectives_of(data)
    assert {group: [one.took for one in ones] for group, ones in found.items()} == {
        "hccl_world_group": [0, 95 - 10 - (30 - 10)],
        "pair": [40 - (30 - 10)],
    }


def test_dynamic_windows_of_ranks_find_each_other(tmp_path: Path) -> None:
    early = write_rank(tmp_path / "rank0_start2_stop5", 0, 2, [0, 1], ON_TIME, ENDS)
    write_rank(tmp_path / "rank1_start2_stop5", 1, 2, [0, 1], LATE, ENDS)
    parse_folder(early)
    assert waits(early)[1] == pytest.approx(3, abs=0.15)


def test_a_rank_that_still_records_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While its process lives."""
    own = write_rank(tmp_path, 0, 2, [0, 1], ON_TIME, ENDS)
    other = write_rank(tmp_path, 1, 2, [0, 1], LATE, ENDS)
    assert wait_for_other_ranks(own)
    path = other / "FRAMEWORK" / "capture.json"
    capture = {**json.loads(path.read_bytes()), "end": None}
    path.write_text(json.dumps({**capture, "pid": 1 << 30}))
    assert wait_for_other_ranks(own)
    path.write_text(json.dumps({**capture, "pid": 1}))
    monkeypatch.setattr(exchanges, "_PATIENCE", 0.01)
    assert not wait_for_other_ranks(own)
