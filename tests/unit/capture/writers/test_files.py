"""Which files a result has, and that no temporary file is left.
Source: docs/facts/ascend_pt.md, Files and when they are written."""

from __future__ import annotations

import json

import pytest

from tests.support.mock import LEVELS, RUNS, SWITCHES, rank_folder, run, switched

ALWAYS = {"trace_view.json", "operator_details.csv"}
KERNELS = {"kernel_details.csv", "step_trace_time.csv", "l2_cache.csv", "task_time.csv"}
LEVEL_1 = {"op_statistic.csv", "api_statistic.csv"}
MEMORY = {"operator_memory.csv", "memory_record.csv"}
MODULES = {"npu_module_mem.csv"}
COMMUNICATION = {"communication.json", "communication_matrix.json"}


def files_of(level: str, switch: str) -> set[str]:
    """docs/facts/ascend_pt.md, Files and when they are written. The run communicates and has kernels on the AI CPU."""
    number, npu, cpu = LEVELS[level], switch != "cpu_only", switch != "npu_only"
    found = {"trace_view.json"} | ({"operator_details.csv"} if cpu else set())
    if switch != "no_memory":
        found |= MEMORY | (MODULES if npu and number >= 0 else set())
    if npu and number >= 0:
        found |= KERNELS - (set() if switch == "l2_cache" else {"l2_cache.csv"})
    if npu and number >= 1:
        found |= LEVEL_1 | COMMUNICATION
    return found | ({"data_preprocess.csv"} if npu and number >= 2 else set())


@pytest.mark.parametrize(
    ("level", "switch"),
    [
        *((level, "plain") for level in LEVELS),
        *(("level2", switch) for switch in SWITCHES if switch != "plain"),
        *(
            pytest.param(level, switch, marks=pytest.mark.full)
            for level in LEVELS
            for switch in SWITCHES
            if level != "level2" and switch != "plain"
        ),
    ],
)
def test_each_switch_alone_at_each_level(level: str, switch: str) -> None:
    (folder,) = run(switched(level, switch))[0].glob("*_ascend_pt")
    found = {path.name for path in (folder / "ASCEND_PROFILER_OUTPUT").iterdir()}
    assert {name for name in found if not name.endswith(".db")} == files_of(level, switch)
    device = LEVELS[level] >= 0 and switch != "cpu_only"
    assert {name for name in found if name.endswith(".db")} == (
        {"ascend_pytorch_profiler_1.db"} | ({"analysis.db"} if device else set())
    )


@pytest.mark.parametrize("name", ["cluster", "db_only"])
def test_every_result_says_that_it_is_simulated(name: str) -> None:
    folder = run(name)[0]
    results = list(folder.glob("*_ascend_pt"))
    assert len(results) == len(RUNS[name].only or range(RUNS[name].ranks))
    for result in results:
        assert json.loads((result / "profiler_metadata.json").read_text())["tb_npu_simulated"] is True
        (info,) = result.glob("profiler_info_*.json")
        assert json.loads(info.read_text())["rank_id"] == int(info.stem.rsplit("_", 1)[1])


def test_metadata_names_the_groups_of_a_rank() -> None:
    folder = rank_folder(run("cluster")[0], 3)
    content = json.loads((folder / "profiler_metadata.json").read_text())
    groups = {info["group_name"]: info for info in content["parallel_group_info"].values()}
    # 8 ranks, tp 2, pp 2, dp 2: rank 3 is the second of tp and dp in the first stage
    assert groups["default_group"]["global_ranks"] == list(range(8))
    assert groups["tp"] == {"group_name": "tp", "group_rank": 1, "global_ranks": [2, 3]}
    assert groups["dp"] == {"group_name": "dp", "group_rank": 1, "global_ranks": [1, 3]}
    assert groups["pp"] == {"group_name": "pp", "group_rank": 0, "global_ranks": [3, 7]}
    assert content["distributed_args"]["tensor_model_parallel_size"] == 2


def test_level_0_prunes_the_calls_of_cann() -> None:
    folder = rank_folder(run("cluster_level0")[0], 1)
    text = (folder / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").read_text()
    assert "AscendCL@" not in text and "Node@" not in text and "Notify_Wait" not in text
    assert '"HostToDevice"' in text
