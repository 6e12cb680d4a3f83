from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tb_npu_plugin.tables import NULL_INT
from tests.unit.readers.files import codes, read

NAME, MATRIX = "communication.json", "communication_matrix.json"


def op(**times: Any) -> dict[str, Any]:
    """An operator of 4 ms: 1 transit, 2 wait, 1 idle."""
    figures = {
        "Start Timestamp(us)": 1736408883732241.5,
        "Elapse Time(ms)": 4,
        "Transit Time(ms)": 1,
        "Wait Time(ms)": 2,
        "Synchronization Time(ms)": 0.5,
        "Idle Time(ms)": 1,
        "Wait Time Ratio": 0.6667,
        "Synchronization Time Ratio": 0.3333,
        **times,
    }
    transport = {
        "Transit Size(MB)": 28.647232000000002,
        "Transit Time(ms)": 1.8168363437500001,
        "Bandwidth(GB/s)": 15.7676,
        "Large Packet Ratio": 0.0,
        "Size Distribution": {"2.064384": [12, 1.578891625], "1.937312": [2, 0.23794471875]},
    }
    return {
        "Communication Time Info": figures,
        "Communication Bandwidth Info": {"HCCS": transport, "SDMA": {**transport, "Size Distribution": {}}},
    }


def content(step: str = "step5", **ops: Any) -> bytes:
    return json.dumps({step: {"p2p": {}, "collective": {f"{name}@77": value for name, value in ops.items()}}}).encode()


def test_an_operator_becomes_rows_of_three_tables(tmp_path: Path) -> None:
    tables, problems = read(tmp_path, NAME, content(hcom_a=op()))
    ops, bandwidth, packets = tables["comm_ops"], tables["comm_bandwidth"], tables["comm_packets"]
    assert problems == []
    assert [ops.text(key).tolist() for key in ("step", "kind", "name", "group")] == [
        ["5"],
        ["collective"],
        ["hcom_a"],
        ["77"],
    ]
    assert ops.ints("start_ns").tolist() == [1736408883732241500]
    durations = ("elapse_ns", "transit_ns", "wait_ns", "sync_ns", "idle_ns")
    assert [ops.ints(key).tolist() for key in durations] == [
        [4_000_000],
        [1_000_000],
        [2_000_000],
        [500_000],
        [1_000_000],
    ]
    assert ops.floats("wait_ratio").tolist() == [0.6667]
    assert bandwidth.text("transport").tolist() == ["HCCS", "SDMA"]
    assert bandwidth.ints("rollup").tolist() == [0, 1]
    assert bandwidth.ints("size_bytes").tolist() == [28_647_232] * 2
    assert bandwidth.ints("time_ns").tolist() == [1_816_836] * 2
    assert packets.ints("packet_bytes").tolist() == [2_064_384, 1_937_312]
    assert packets.ints("count").tolist() == [12, 2]
    assert packets.ints("time_ns").tolist() == [1_578_892, 237_945]


def test_idle_is_recomputed_and_checked(tmp_path: Path) -> None:
    tables, problems = read(
        tmp_path, NAME, content(a=op(), b=op(**{"Idle Time(ms)": 9}), c=op(**{"Idle Time(ms)": None}))
    )
    assert tables["comm_ops"].ints("idle_ns").tolist() == [1_000_000] * 3
    assert [(p.code, p.where, p.found) for p in problems] == [
        ("inconsistent", "step 5, b, Idle Time(ms)", "9000000 ns")
    ]


@pytest.mark.parametrize("figure", ["N/A", float("nan"), float("inf"), True, [1]])
def test_what_is_no_figure_is_unknown(tmp_path: Path, figure: Any) -> None:
    tables, problems = read(tmp_path, NAME, content(a=op(**{"Wait Time(ms)": figure, "Wait Time Ratio": figure})))
    assert tables["comm_ops"].ints("wait_ns").tolist() == [NULL_INT]
    assert np.isnan(tables["comm_ops"].floats("wait_ratio")[0])
    assert codes(problems) == ["not_a_number x1", "not_a_number x1"]


def test_the_rollup_is_left_out_but_checked(tmp_path: Path) -> None:
    total = {
        "Communication Time Info": {"Elapse Time(ms)": 8.0, "Wait Time(ms)": 99},
        "Communication Bandwidth Info": {"HCCS": {"Transit Size(MB)": 57.294464, "Transit Time(ms)": 7}},
    }
    ops = {"a@77": op(), "b@77": op(), "Total Op Info": total}
    tables, problems = read(tmp_path, NAME, json.dumps({"step5": {"collective": ops}}).encode())
    assert tables["comm_ops"].text("name").tolist() == ["a", "b"]
    assert [(p.code, p.count) for p in problems] == [("inconsistent", 2)]
    assert problems[0].where == (
        "step 5, collective, Total Op Info, Wait Time(ms), step 5, collective, Total Op Info, HCCS, Transit Time(ms)"
    )


def test_a_sum_with_an_unknown_operator_is_not_checked(tmp_path: Path) -> None:
    total = {"Communication Time Info": {"Elapse Time(ms)": 99}}
    ops = {"a@77": op(**{"Elapse Time(ms)": None}), "Total Op Info": total}
    assert read(tmp_path, NAME, json.dumps({"step5": {"collective": ops}}).encode())[1] == []


