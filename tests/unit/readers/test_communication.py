from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tb_npu_plugin.tables import NULL_INT
from tests.unit.readers.files import codes, read, rows

NAME, MATRIX = "communication.json", "communication_matrix.json"
LINK = {
    "Transport Type": "HCCS",
    "Transit Size(MB)": 4.128775999999999,
    "Transit Time(ms)": 0.00822,
    "Bandwidth(GB/s)": 502.2746,
}


def op(moved: bool = True, **times: Any) -> dict[str, Any]:
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
    }
    transport = {
        "Transit Size(MB)": 28.647232000000002 * moved,
        "Transit Time(ms)": 1.8168363437500001 * moved,
        "Bandwidth(GB/s)": 15.7676,
        "Large Packet Ratio": 0.0,
        "Size Distribution": {"2.064384": [12, 1.578891625], "1.937312": [2, 0.23794471875]},
    }
    return {
        "Communication Time Info": {**figures, **times},
        "Communication Bandwidth Info": {"HCCS": transport, "SDMA": {**transport, "Size Distribution": {}}},
    }


def content(**collectives: Any) -> bytes:
    return json.dumps({"step5": {"p2p": {}, "collective": collectives}}).encode()


def ops(**operators: Any) -> bytes:
    return content(**{f"{name}@77": value for name, value in operators.items()})


def test_an_operator_becomes_rows_of_three_tables(tmp_path: Path) -> None:
    tables, problems = read(tmp_path, NAME, ops(hcom_a=op()))
    assert problems == []
    of = {"step": "5", "kind": "collective", "name": "hcom_a", "group": "77"}
    assert rows(tables["comm_ops"]) == [
        {
            **of,
            "start_ns": 1736408883732241500,
            "elapse_ns": 4_000_000,
            "transit_ns": 1_000_000,
            "wait_ns": 2_000_000,
            "sync_ns": 500_000,
            "idle_ns": 1_000_000,
            "wait_ratio": 0.6667,
            "sync_ratio": 0.3333,
        }
    ]
    moved = {"size_bytes": 28_647_232, "time_ns": 1_816_836, "bandwidth": 15.7676, "large_packet_ratio": 0.0}
    assert rows(tables["comm_bandwidth"]) == [
        {**of, "transport": transport, "rollup": rollup, **moved} for transport, rollup in (("HCCS", 0), ("SDMA", 1))
    ]
    assert rows(tables["comm_packets"]) == [
        {**of, "transport": "HCCS", "packet_bytes": size, "count": count, "time_ns": time}
        for size, count, time in ((2_064_384, 12, 1_578_892), (1_937_312, 2, 237_945))
    ]


def test_idle_is_recomputed_and_checked(tmp_path: Path) -> None:
    written = ops(a=op(), b=op(**{"Idle Time(ms)": 9}), c=op(**{"Idle Time(ms)": None}))
    tables, problems = read(tmp_path, NAME, written)
    assert tables["comm_ops"].ints("idle_ns").tolist() == [1_000_000] * 3
    assert [(p.code, p.where, p.found) for p in problems] == [
        ("inconsistent", "step 5, b, Idle Time(ms)", "9000000 ns")
    ]


@pytest.mark.parametrize("figure", ["N/A", float("nan"), float("inf"), True, [1]])
def test_what_is_no_figure_is_unknown(tmp_path: Path, figure: Any) -> None:
    tables, problems = read(tmp_path, NAME, ops(a=op(**{"Wait Time(ms)": figure, "Wait Time Ratio": figure})))
    assert tables["comm_ops"].ints("wait_ns").tolist() == [NULL_INT]
    assert np.isnan(tables["comm_ops"].floats("wait_ratio")[0])
    assert codes(problems) == ["not_a_number x1", "not_a_number x1"]


