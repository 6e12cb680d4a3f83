"""Files that were read while they were written settle at any moment, also within a request."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_npu_plugin.store import library
from tests.http.conftest import serving
from tests.unit.store.results import NAME, write_result


def test_a_trace_that_settles_within_a_request_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The view was ready at one look and had no trace at the next: it failed without a reason.
    monkeypatch.setattr(library, "is_settled", lambda files: False)
    for number in range(8):
        write_result(tmp_path / "logs" / str(number) / NAME)
    with serving(tmp_path, str(tmp_path / "logs")) as browser:
        spans = browser.spans()
        assert [browser.view("trace", span=span)["state"] for span in spans] == ["ready"] * 8
        for looks, span in enumerate(spans):
            left = iter(range(looks))
            monkeypatch.setattr(library, "is_settled", lambda files, left=left: next(left, None) is None)
            assert browser.json("/api/view/trace", span=span)["state"] in ("ready", "reading")
            assert browser.view("trace", span=span)["state"] == "ready"
            monkeypatch.setattr(library, "is_settled", lambda files: False)
