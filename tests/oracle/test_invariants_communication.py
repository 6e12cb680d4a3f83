"""Communication of one rank, and of ranks that communicate with each other.
Source: docs/facts/ascend_pt.md, Invariants, 12 and 17."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.oracle.raw import REAL_RUN, Raw, raw
from tests.oracle.test_invariants import all_results
from tests.support.fixtures import FIXTURES
from tests.support.mock import run


def _operations(content: Any) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    """(kind and step, operators, total) of communication.json where there are any."""
    out = []
    for step, kinds in content.items():
        for kind, entries in kinds.items():
            if entries:
                ops = {key: value for key, value in entries.items() if key != "Total Op Info"}
                out.append((f"{step}/{kind}", ops, entries["Total Op Info"]))
    return out


def _check_times(times: dict[str, float]) -> None:
    parts = times["Transit Time(ms)"] + times["Wait Time(ms)"]
    assert times["Idle Time(ms)"] == pytest.approx(times["Elapse Time(ms)"] - parts, abs=1e-9)
    for name in ("Wait", "Synchronization"):
        whole = times[f"{name} Time(ms)"] + times["Transit Time(ms)"]
        expected = times[f"{name} Time(ms)"] / whole if whole else 0
        assert times[f"{name} Time Ratio"] == pytest.approx(expected, abs=5.1e-5)


@pytest.mark.parametrize("folder", all_results("communication.json", "kernel_details.csv"))
def test_12_communication_identities(folder: Path) -> None:
    kernels = {row["Name"]: float(row["Duration(us)"]) for row in raw(folder).communicating}
    seen = set()
    for _, ops, total in _operations(raw(folder).json("communication.json")):
        for key, op in ops.items():
            name = key.split("@")[0]
            seen.add(name)
            _check_times(op["Communication Time Info"])
            assert op["Communication Time Info"]["Elapse Time(ms)"] * 1000 == pytest.approx(kernels[name], abs=0.01)
            for link, figures in op["Communication Bandwidth Info"].items():
                size, time = figures["Transit Size(MB)"], figures["Transit Time(ms)"]
                assert figures["Bandwidth(GB/s)"] == pytest.approx(size / time if time else 0, abs=1e-3)
                packets = figures["Size Distribution"]
                if link != "SDMA":
                    assert sum(float(p) * count for p, (count, _) in packets.items()) == pytest.approx(size, abs=1e-6)
                    assert sum(ms for _, ms in packets.values()) == pytest.approx(time, abs=1e-6)
            parts = [
                op["Communication Bandwidth Info"].get(k, {}).get("Transit Size(MB)", 0)
                for k in ("HCCS", "PCIE", "SIO")
            ]
            assert op["Communication Bandwidth Info"]["SDMA"]["Transit Size(MB)"] == pytest.approx(sum(parts), abs=1e-9)
        _check_times(total["Communication Time Info"])
        for key, value in total["Communication Time Info"].items():
            if key.endswith("(ms)"):
                assert value == pytest.approx(sum(op["Communication Time Info"][key] for op in ops.values()), abs=1e-9)
    assert seen == set(kernels)


MULTI_RANK = [FIXTURES / "results" / name for name in ("two_ranks", "old_spellings", "new_spellings")]
MULTI_RANK += [FIXTURES / "demo" / name for name in ("transformer_910b", "transformer_910b_tuned")]
MULTI_RANK.append(FIXTURES / "demo" / "transformer_slow_rank")


@pytest.mark.parametrize("run", [*(pytest.param(p, id=p.name) for p in MULTI_RANK), pytest.param(REAL_RUN, id="real")])
def test_17_ranks_share_steps_and_collectives(run: Path) -> None:
    raw(run)  # skips where the real data are absent
    ranks = [Raw(folder) for folder in sorted(run.glob("*_ascend_pt"))]
    assert len(ranks) >= 2
    first, *others = [rank.json("communication.json") for rank in ranks]
    for content in others:
        assert set(content) == set(first)
        for step in first:
            assert set(content[step]["collective"]) == set(first[step]["collective"])
    for number_, rank in enumerate(ranks):
        links = [
            link
            for step in rank.json("communication_matrix.json").values()
            for ops in step.values()
            for op in ops.values()
            for link in op
        ]
        assert {link.split("-")[0] for link in links} == {str(number_)}


@pytest.mark.parametrize("name", ["cluster", "cluster_910a", "cluster_nodes", "resnet"])
def test_17_ranks_of_the_mock_share_the_keys_of_their_groups(name: str) -> None:
    ranks = [Raw(folder) for folder in sorted(run(name)[0].glob("*_ascend_pt"))]
    assert len(ranks) > 1
    keys, groups = [], []
    for rank in ranks:
        content = rank.json("communication.json")
        names = {(step, key) for step in content for kind in content[step].values() for key in kind}
        keys.append({(step, key) for step, key in names if key != "Total Op Info"})
        groups.append({key.split("@")[1] for _, key in keys[-1]})
        assert {step for step, _ in keys[-1]} == {f"step{number}" for number, _, _ in rank.steps}
    for one in range(len(ranks)):
        for other in range(one):
            common = groups[one] & groups[other]
            shared = [{_type_free(key) for key in keys[n] if key[1].split("@")[1] in common} for n in (one, other)]
            assert shared[0] == shared[1]


def _type_free(key: tuple[str, str]) -> tuple[str, str]:
    """A send of one rank is the receive of the other."""
    return key[0], key[1].replace("hcom_send_", "hcom_p2p_").replace("hcom_receive_", "hcom_p2p_")
