"""tools/new_view.py writes a view into the places that the sources have today."""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

EDITED = ("i18n/dictionary.ts", "views/registry.ts")
SPEC = importlib.util.spec_from_file_location("new_view", ROOT / "tools" / "new_view.py")


def test_a_view_is_written_and_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert SPEC is not None and SPEC.loader is not None
    tool = importlib.util.module_from_spec(SPEC)
    SPEC.loader.exec_module(tool)
    for name in EDITED:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "frontend" / "src" / name, tmp_path / name)
    for folder in ("tb_npu_plugin/views", "tests/unit/views", "docs", "views"):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "tb_npu_plugin" / "messages.json", tmp_path / "tb_npu_plugin")
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    monkeypatch.setattr(tool, "FRONTEND", tmp_path)
    monkeypatch.setattr(sys, "argv", ["new_view.py", "my_view", "--title", "My view", "--chinese", "我的视图"])
    tool.main()
    compile((tmp_path / "tb_npu_plugin/views/my_view.py").read_text(), "my_view.py", "exec")
    assert {path.name for path in (tmp_path / "views" / "my_view").iterdir()} == {"index.tsx", "terms.json"}
    dictionary, registry = ((tmp_path / name).read_text() for name in EDITED)
    assert "...myViewTerms," in dictionary and "my_view/terms.json" in dictionary
    messages = json.loads((tmp_path / "tb_npu_plugin" / "messages.json").read_text(encoding="utf-8"))
    assert messages["view.my_view"] == {"en": "My view", "zh": "我的视图"} and 'import("./my_view")' in registry
    with pytest.raises(SystemExit, match="there is such a view"):
        tool.main()
