"""The harness that the benchmarks judge themselves with; no figure of ours is measured here."""

from __future__ import annotations

import pytest

from benchmarks.harness import Bar, report


def test_a_bar_that_falls_short_fails_the_script(capsys: pytest.CaptureFixture[str]) -> None:
    assert report([Bar("good", 0.29, 0.3), Bar("told only", 9.0), Bar("small", 9.0, 1.0, unjudged="too small")]) == 0
    assert report([Bar("good", 0.29, 0.3), Bar("bad", 0.31, 0.3)]) == 1
    assert report([Bar("unknown", float("nan"), 0.3)]) == 1
    assert "falls short" in capsys.readouterr().out
