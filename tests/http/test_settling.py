"""Files that were still written when they were read settle at any moment, also between two looks of one request."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_npu_plugin.plugin import NpuPlugin
from tb_npu_plugin.store import library
from tests.http.conftest import Browser, context
from tests.unit.store.results import NAME, write_result


@pytest.mark.parametrize("looks", range(8))
def test_a_trace_that_settles_within_a_request_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looks: int
) -> None:
    # The view was said to be ready at one look and had no trace at the next: it failed, though nothing was wrong.
    monkeypatch.setattr(library, "is_settled", lambda files: False)
    write_result(tmp_path / "logs" / NAME)
    plugin = NpuPlugin(context(str(tmp_path / "logs")))
    browser = Browser(plugin)
    (span,) = browser.spans()
    assert browser.view("trace", span=span)["state"] == "ready"
    left = iter(range(looks))
    monkeypatch.setattr(library, "is_settled", lambda files: next(left, None) is None)
    assert browser.json("/api/view/trace", span=span)["state"] in ("ready", "reading")
    assert browser.view("trace", span=span)["state"] == "ready"
    plugin.app().library.close()