def test_the_rollup_is_left_out_but_checked_where_all_is_known(tmp_path: Path) -> None:
    total = {
        "Communication Time Info": {"Elapse Time(ms)": 8.0, "Wait Time(ms)": 99, "Transit Time(ms)": 99},
        "Communication Bandwidth Info": {"HCCS": {"Transit Size(MB)": 57.294464, "Transit Time(ms)": 7}},
    }
    written = content(**{"a@77": op(), "b@77": op(**{"Transit Time(ms)": None}), "Total Op Info": total})
    tables, problems = read(tmp_path, NAME, written)
    assert tables["comm_ops"].text("name").tolist() == ["a", "b"]
    assert [(p.code, p.count) for p in problems] == [("inconsistent", 2)]
    assert problems[0].where == (
        "step 5, collective, Total Op Info, Wait Time(ms), step 5, collective, Total Op Info, HCCS, Transit Time(ms)"
    )


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
    found = [(row["step"], row["kind"], row["name"], row["group"]) for row in rows(tables.get("comm_ops"))]
    assert found == expected[:kept] and bool(tables) == bool(kept)
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


GARBAGE = ops(a=op(), b=op(), c=op()).replace(
    b'"b@77": {"Communication Time Info": {', b'"b@77": {"Communication Time Info": <<'
)
SHAPES = {"a@77": op(), "b@77": 7, "c@77": {"Communication Bandwidth Info": {"HCCS": 1}}}


@pytest.mark.parametrize(
    ("written", "names", "expected"),
    [
        (
            json.dumps({"step5": {"collective": SHAPES, "p2p": []}, "step6": None}).encode(),
            ["a"],
            "unexpected_shape x5",
        ),
        (GARBAGE, ["a", "c"], "bad_json x1"),
        (content(), [], "no_rows x1"),
        (ops(a=op()).replace(b"a@77", b'a\\ud800} \\" {@77'), ['a\ufffd} " {'], None),
        (ops(a=op()).replace(b"a@77", b'a\\ud800} \\" {@77')[:-1], ['a\ufffd} " {'], "bad_json x1"),
    ],
    ids=["entries of a wrong shape", "garbage", "no operators", "half a character", "half a character, cut"],
)
def test_the_other_operators_are_read(tmp_path: Path, written: bytes, names: list[str], expected: str | None) -> None:
    tables, problems = read(tmp_path, NAME, written)
    assert tables["comm_ops"].text("name").tolist() == names
    assert codes(problems) == ([expected] if expected else [])


def test_links_become_rows_and_those_of_a_wrong_shape_are_skipped(tmp_path: Path) -> None:
    bad = {"x-y": LINK, "0-2": None, "0-" + "9" * 30: LINK}
    entries = {"allreduce-top1@77": {"0-1": {**LINK, "Op Name": "hcom_a"}, **bad}, "allreduce-total@77": {"1-0": LINK}}
    tables, problems = read(tmp_path, MATRIX, content(**entries))
    of = {"step": "5", "kind": "collective", "op_type": "allreduce", "group": "77", "transport": "HCCS"}
    moved = {"size_bytes": 4_128_776, "time_ns": 8220, "bandwidth": 502.2746}
    assert rows(tables["comm_links"]) == [
        {**of, "stat": "top1", "src": 0, "dst": 1, **moved, "op_name": "hcom_a"},
        {**of, "stat": "total", "src": 1, "dst": 0, **moved, "op_name": None},
    ]
    assert codes(problems) == ["unexpected_shape x3"]


@pytest.mark.parametrize(("moved", "transit", "idle"), [(True, NULL_INT, NULL_INT), (False, 0, 2_000_000)])
def test_a_transit_of_0_is_unknown_where_links_moved_data(tmp_path: Path, moved: bool, transit: int, idle: int) -> None:
    """622 MB at 19 GB/s stood beside a transfer of 0 ns."""
    tables, _ = read(tmp_path, NAME, ops(hcom_a=op(moved, **{"Transit Time(ms)": 0, "Idle Time(ms)": 2})))
    assert tables["comm_ops"].ints("transit_ns").tolist() == [transit]
    assert tables["comm_ops"].ints("idle_ns").tolist() == [idle]
