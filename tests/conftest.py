"""Paths and options that all tests share."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

pytest.register_assert_rewrite("tests.support.invariants")
from tests.support.scanners import scanner  # noqa: E402, F401

ROOT = Path(__file__).parent.parent
FIXTURES = ROOT / "fixtures"

# No test is timed: how long an example takes says how busy the machine is. CI tries the same examples each time, so that a
# change is judged by what it changed; developers' machines go on looking for new ones. Examples may be large and may share
# a fixture. `make test-all` (-m "full or not full") tries more examples than `make test`.
for _name, _examples in (("quick", 60), ("full", 400)):
    settings.register_profile(
        _name,
        max_examples=_examples,
        deadline=None,
        derandomize="CI" in os.environ,
        suppress_health_check=list(HealthCheck),
    )
# Hypothesis also draws constants of those modules of ours that are loaded: others after other tests. It has no setting
# for that, so we look whether there is what it does that with.
providers: Any = sys.modules.get("hypothesis.internal.conjecture.providers")
if "CI" in os.environ and hasattr(providers, "constants_from_module") and hasattr(providers, "Constants"):
    providers.constants_from_module = lambda module: providers.Constants()

# A job that a script put in the background ignores Ctrl-C (and one that nohup began that the terminal is closed), and so
# would each program that a test starts and interrupts.
for _number, _handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_number) == signal.SIG_IGN:
        signal.signal(_number, _handler)


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("full" if "full or" in config.option.markexpr else "quick")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--docs", action="store_true", help="write the screenshots into docs/img")


def real_data() -> Path | None:
    """Folder with the profiles recorded on real NPUs; None where it is absent."""
    folder = Path(os.environ.get("NPU_REAL_DATA", ROOT.parent / "shared" / "real-data"))
    return folder if (folder / "ascend_pt_text_level1").is_dir() else None


@pytest.fixture(scope="session")
def real_text_run() -> Path:
    """The run ascend_pt_text_level1 (two ranks of an AlexNet on 910B); skips where it is absent."""
    folder = real_data()
    if folder is None:
        pytest.skip("no real data: set NPU_REAL_DATA to the folder that holds ascend_pt_text_level1")
    return folder / "ascend_pt_text_level1"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or fills the user's cache; within one test run the cache is shared."""
    if "TB_NPU_CACHE_DIR" not in os.environ:
        monkeypatch.setenv("TB_NPU_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "cache"))
