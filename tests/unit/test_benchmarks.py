"""The harness that the benchmarks judge themselves with; no figure of ours is measured here."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import all as all_benchmarks
from benchmarks.harness import Bar, report


def test_a_bar_that_falls_short_fails_the_script(capsys: pytest.CaptureFixture[str]) -> None:
    assert report([Bar("good", 0.29, 0.3), Bar("told only", 9.0), Bar("small", 9.0, 1.0, unjudged="too small")]) == 0
    assert report([Bar("good", 0.29, 0.3), Bar("bad", 0.31, 0.3)]) == 1
    assert report([Bar("unknown", float("nan"), 0.3)]) == 1
    assert "falls short" in capsys.readouterr().out


def test_results_name_what_fell_short_and_what_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    start = f"import sys\nsys.path.insert(0, {str(all_benchmarks.ROOT)!r})\nfrom benchmarks.harness import *\n"
    (scripts / "scan.py").write_text(start + "sys.exit(report([Bar('a | b', 2.0, 1.0, data='some')]))")
    (scripts / "tables.py").write_text(start + "report([Bar('before', 0.5, 1.0)])\nraise SystemExit(3)")
    monkeypatch.setattr(all_benchmarks, "HERE", scripts)
    sections = [(name, *all_benchmarks.run(name, False, tmp_path, tmp_path)) for name in ("scan", "tables")]
    assert [failure for _, _, failure in sections] == ["", "ended with status 3; see what it printed"]
    text = all_benchmarks.written(sections, False)
    assert "Of 2 bars 1 hold and 1 fall short." in text
    assert "| a \\| b | 2 x | 1 x | **falls short** |  | some |" in text
    assert "**ended with status 3; see what it printed**" in text
