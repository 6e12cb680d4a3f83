"""The rank at the root of a chain of waits has one name: on the sentence, the ledger, the bars, the strips and Distributed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_npu_plugin.capture.models.catalog import Sizes
from tb_npu_plugin.capture.models.run import Recipe
from tb_npu_plugin.capture.writers.options import Options
from tests.http.conftest import Browser, serving
from tests.support.mock import written
from tests.unit.discovery.test_watch import until

#: Rank 0 receives from rank 4, which waits for rank 5 at a collective: rank 0 never communicates with rank 5.
RUN = Recipe(
    *("tiny", 8), tp=2, pp=2, steps=2, faults=("slow-host:5",), sizes=Sizes(layers=2), options=Options(stack=False)
)


@pytest.mark.slow
def test_the_root_of_a_chain_has_one_name_at_every_door(tmp_path: Path) -> None:
    with serving(tmp_path, str(written(RUN)[0])) as browser:
        span, *_ = browser.spans()
        (run,) = browser.json("/api/catalog")["runs"]
        assert until(lambda: not browser.view("diagnosis", run=run["id"], span=span)["preliminary"])
        assert "Rank 5" in browser.view("diagnosis", run=run["id"], span=span)["data"]["verdict"]["message"]
        assert names(browser, run["id"], span) == dict.fromkeys(("ledger", "bar", "card", "strip", "operators"), 5)


def names(browser: Browser, run: str, span: str) -> dict[str, int]:
    """Whom rank 0 waits for longest, by the door."""
    (ledger,) = [one for one in browser.view("diagnosis", run=run, span=span)["data"]["ledgers"] if one["rank"] == 0]
    waits = [one for one in ledger["entries"] if one["entry"] == "waiting"]
    distributed = browser.view("distributed", run=run, span=span)
    (budget, *_) = [one for one in distributed["data"]["budgets"] if one["rank"] == 0]
    (step, *_) = browser.view("overview", run=run, span=span)["data"]["steps"]
    lines = browser.view("trace_ranks", run=run, span=span)
    source, end = {"span": span, "zero": lines["base_ns"]}, lines["data"]["lines"][0]["end"]
    (strip,) = browser.timeline("ranks", source, t0=0, t1=end).get_json()["ranks"]
    operators = distributed["tables"]["ops"]["data"]
    own = [at for at, rank in enumerate(operators["rank"]) if rank == 0]
    longest = max(own, key=lambda at: operators["waiting_ns"][at] or 0)
    return {
        "ledger": max(waits, key=lambda one: one["ns"])["culprit"],
        "bar": budget["waiting_for"][0]["rank"],
        "card": step["waiting_for"][0]["rank"],
        "strip": int(strip["waits_for"]),
        "operators": int(operators["latest_rank"][longest].split()[0]),
    }
