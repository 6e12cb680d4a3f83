"""Paths and options that all tests share."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

pytest.register_assert_rewrite("tests.support.invariants", "tests.support.ledger_laws")
from tb_npu_plugin.user_cache import cache_root  # noqa: E402
from tests.support.scanners import scanner  # noqa: E402, F401

ROOT = Path(__file__).parent.parent
FIXTURES = ROOT / "fixtures"

# No deadlines: the machine may be busy. CI tries the same examples each time, developers' machines look for new ones.
# `make test-all` (-m "full or not full") tries more examples.
for _name, _examples in (("quick", 40), ("full", 400)):
    settings.register_profile(
        _name,
        max_examples=_examples,
        deadline=None,
        derandomize="CI" in os.environ,
        suppress_health_check=list(HealthCheck),
    )
# Hypothesis also draws constants of the loaded modules of the project, which depend on the tests before. It has no setting
# for that.
providers: Any = sys.modules.get("hypothesis.internal.conjecture.providers")
if "CI" in os.environ and hasattr(providers, "constants_from_module") and hasattr(providers, "Constants"):
    providers.constants_from_module = lambda module: providers.Constants()

# A background job ignores Ctrl-C, one of nohup SIGHUP, and so would each program that a test starts and interrupts.
for _number, _handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_number) == signal.SIG_IGN:
        signal.signal(_number, _handler)


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("full" if "full or" in config.option.markexpr else "quick")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--docs", action="store_true", help="write the screenshots into docs/img")


@pytest.fixture(scope="session")
def cache_of_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All workers of pytest-xdist share it, so that each result is read once in a run; with the simulated NPU of the user,
    which takes half a minute to build."""
    folder = tmp_path_factory.getbasetemp()
    cache = (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "cache"
    cache.mkdir(mode=0o700, exist_ok=True)
    device = cache_root() / "device"
    if device.is_dir():
        with contextlib.suppress(FileExistsError):
            (cache / "device").symlink_to(device)
    return cache


@pytest.fixture(autouse=True)
def _own_cache(cache_of_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or fills the user's cache."""
    if "TB_NPU_CACHE_DIR" not in os.environ:
        monkeypatch.setenv("TB_NPU_CACHE_DIR", str(cache_of_run))


@pytest.fixture(autouse=True)
def _no_defect(request: pytest.FixtureRequest) -> Iterator[None]:
    """What catches a defect of a rule, a view, a finder or a route hides it from the test. Tests that make one have the mark `defect`."""
    found: list[str] = []
    handler = logging.Handler(logging.ERROR)
    handler.emit = lambda record: found.append(record.getMessage()) if record.exc_info else None  # type: ignore[method-assign]
    logger = logging.getLogger("tb_npu_plugin")
    logger.addHandler(handler)
    yield
    logger.removeHandler(handler)
    assert found == [] or request.node.get_closest_marker("defect")
