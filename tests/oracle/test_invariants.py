"""Invariants of results, and what the ranks of a run share. Source: docs/facts/ascend_pt.md, Invariants."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import pytest

from tests.oracle.raw import FULL, Raw, every_result, raw
from tests.support import mock, mock_mindspore
from tests.support.fixtures import folders
from tests.support.invariants import check_all, query

#: Runs that the pairs of tests/unit/capture/models/test_pairs.py do not have.
QUICK = ("both_not_synced", "both_mstx", "cluster_910a", "mindspore/cluster")
RUNS = dict.fromkeys(mock.RUNS, (mock.run, "*_ascend_pt"))
RUNS |= {f"mindspore/{name}": (mock_mindspore.run, "*_ascend_ms") for name in mock_mindspore.RUNS}

#: Fixtures that lack files on purpose.
PARTIAL = ("db_only", "text_and_db")


@pytest.mark.parametrize("folder", [param for param in every_result() if not str(param.id).startswith(PARTIAL)])
def test_fixtures(folder: Path) -> None:
    assert check_all(raw(folder).folder)


@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name in QUICK else FULL) for name in RUNS])
def test_simulated_runs(name: str) -> None:
    run, pattern = RUNS[name]
    found = list(run(name.rpartition("/")[2])[0].glob(pattern))
    assert found
    for folder in found:
        checked = check_all(folder, synced="not_synced" not in name)
        assert checked or "level_none" in name or "db_only" in name


def test_every_spelling_is_among_the_fixtures() -> None:
    found = [Raw(folder) for folder in folders("results") if Raw(folder).has("kernel_details.csv")]
    headers = [set(result.kernels[0]) for result in found]
    names = {"Block Dim", "Block Num", "Device_id", "OP State", "Step Id", "aic_mac_ratio", "aiv_ub_read_bw(GB/s)"}
    assert names <= set().union(*headers)
    assert any("OP State" not in own and "Type" in own for own in headers)
    assert any("Step Id" not in own for own in headers)
    cores = {"AI_CORE", "AI_VECTOR_CORE", "MIX_AIC", "MIX_AIV", "AI_CPU", "DSA_SQE", "HCCL", "COMMUNICATION", "N/A"}
    assert cores == {row["Accelerator Core"] for result in found for row in result.kernels}


@pytest.mark.parametrize("name", ["cluster_910a", *(pytest.param(name, marks=FULL) for name in ("cluster", "resnet"))])
def test_17_simulated_ranks_share_the_keys_of_their_groups(name: str) -> None:
    keys = []
    for rank in map(Raw, sorted(mock.run(name)[0].glob("*_ascend_pt"))):
        own = {
            (step, key)
            for step, kinds in rank.json("communication.json").items()
            for op in kinds.values()
            for key in op
        }
        keys.append({_group_and_key(*key) for key in own if key[1] != "Total Op Info"})
        assert {step for _, step, _ in keys[-1]} == {f"step{number}" for number, _, _ in rank.steps}
    assert len(keys) > 1
    for one, other in combinations(keys, 2):
        common = {group for group, *_ in one} & {group for group, *_ in other}
        assert {key for key in one if key[0] in common} == {key for key in other if key[0] in common}


def _group_and_key(step: str, key: str) -> tuple[str, str, str]:
    """A send of one rank is the receive of the other."""
    return key.split("@")[1], step, key.replace("hcom_send_", "hcom_p2p_").replace("hcom_receive_", "hcom_p2p_")


def test_a_database_export_has_no_text_and_is_marked_as_simulated() -> None:
    (folder,) = mock.run("db_only")[0].glob("*_ascend_pt")
    assert {path.name for path in Raw(folder).output.iterdir()} == {"ascend_pytorch_profiler_0.db", "analysis.db"}
    metadata = dict(query(folder, "SELECT name,value FROM META_DATA"))
    assert metadata["SCHEMA_VERSION"] == "1.0.0" and json.loads(metadata["tb_npu_simulated"]) is True
    assert "ENV_VARIABLES" in metadata
    assert "ENV_VARIABLES" not in json.loads((folder / "profiler_metadata.json").read_text())
