"""msprof-analyze, the vendor's command line, reads what `tb-npu mock` writes, and finds what was put in."""

from __future__ import annotations

import csv
import json
import re
import sqlite3
import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from zipfile import ZipFile

import pytest

from tb_npu_plugin.capture.models.catalog import Sizes
from tb_npu_plugin.capture.models.run import Recipe
from tb_npu_plugin.capture.writers.dialect import Options
from tests.oracle.raw import Raw
from tests.oracle.shown import show
from tests.programs.environments import python_of
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
MODES = (
    "all",
    "cann_api_sum",
    "cluster_time_summary",
    "communication_bottleneck",
    "communication_group_map",
    "communication_matrix_sum",
    "communication_time_sum",
    "computational_op_masking",
    "compute_op_sum",
    "export_summary",
    "free_analysis",
    "freq_analysis",
    "hccl_sum",
    "mstx2commop",
    "slow_rank",
)
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
        with (out / "all.text" / "cluster_analysis_output" / "cluster_step_trace_time.csv").open() as file:
            rows = [{key.lower(): value for key, value in row.items()} for row in csv.DictReader(file)]
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
    folder = out / "mindspore.text"
    assert "profiling type: mindspore" in said(folder)
    with (folder / "cluster_analysis_output" / "cluster_step_trace_time.csv").open() as file:
        theirs = {(row["Step"], row["Index"]): float(row["Computing"]) for row in csv.DictReader(file)}
    ours = {
        (row["Step"], str(rank)): float(row["Computing"])
        for rank in range(4)
        for row in Raw(rank_folder(data("mindspore", "text"), rank)).csv("step_trace_time.csv")
    }
    assert theirs == ours and len(theirs) == 8
    for step in ("11", "12"):
        assert max(range(4), key=lambda rank: theirs[step, str(rank)]) == SLOW
    # the databases have no steps: all that communicated is there once, of each rank
    rows = [
        row for row in table(out / "mindspore.db", "ClusterCommunicationTime") if row["hccl_op_name"] != "Total Op Info"
    ]
    names = {row["Name"].split("@")[0] for row in Raw(rank_folder(data("mindspore", "text"), 0)).communicating}
    assert {(row["rank_id"], row["hccl_op_name"]) for row in rows} == {
        (rank, name) for rank in range(4) for name in names
    }
    elapsed = {rank: sum(row["elapsed_time"] for row in rows if row["rank_id"] == rank) for rank in range(4)}
    assert min(elapsed, key=lambda rank: elapsed[rank]) == SLOW  # the others wait for it


def test_links_are_those_that_we_show(out: Path) -> None:
    path = out / "all.text" / "cluster_analysis_output" / "cluster_communication_matrix.json"
    theirs = {
        (step[4:], *map(int, link.split("-"))): (round(found["Transit Size(MB)"] * 1e6), found["Transit Time(ms)"])
        for steps in json.loads(path.read_text()).values()
        for step, ops in steps.items()
        for name, links in ops.items()
        if name.startswith("Total Op Info")
        for link, found in links.items()
    }
    ours = show("distributed", *(rank_folder(data("cluster", "text"), rank) for rank in range(4))).data["links"]
    assert len(theirs) == len(ours) == 2 * 4 * 4
    for link in ours:
        size, time = theirs[link["step"], link["src_rank"], link["dst_rank"]]
        assert (size, time * 1e6) == (link["size_bytes"], pytest.approx(link["time_ns"], abs=1))


def test_the_slow_rank_is_found(out: Path) -> None:
    assert [row["rankId"] for row in table(out / "slow_rank.db", "SlowRank")] == [SLOW]
    assert {row["slowRankId"] for row in table(out / "communication_bottleneck.db", "CommunicationBottleneck")} == {
        SLOW
    }
    longest = max(table(out / "compute_op_sum.db", "ComputeOpPerRankStatsByOpType"), key=lambda row: row["MeanNs"])
    assert longest["Rank"] == SLOW
    for form in ("text", "db"):
        assert "slow rank" in said(out / f"advisor.{form}")


