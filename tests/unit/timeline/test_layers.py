"""For the server, a new layer is a class and a line in LAYERS: then all questions are answered for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tb_npu_plugin.service import answers
from tb_npu_plugin.service.layers import LayerKind
from tb_npu_plugin.store.timeline.layer import Layer
from tb_npu_plugin.store.timeline.open import Timeline
from tests.http.conftest import serving, write_run
from tests.support.ask import part
from tests.support.trace import event, open_trace


@dataclass(frozen=True)
class Toy(Layer):
    """Rows of another tool."""

    trace: Timeline


def test_a_new_layer_is_a_class_and_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, _ = open_trace([event("toy", 5, 3), event("toy", 20, 1)], tmp_path)
    layers: Mapping[str, LayerKind] = {"toy": LayerKind(lambda trace, span: Toy(rows, trace))}
    monkeypatch.setattr(answers, "LAYERS", layers)
    with serving(tmp_path, str(write_run(tmp_path / "logs"))) as browser:
        span = browser.spans()[0]
        browser.view("trace", span=span)
        toy = {"span": span, "layer": "toy", "rows": [[0, 0, 0]]}
        _, bars = part(browser.timeline("rows", toy, t0=0, t1=10**9, px=1).data, "0")
        assert bars["dur"].tolist() == [3000, 1000]
        assert browser.timeline("slice", toy, id=1).get_json()["name"] == "toy"
        assert browser.timeline("find", toy, name="toy", at=15_000).get_json() == {"id": 1}
        both = [toy, {**toy, "layer": "trace"}]
        stats = browser.timeline("stats", both, t0=0, t1=10**9, by="name").get_json()["table"]["data"]
        assert sorted(stats["name"]) == ["aten::add", "toy"]
        assert browser.timeline("layer", toy).get_json() == {"rows": [], "labels": [], "replaced": []}