@pytest.mark.parametrize(
    ("cut_in", "kept"), [("", 4), ("c@77", 3), ("b@77", 2), ("step2", 2), ("a@77", 1), ("step1", 0)]
)
def test_complete_operators_of_a_cut_file_are_kept(tmp_path: Path, cut_in: str, kept: int) -> None:
    whole = json.dumps(
        {
            "step1": {"p2p": {"hcom_send@7": op()}, "collective": {"a@77": op()}},
            "step2": {"p2p": {}, "collective": {"b@77": op(), "c@77": op()}},
        }
    ).encode()
    end = whole.index(cut_in.encode()) + len(cut_in) + 9 if cut_in else len(whole) - 1
    tables, problems = read(tmp_path, NAME, whole[:end])
    expected = [
        ("1", "p2p", "hcom_send", "7"),
        ("1", "collective", "a", "77"),
        ("2", "collective", "b", "77"),
        ("2", "collective", "c", "77"),
    ]
    if kept:
        ops = tables["comm_ops"]
        assert list(zip(*(ops.text(key).tolist() for key in ("step", "kind", "name", "group")))) == expected[:kept]
    else:
        assert tables == {}
    assert codes(problems) == ["bad_json x1"]
    assert problems[0].where.startswith("line 1, character ")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (b"", "empty_file"),
        (b"not json", "bad_json"),
        (b"[1, 2]", "unexpected_shape"),
        (b'"text"', "unexpected_shape"),
        (b"\x00\x01\xff", "bad_bytes"),
        (b'{"a":' * 100_000, "bad_json"),
    ],
)
@pytest.mark.parametrize("name", [NAME, MATRIX])
def test_files_that_hold_nothing(tmp_path: Path, name: str, text: bytes, code: str) -> None:
    tables, problems = read(tmp_path, name, text)
    assert tables == {}
    assert problems[0].code == code


def test_entries_of_a_wrong_shape_are_skipped(tmp_path: Path) -> None:
    ops = {"a@77": op(), "b@77": 7, "c@77": {"Communication Bandwidth Info": {"HCCS": 1}}}
    text = json.dumps({"step5": {"collective": ops, "p2p": []}, "step6": None}).encode()
    tables, problems = read(tmp_path, NAME, text)
    assert tables["comm_ops"].text("name").tolist() == ["a"]
    assert codes(problems) == ["unexpected_shape x5"]


LINK = {
    "Transport Type": "HCCS",
    "Transit Size(MB)": 4.128775999999999,
    "Transit Time(ms)": 0.00822,
    "Bandwidth(GB/s)": 502.2746,
}


def links(**entries: Any) -> bytes:
    return json.dumps({"step5": {"p2p": {}, "collective": entries}}).encode()


def test_links_become_rows(tmp_path: Path) -> None:
    text = links(**{"allreduce-top1@77": {"0-1": {**LINK, "Op Name": "hcom_a"}}, "allreduce-total@77": {"1-0": LINK}})
    tables, problems = read(tmp_path, MATRIX, text)
    table = tables["comm_links"]
    texts = [table.text(key).tolist() for key in ("op_type", "stat", "group", "transport", "op_name")]
    assert texts == [["allreduce"] * 2, ["top1", "total"], ["77"] * 2, ["HCCS"] * 2, ["hcom_a", None]]
    assert [table.ints(key).tolist() for key in ("src", "dst")] == [[0, 1], [1, 0]]
    assert table.ints("size_bytes").tolist() == [4_128_776] * 2
    assert table.ints("time_ns").tolist() == [8220] * 2
    assert problems == []


def test_links_of_a_wrong_shape_are_skipped(tmp_path: Path) -> None:
    text = links(**{"allreduce-top1@77": {"0-1": LINK, "x-y": LINK, "0-2": None, "0-" + "9" * 30: LINK}})
    tables, problems = read(tmp_path, MATRIX, text)
    assert tables["comm_links"].ints("dst").tolist() == [1]
    assert codes(problems) == ["unexpected_shape x3"]


@pytest.mark.parametrize(("moved", "transit", "idle"), [(True, NULL_INT, NULL_INT), (False, 0, 2_000_000)])
def test_a_transit_of_0_is_unknown_where_links_moved_data(tmp_path: Path, moved: bool, transit: int, idle: int) -> None:
    """622 MB at 19 GB/s stood beside a transfer of 0 ns."""
    entry = op(**{"Transit Time(ms)": 0, "Idle Time(ms)": 2})
    if not moved:
        entry["Communication Bandwidth Info"]["HCCS"].update({"Transit Size(MB)": 0, "Transit Time(ms)": 0})
        entry["Communication Bandwidth Info"]["SDMA"].update({"Transit Size(MB)": 0, "Transit Time(ms)": 0})
    tables, _ = read(tmp_path, NAME, content(hcom_a=entry))
    assert tables["comm_ops"].ints("transit_ns").tolist() == [transit]
    assert tables["comm_ops"].ints("idle_ns").tolist() == [idle]


def test_object_without_operators_is_a_table_without_rows(tmp_path: Path) -> None:
    tables, problems = read(tmp_path, NAME, b'{"step5": {"p2p": {}, "collective": {}}}')
    assert [len(table) for table in tables.values()] == [0, 0, 0]
    assert codes(problems) == ["no_rows x1"]


def test_operator_with_garbage_is_skipped(tmp_path: Path) -> None:
    text = content(a=op(), b=op(), c=op()).replace(
        b'"b@77": {"Communication Time Info": {', b'"b@77": {"Communication Time Info": <<'
    )
    tables, problems = read(tmp_path, NAME, text)
    assert tables["comm_ops"].text("name").tolist() == ["a", "c"]
    assert codes(problems) == ["bad_json x1"]


def test_half_characters_are_replaced(tmp_path: Path) -> None:
    tables, _ = read(tmp_path, NAME, content(a=op()).replace(b"a@77", b"a\\ud800@77"))
    assert tables["comm_ops"].text("name").tolist() == ["a\ufffd"]
