"""The advisor of msprof-analyze and `tb-npu diagnose` on the same data: the facts that docs/rules_compared.md claims.

Compared are categories, tables and figures of the advisor's workbook, not its sentences.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import tb_npu_plugin.api as npu
from tests.conftest import FIXTURES
from tests.programs import python_of
from tests.programs.workbooks import Sheets, sheets
from tests.support.real_data import REAL_DATA, skip_without

pytestmark = pytest.mark.full
DATA = {
    "demo": FIXTURES / "demo" / "transformer_slow_rank",
    "text": REAL_DATA / "ascend_pt_text_level1",
    "db": REAL_DATA / "ascend_pt_db_level1",
}


@pytest.fixture(scope="module")
def workbooks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Sheets]:
    """What the advisor writes about each data set that is present. It writes beside its input, so it gets a copy."""
    python, root = python_of("msprof-analyze"), tmp_path_factory.mktemp("advisor")
    jobs = []
    for name, folder in DATA.items():
        if folder.is_dir():
            shutil.copytree(folder, root / "data" / name, copy_function=shutil.copyfile)
            words = ["advisor", "all", "-l", "en", "-d", str(root / "data" / name)]
            jobs.append((str(root / name), [*words, "-o", str(root / name), "--force"]))
    runner = Path(__file__).with_name("msprof_runs.py")
    subprocess.run([python, runner], input=json.dumps(jobs), text=True, check=True, timeout=500, cwd=root)
    return {Path(out).name: sheets(next(Path(out).rglob("*.xlsx"))) for out, _ in jobs}


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Our diagnosis of each data set that is present."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TB_NPU_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        return {name: npu.open(folder).diagnose() for name, folder in DATA.items() if folder.is_dir()}


def categories(sheets: Sheets) -> str:
    """Categories of all problems that the advisor reports."""
    return "\n".join(row["category"] for row in sheets["problems"]).lower()


def costs(found: dict[str, Any]) -> dict[str, float]:
    """Rule -> ms per step of its costliest finding."""
    return {one["rule"]: one["ms_per_step"] for one in reversed(found["findings"])}


def needs(name: str) -> Path:
    return skip_without(DATA[name])


def test_slow_rank_of_the_demo(workbooks: dict[str, Sheets], ours: dict[str, dict[str, Any]]) -> None:
    """Both see it. The advisor compares the slowest rank with the fastest, and puts no time on any problem."""
    theirs = workbooks["demo"]
    computing: dict[str, float] = {}
    for row in theirs["slow rank"]:
        computing[row["rank_id"]] = computing.get(row["rank_id"], 0.0) + float(row["compute(us)"])
    assert max(computing, key=lambda rank: computing[rank]) == "5" and len(computing) == 8
    assert "kernel compare of rank5" in categories(theirs)
    assert not any(row["income(us)"] for row in theirs["problems"])
    first = ours["demo"]["findings"][0]
    assert (first["rule"], first["subject"]["rank"], first["severity"]) == ("straggler", 5, "high")
    assert first["ms_per_step"] == pytest.approx(18.9, abs=0.1)


@pytest.mark.parametrize(("name", "rank", "wait"), [("text", 5, 96.08), ("db", 6, 84.35)])
def test_rank_without_a_profile(
    name: str, rank: int, wait: float, workbooks: dict[str, Sheets], ours: dict[str, dict[str, Any]]
) -> None:
    """The advisor knows the two profiled ranks alone. The other rank that they wait for is our first finding."""
    needs(name)
    theirs = workbooks[name]
    assert {row["rank_id"] for row in theirs["slow rank"]} == {"0", "1"}
    assert "compare of rank" not in categories(theirs), "it compares ranks where one is slow"
    first = ours[name]["findings"][0]
    assert (first["rule"], first["subject"]["rank"]) == ("unprofiled_rank", rank)
    assert first["ms_per_step"] == pytest.approx(wait, abs=0.01)


def test_dynamic_shapes_are_not_claimed(workbooks: dict[str, Sheets], ours: dict[str, dict[str, Any]]) -> None:
    """The advisor claims them for text, from OP State alone, and for the database not; the shapes never change."""
    for name in ("text", "db"):
        needs(name)
        assert "dynamic_shapes" not in costs(ours[name])
        assert "dynamic_shapes" in {one["rule"] for one in ours[name]["unchecked"]}, "one step cannot tell"
    assert "dynamic shape" in categories(workbooks["text"])
    assert "dynamic shape" not in categories(workbooks["db"])
    assert "dynamic shape" in categories(workbooks["demo"]) and "dynamic_shapes" not in costs(ours["demo"])


@pytest.mark.parametrize(("name", "least"), [("text", 3.3), ("db", 3.3)])
def test_compilation_of_fewer_than_20_operators(
    name: str, least: float, workbooks: dict[str, Sheets], ours: dict[str, dict[str, Any]]
) -> None:
    """19 compilations per step are too few for the advisor, which counts calls. We report their time."""
    needs(name)
    assert not re.search("compile|dispatch", categories(workbooks[name]))
    assert costs(ours[name])["operator_compile"] >= least


def test_exports_of_one_workload_get_one_advice(workbooks: dict[str, Sheets], ours: dict[str, dict[str, Any]]) -> None:
    """The two runs are the same training, exported in two ways. Apart from memory, which differs between the runs, our rules
    find the same; the advisor does not."""
    needs("text")
    needs("db")
    rules = [{one["rule"] for one in ours[name]["findings"] if one["category"] != "memory"} for name in ("text", "db")]
    assert rules[0] == rules[1]
    assert categories(workbooks["text"]) != categories(workbooks["db"])
    assert "no bound" in categories(workbooks["db"]) and "no bound" not in categories(workbooks["text"])


@pytest.mark.parametrize("name", ["text", "db"])
def test_alignment_is_reported_only_if_it_costs_time(
    name: str, workbooks: dict[str, Sheets], ours: dict[str, dict[str, Any]]
) -> None:
    """The advisor lists two operators. 7 % of their packets are unaligned and lose 0.02 ms: below both limits of ours."""
    needs(name)
    listed = workbooks[name]["Byte Alignment Analysis"]
    assert listed and sum(float(row["abnormal duration(us)"]) for row in listed) < 600
    assert "byte_alignment" not in costs(ours[name])
