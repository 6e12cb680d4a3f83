"""Communication: parts of the time, links, ranks of the world, use of the links."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tb_npu_plugin.analysis.communication import statistics as communication
from tb_npu_plugin.analysis.communication.links import link_use
from tb_npu_plugin.analysis.ranks.world import WorldRanks, least_world_size, pipeline_stage, world_size
from tb_npu_plugin.model import Capture
from tb_npu_plugin.schema.communicators import group_hash
from tb_npu_plugin.schema.core import ResultFile
from tb_npu_plugin.schema.link_files import NIC, PCIE, ROCE
from tb_npu_plugin.tables import NULL_INT, Table, from_lists
from tests.support.span import TestSpan, table_of

OP = {"step": "1", "kind": "collective", "group": "77"}
OPS = table_of(
    "comm_ops",
    [
        {**OP, "name": "hcom_allReduce__586_0_1", "elapse_ns": 100, "transit_ns": 30, "wait_ns": 50, "sync_ns": 20},
        {**OP, "name": "hcom_allReduce__586_1_1", "elapse_ns": 51, "transit_ns": 10, "wait_ns": 0, "sync_ns": 0},
        {**OP, "name": "hcom_allGather__586_2_1", "elapse_ns": 7, "transit_ns": 1, "wait_ns": None, "sync_ns": None},
    ],
)


def moved(name: str, transport: str, size: int, time: int) -> dict[str, object]:
    rollup = int(transport == "SDMA")
    return {**OP, "name": name, "transport": transport, "rollup": rollup, "size_bytes": size, "time_ns": time}


BANDWIDTH = table_of(
    "comm_bandwidth",
    [
        moved("hcom_allReduce__586_0_1", "HCCS", 300, 20),
        moved("hcom_allReduce__586_0_1", "SDMA", 300, 20),
        moved("hcom_allReduce__586_0_1", "RDMA", 0, 0),
        moved("hcom_allReduce__586_1_1", "HCCS", 100, 20),
        moved("hcom_allReduce__586_1_1", "SDMA", 100, 20),
        moved("hcom_allGather__586_2_1", "HCCS", 0, 0),
        moved("hcom_allGather__586_2_1", "SDMA", 40, 10),  # an old file that names no part
    ],
)


def test_unknown_parts_of_the_time_leave_the_rest_unknown_too() -> None:
    is_known = OPS.ints("wait_ns") != NULL_INT
    found = [communication.split(OPS.take(rows)) for rows in (is_known, ~is_known)]
    assert found == [
        communication.Split(151, transit=40, wait=30, synchronization=20, idle=61, incomplete=0),
        communication.Split(7, transit=1, wait=None, synchronization=None, idle=None, incomplete=1),
    ]


def test_operators_by_stem_with_bytes_of_the_parts_only() -> None:
    table = communication.operators(OPS, BANDWIDTH, rank=3)
    assert table.text("name").tolist() == ["hcom_allReduce", "hcom_allGather"]
    keys = ("rank", "calls", "size_bytes", "avg_elapse_ns", "avg_transit_ns", "avg_size_bytes", "incomplete", "idle_ns")
    rows = list(zip(*(table.ints(key).tolist() for key in keys)))
    assert rows == [(3, 2, 400, 76, 20, 200, 0, 61), (3, 1, 40, 7, 1, 40, 1, NULL_INT)]
    assert table.floats("bandwidth").tolist() == [10.0, 4.0]
    assert communication.operators(OPS, None, None).ints("size_bytes").tolist() == [NULL_INT, NULL_INT]
    assert [communication.base_name(name) for name in ("hcom_allReduce_", "_1_2")] == ["hcom_allReduce_", "_1_2"]


def link(group: str, src: int, dst: int, stat: str = "total") -> dict[str, object]:
    return {
        "step": "1",
        "op_type": "allreduce",
        "stat": stat,
        "group": group,
        "src": src,
        "dst": dst,
        "transport": "LOCAL" if src == dst else "HCCS",
        "size_bytes": 10,
        "time_ns": 4,
    }


def test_group_hash_is_the_one_that_a_recorded_database_files_this_communicator_under() -> None:
    assert group_hash("90.91.105.46%enp189s0f0_60000_0_1736410538306028") == "17148521525495523210"


def test_links_have_ranks_of_the_world_where_known() -> None:
    groups = {"pp": {"group_name": "pp", "group_rank": 1, "global_ranks": [0, 2]}}
    table = table_of(
        "comm_links",
        [link(group_hash("pp"), 1, 0), link("x", 1, 1), link("x", 1, 0), link("x", 1, 5), link("x", 1, 5, "top1")],
    )
    other = table_of("comm_links", [link("x", 5, 5), link("x", 5, 1)])
    ranks = WorldRanks([(Capture(rank=2, groups=groups), table), (Capture(rank=7), other)])
    found = communication.links(TestSpan({"comm_links": table}), ranks)
    assert [(entry.src, entry.dst, entry.src_rank, entry.dst_rank) for entry in found] == [
        (1, 0, 2, 0),  # by the group's ranks
        (1, 1, 2, 2),  # every link of a group starts at this rank
        (1, 0, 2, None),
        (1, 5, 2, 7),  # the same of another profiled rank
    ]
    assert [entry.transport for entry in found] == ["HCCS", "LOCAL", "HCCS", "HCCS"]
    assert found[0].bandwidth == 2.5 and found[0].calls is None


@pytest.mark.parametrize("profiled", [(0, 2), (0,)])
def test_a_group_without_a_name_is_found_by_its_members(profiled: tuple[int, ...]) -> None:
    """The metadata list the groups under other names than the links. Alone, rank 0 may be the first of either."""
    pairs = {"a": ("dp", [0, 1]), "b": ("pp", [0, 2]), "c": ("embd", [0, 2]), "d": ("world", [0, 1, 2, 3])}

    def capture(rank: int) -> Capture:
        groups = {
            key: {"group_name": role, "global_ranks": ranks} for key, (role, ranks) in pairs.items() if rank in ranks
        }
        return Capture(rank=rank, groups=groups)

    tables = {0: [link("hash", 0, 1)], 2: [link("hash", 1, 0)]}
    ranks = WorldRanks([(capture(rank), table_of("comm_links", tables[rank])) for rank in profiled])
    is_known = len(profiled) == 2
    assert ranks.role("hash") == ("pp/embd" if is_known else "")
    assert ranks.members("hash") == ([0, 2] if is_known else [])
    assert ranks.of("hash", 1) == (2 if is_known else None)


def test_links_know_how_many_operators_of_their_type_moved_it() -> None:
    table = table_of("comm_links", [link("586", 0, 1), {**link("586", 1, 0), "op_type": "receive"}, link("x", 0, 1)])
    names = ("hcom_allReduce__586_0_1", "hcom_allReduce__586_1_1", "hcom_allGather__586_2_1", "hcom_receive__586_3_1")
    ops = table_of("comm_ops", [{"step": "1", "group": "586", "name": name} for name in names])
    found = communication.links(TestSpan({"comm_links": table, "comm_ops": ops}), WorldRanks([]))
    assert [entry.calls for entry in found] == [2, 1, None]


def test_a_group_whose_links_start_at_several_ranks_does_not_tell_which_is_this_one() -> None:
    table = table_of("comm_links", [link("x", 0, 1), link("x", 1, 0)])
    assert WorldRanks([(Capture(rank=4), table)]).of("x", 0) is None


def test_stage_of_the_pipeline() -> None:
    groups = {"a%eth_0": {"group_name": "tp", "group_rank": 1}, "b%eth_0": {"group_name": "pp", "group_rank": 2}}
    megatron = {"pipeline_model_parallel_size": 4, "world_size": 64}
    assert pipeline_stage(Capture(rank=33, groups=groups)) == 3
    assert [pipeline_stage(Capture(rank=rank, distributed_args=megatron)) for rank in (0, 15, 16, 63)] == [1, 1, 2, 4]
    assert pipeline_stage(Capture(rank=3)) is None
    assert pipeline_stage(Capture(rank=3, groups={"b": {"group_name": "pp"}})) is None


def test_group_of_two_neighbours_gives_no_stage() -> None:
    """Our mock wrote such groups: rank 3 of four stages, second of its pair, was taken for one of stage 2."""
    megatron = {"pipeline_model_parallel_size": 4, "world_size": 4}
    pair = {"a": {"group_name": "pp", "group_rank": 1, "global_ranks": [2, 3]}}
    whole = {"a": {"group_name": "pp", "group_rank": 3, "global_ranks": [0, 1, 2, 3]}}
    assert [pipeline_stage(Capture(3, distributed_args=megatron, groups=groups)) for groups in (pair, whole)] == [4, 4]


def test_world_size() -> None:
    links = table_of("comm_links", [link("x", 0, 7)])
    assert world_size([Capture(distributed_args={"world_size": 64})]) == 64
    assert world_size([Capture(groups={"a": {"global_ranks": [0, 15]}})]) == 16
    assert [least_world_size([Capture()], found) for found in ([links, None], [None])] == [8, None]


def test_a_world_is_never_smaller_than_its_profiled_ranks() -> None:
    """ "Rank 0 of 9 (16 profiled)": the largest group in the links is a lower bound alone."""
    links = table_of("comm_links", [link("x", 0, 8)])
    ranks = [Capture(rank=rank) for rank in range(16)]
    assert world_size(ranks) is None
    assert least_world_size(ranks, [links]) == 16
    assert world_size([Capture(rank=5, distributed_args={"world_size": 4})]) == 6


MB = (1 << 20) / 1e9


def link_table(file: ResultFile, *rows: dict[str, Any]) -> Table:
    return from_lists(file.columns, {column.key: [row.get(column.key) for row in rows] for column in file.columns})


def shown(rank: int | None = 3, **tables: Table) -> list[dict[str, Any]]:
    """Rows without what is unknown."""
    found = link_use(tables, rank)
    assert found is not None
    columns = {column.key: found.data[column.key].tolist() for column in found.columns}
    rows = [dict(zip(columns, cells)) for cells in zip(*columns.values())]
    return [{key: value for key, value in row.items() if not unknown(value)} for row in rows]


def unknown(value: Any) -> bool:
    return value is None or value == NULL_INT or (isinstance(value, float) and math.isnan(value))


def test_kinds_of_packets() -> None:
    modes = (
        "Tx_p_avg(MB/s)",
        "Rx_np_avg(GB/s)",
        "Rx_cpl_avg(MB/s)",
        "Tx_latency_avg(us)",
        "Tx_new(MB/s)",
        "Rx_p_avg",
        None,
    )
    pcie = link_table(PCIE, *({"mode": mode, "max": 2.0, "avg": 1.0} for mode in modes))
    assert shown(None, pcie=pcie) == [
        {"link": "PCIe", "way": "Tx", "packets": "post", "average": MB, "peak": 2 * MB},
        {"link": "PCIe", "way": "Rx", "packets": "nonpost", "average": 1.0, "peak": 2.0},
        {"link": "PCIe", "way": "Rx", "packets": "cpl", "average": MB, "peak": 2 * MB},
    ]  # a latency is no use; a mode without a unit, or one that nobody knows, tells nothing


@pytest.mark.parametrize(("file", "link"), [(NIC, "NIC"), (ROCE, "RoCE")])
def test_ports(file: ResultFile, link: str) -> None:
    found = link_table(
        file, {"bandwidth": 25.0, "rx_use": 40.0, "rx_dropped": 0.5, "tx_errors": 0.0, "port": 1}, {"tx_use": 7.0}
    )
    assert shown(**{file.id: found}) == [
        {"rank": 3, "link": link, "port": 1, "way": "Rx", "average": 10.0, "speed": 25.0, "use": 40.0, "dropped": 0.5},
        {"rank": 3, "link": link, "port": 1, "way": "Tx", "speed": 25.0, "errors": 0.0},
        {"rank": 3, "link": link, "way": "Rx"},
        {"rank": 3, "link": link, "way": "Tx", "use": 7.0},
    ]


def test_one_capture_without_a_rank_says_nothing_of_the_size() -> None:
    assert least_world_size([Capture(0)], [None]) is None
    assert least_world_size([Capture(0), Capture(1)], [None]) == 2
