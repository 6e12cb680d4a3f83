"""msprof-analyze, the vendor's command line, reads what `tb-npu mock` writes, and finds what was put in."""

from __future__ import annotations

import csv
import json
import re
import sqlite3
import subprocess
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.capture.models.catalog import Sizes
from tb_npu_plugin.capture.models.run import Recipe
from tb_npu_plugin.capture.writers.options import Options
from tests.oracle.raw import Raw
from tests.oracle.shown import show
from tests.programs import python_of
from tests.support.mock import rank_folder, written

pytestmark = pytest.mark.full
SLOW, LINK = 2, (4, 5)
#: Kernels long enough that a slow rank stands out from the chance of the arrivals.
CLUSTER = Recipe("tiny", 4, steps=2, sizes=Sizes(hidden=1024, sequence=2048), faults=(f"slow-rank:{SLOW}:3",))
PLAIN = replace(CLUSTER, faults=(), only=(SLOW,))
PIPELINE = Recipe("tiny", 4, tp=2, pp=2, steps=1)
#: As many pairs as it takes for one to be an outlier of three standard deviations.
PAIRS = Recipe(
    "tiny",
    24,
    tp=2,
    steps=1,
    sizes=Sizes(layers=1),
    faults=(f"slow-link:{LINK[0]}-{LINK[1]}:8",),
    options=Options(memory=False, stack=False),
)
MINDSPORE = replace(CLUSTER, framework="mindspore")
RECIPES = {"cluster": CLUSTER, "plain": PLAIN, "pipeline": PIPELINE, "pairs": PAIRS, "mindspore": MINDSPORE}

#: Analyses of the databases of a cluster; "all" is communication_time and communication_matrix. Not among them, since they need what a simulated training has not: mstx ranges
#: (module_statistic, mstx_sum, pp_chart), raw data of CANN (operator_mfu), a run on GPUs (calibrate_npu_gpu), experts
#: (ep_load_balance); and cluster_compare_baseline, whose module is not in the package.
MODES = [
    *("all", "cann_api_sum", "cluster_time_summary", "communication_bottleneck", "communication_group_map"),
    *("communication_matrix_sum", "communication_time_sum", "computational_op_masking", "compute_op_sum"),
    *("export_summary", "free_analysis", "freq_analysis", "hccl_sum", "mstx2commop", "slow_rank"),
]
#: The stacks of a database are asked for in a way that SQLite understands from 3.44 on.
OLD_SQLITE = 'near "ORDER": syntax error'