def test_the_slow_link_is_found(out: Path) -> None:
    slowest = table(out / "slow_link.db", "SlowLinkSum")[0]
    assert slowest["maxRank"] in LINK
    assert 4 < slowest["MaxNs"] / slowest["MedianNs"] <= 8  # what a transfer costs without its bytes stays


def test_sends_are_paired_with_receives(out: Path) -> None:
    pairs: dict[int, list[str]] = {}
    for rank in range(4):
        (base,) = rank_folder(data("pipeline", "db"), rank).glob("*/ascend_pytorch_profiler_*.db")
        with sqlite3.connect(base) as connection:
            query = "SELECT opConnectionId FROM COMMUNICATION_OP WHERE opConnectionId IS NOT NULL ORDER BY 1"
            pairs[rank] = [text for (text,) in connection.execute(query)]
    # tensor parallel ranks are neighbours: 0 talks to 2, 1 to 3
    assert pairs[0] and pairs[0] == pairs[2] and pairs[1] == pairs[3] != pairs[0]


@pytest.mark.parametrize("form", ["text", "db"])
def test_groups_are_named_and_tell_the_stages_of_the_pipeline(out: Path, form: str) -> None:
    """The program finds the stages by the names of the groups; what it takes for one is one for us."""
    folder = out / f"pipeline.{form}"
    if form == "text":
        found = json.loads((folder / "cluster_analysis_output" / "communication_group.json").read_text())
        groups = found["comm_group_parallel_info"]
        with (folder / "cluster_analysis_output" / "cluster_step_trace_time.csv").open() as file:
            rows = [(row["Type"], row["Index"]) for row in csv.DictReader(file)]
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


def test_kernels_taken_out_of_the_database_are_those_of_the_text(out: Path) -> None:
    (path,) = rank_folder(data("cluster", "db"), 0).glob("*/kernel_details.csv")  # export_summary wrote it
    headers = {
        "op_name": "Name",
        "op_type": "Type",
        "task_type": "Accelerator Core",
        "input_shapes": "Input Shapes",
        "task_duration": "Duration(us)",
        "aicore_time": "aicore_time(us)",
        "aiv_time": "aiv_time(us)",
    }
    with path.open() as file:
        rows = [row for row in csv.DictReader(file) if row["task_type"] != "COMMUNICATION"]
    theirs = sorted([plain(row[name]) for name in headers] for row in rows)
    ours = sorted(
        [plain(row[name]) for name in headers.values()]
        for row in Raw(rank_folder(data("cluster", "text"), 0)).computing
    )
    assert out and theirs == ours


def plain(text: str) -> str:
    """A figure without the zeros that only one of two writers adds."""
    try:
        return str(float(text))
    except ValueError:
        return text


@pytest.mark.parametrize("form", ["text", "db"])
def test_the_comparison_shows_what_was_slowed(out: Path, form: str) -> None:
    (path,) = (out / f"compare.{form}").glob("performance_comparison_result_*.xlsx")
    rows = {row[0].strip(): row for row in sheet(path) if row and row[0]}
    base, slowed = (float(rows["Computing Time"][column]) for column in (1, 4))
    assert slowed / base == pytest.approx(3, rel=0.05)
    kernels = Raw(rank_folder(data("cluster", "text"), SLOW)).computing
    assert slowed * 1000 == pytest.approx(sum(float(row["Duration(us)"]) for row in kernels))
    matmuls = [row for row in kernels if row["Type"].startswith("MatMul")]
    assert int(float(rows["Matmul"][6])) == len(matmuls) > 0


def sheet(path: Path) -> list[list[str]]:
    """Rows of the first sheet of a workbook."""
    space = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
    with ZipFile(path) as archive:
        texts = ["".join(item.itertext()) for item in ElementTree.fromstring(archive.read("xl/sharedStrings.xml"))]
        root = ElementTree.fromstring(archive.read("xl/worksheets/sheet1.xml"))
    out = []
    for row in root.iter(f"{space}row"):
        values = [(cell.get("t"), cell.findtext(f"{space}v") or "") for cell in row]
        out.append([texts[int(value)] if kind == "s" else value for kind, value in values])
    return out
