"""The harness that the benchmarks judge themselves with."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.all import SCRIPTS, run
from benchmarks.harness import Bar, report


def test_a_bar_that_falls_short_fails_the_script(capsys: pytest.CaptureFixture[str]) -> None:
    assert report([Bar("good", 0.29, 0.3), Bar("told only", 9.0), Bar("small", 9.0, 1.0, unjudged="too small")]) == 0
    assert report([Bar("good", 0.29, 0.3), Bar("bad", 0.31, 0.3)]) == 1
    assert report([Bar("unknown", float("nan"), 0.3)]) == 1
    assert "falls short" in capsys.readouterr().out


@pytest.mark.full
@pytest.mark.parametrize("name", SCRIPTS)
def test_every_script_runs(name: str, tmp_path: Path) -> None:
    """Its figures on small sizes say nothing."""
    found, failure = run(name, True, tmp_path, tmp_path)
    assert found and not failure