@cache
def data(name: str, form: str) -> Path:
    """A run in one form. Commands that write into it get one of their own."""
    recipe = RECIPES[name]
    return written(replace(recipe, options=replace(recipe.options, export=(form,))))[0]


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All commands have run; a folder for each: <what>.<form>/said, /status and what it made."""
    python = python_of("msprof-analyze")
    root = tmp_path_factory.mktemp("msprof")
    text, db = data("cluster", "text"), data("cluster", "db")

    def cluster(mode: str, of: Path, *more: str) -> list[str]:
        return ["cluster", "-m", mode, "-d", str(of), *more]

    def compare(form: str) -> list[str]:
        base, other = data("plain", form), text if form == "text" else db
        return ["compare", "-d", str(rank_folder(other, SLOW)), "-bp", str(rank_folder(base, SLOW))]

    commands = {
        "all.text": cluster("all", text),
        **{f"{mode}.db": cluster(mode, db) for mode in MODES},
        "slow_link.db": cluster("slow_link", data("pairs", "db")),
        "p2p_pairing.db": cluster("p2p_pairing", data("pipeline", "db")),
        **{f"pipeline.{form}": cluster("all", data("pipeline", form)) for form in ("text", "db")},
        **{f"mindspore.{form}": cluster("all", data("mindspore", form)) for form in ("text", "db")},
        **{f"compare.{form}": compare(form) for form in ("text", "db")},
        "advisor.text": ["advisor", "all", "-l", "en", "-d", str(text)],
        "advisor.db": ["advisor", "all", "-l", "en", "-d", str(db)],
    }
    jobs = [(str(root / name), [*words, "-o", str(root / name), "--force"]) for name, words in commands.items()]
    runner = Path(__file__).with_name("msprof_runs.py")
    subprocess.run([python, runner], input=json.dumps(jobs), text=True, check=True, timeout=500, cwd=root)
    return root


def said(folder: Path) -> str:
    return (folder / "said").read_text(errors="replace")


def rows_of(folder: Path, name: str) -> list[dict[str, str]]:
    """Rows of a CSV file that the program made."""
    with (folder / "cluster_analysis_output" / name).open() as file:
        return list(csv.DictReader(file))


def table(folder: Path, name: str) -> list[dict[str, Any]]:
    with sqlite3.connect(folder / "cluster_analysis_output" / "cluster_analysis.db") as base:
        base.row_factory = sqlite3.Row
        return [dict(row) for row in base.execute(f"SELECT * FROM {name}")]


def test_every_command_succeeds_and_complains_of_nothing(out: Path) -> None:
    folders = sorted(path.parent for path in out.glob("*/status"))
    assert len(folders) == len(MODES) + 11
    for folder in folders:
        assert (folder / "status").read_text() == "0", said(folder)
        wrong = re.findall(r"\[ERROR\].*|Traceback.*|.*Error: .*", said(folder))
        if folder.name == "advisor.db" and OLD_SQLITE in said(folder):
            wrong = [line for line in wrong if "Error loading API stack data" not in line]
        assert not wrong, (folder.name, said(folder))


@pytest.mark.parametrize("form", ["text", "db"])
def test_step_times_are_those_that_we_show(out: Path, form: str) -> None:
    if form == "text":
        found = rows_of(out / "all.text", "cluster_step_trace_time.csv")
        rows: list[dict[str, Any]] = [{key.lower(): value for key, value in row.items()} for row in found]
    else:
        rows = table(out / "all.db", "ClusterStepTraceTime")
    theirs = {(row["step"], int(row["index"])): row for row in rows if row["type"] == "rank"}
    ours = show("distributed", *(rank_folder(data("cluster", "text"), rank) for rank in range(4))).data["budgets"]
    assert {(budget["step"], budget["rank"]) for budget in ours} == set(theirs)
    for budget in ours:
        row = theirs[budget["step"], budget["rank"]]
        for key in ("computing", "overlapped", "free"):
            assert round(float(row[key]) * 1000) == budget[key], key
        for key in ("stage", "preparing"):  # text has them in steps of 250 ns
            assert round(float(row[key]) * 1000) == pytest.approx(budget[key], abs=0 if form == "text" else 250), key
        assert round(float(row["communication"]) * 1000) == budget["elapse"]


def test_results_of_mindspore_are_taken_for_that_and_show_the_slow_rank(out: Path) -> None:
    assert "profiling type: mindspore" in said(out / "mindspore.text")
    found = rows_of(out / "mindspore.text", "cluster_step_trace_time.csv")
    theirs = {(row["Step"], int(row["Index"])): float(row["Computing"]) for row in found}
    raw = [Raw(rank_folder(data("mindspore", "text"), rank)) for rank in range(4)]
    assert theirs == {
        (row["Step"], rank): float(row["Computing"])
        for rank, ours in enumerate(raw)
        for row in ours.csv("step_trace_time.csv")
    }
    for step in ("11", "12"):
        assert max(range(4), key=lambda rank: theirs[step, rank]) == SLOW
    elapsed: Counter[int] = Counter()
    for row in table(out / "mindspore.db", "ClusterCommunicationTime"):
        elapsed[row["rank_id"]] += row["elapsed_time"]
    assert min(range(4), key=lambda rank: elapsed[rank]) == SLOW  # the others wait for it


def test_the_slow_rank_and_the_slow_link_are_found(out: Path) -> None:
    assert [row["rankId"] for row in table(out / "slow_rank.db", "SlowRank")] == [SLOW]
    bottlenecks = table(out / "communication_bottleneck.db", "CommunicationBottleneck")
    assert {row["slowRankId"] for row in bottlenecks} == {SLOW}
    longest = max(table(out / "compute_op_sum.db", "ComputeOpPerRankStatsByOpType"), key=lambda row: row["MeanNs"])
    assert longest["Rank"] == SLOW
    assert all("slow rank" in said(out / f"advisor.{form}") for form in ("text", "db"))
    slowest = table(out / "slow_link.db", "SlowLinkSum")[0]
    assert slowest["maxRank"] in LINK
    assert 4 < slowest["MaxNs"] / slowest["MedianNs"] <= 8  # what a transfer costs without its bytes stays


@pytest.mark.parametrize("form", ["text", "db"])
def test_groups_are_named_and_tell_the_stages_of_the_pipeline(out: Path, form: str) -> None:
    """The program finds the stages by the names of the groups; what it takes for one is one for us."""
    folder = out / f"pipeline.{form}"
    if form == "text":
        found = json.loads((folder / "cluster_analysis_output" / "communication_group.json").read_text())
        groups = found["comm_group_parallel_info"]
        rows = [(row["Type"], row["Index"]) for row in rows_of(folder, "cluster_step_trace_time.csv")]
    else:
        groups = table(folder, "CommunicationGroupMapping")
        rows = [(row["type"], row["index"]) for row in table(folder, "ClusterStepTraceTime")]
    assert {(group["type"], group["pg_name"]) for group in groups} == {("collective", "tp"), ("p2p", "pp")}
    theirs = {frozenset(map(int, re.findall(r"\d+", index))) for kind, index in rows if kind == "stage"}
    states = show("distributed", *(rank_folder(data("pipeline", "text"), rank) for rank in range(4))).data["ranks"]
    ours: dict[int, set[int]] = {}
    for state in states:
        ours.setdefault(state["pipeline_stage"], set()).add(state["rank"])
    assert theirs == {frozenset(ranks) for ranks in ours.values()} == {frozenset({0, 1}), frozenset({2, 3})}
