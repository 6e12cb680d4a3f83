"""The texts that tools/gen_texts.py finds in the sources."""

from __future__ import annotations

import importlib.util
import re
from types import ModuleType

from tests.conftest import ROOT


def gen_texts() -> ModuleType:
    """The tool as a module."""
    spec = importlib.util.spec_from_file_location("gen_texts", ROOT / "tools" / "gen_texts.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Texts:
    """Tells whether the frontend knows a text, as its `translate` does."""

    def __init__(self) -> None:
        self._whole = set(gen_texts().server_texts())
        parts = (re.sub(r"\\\{\d\\\}", "(.+?)", re.escape(text)) for text in self._whole if re.search(r"\{\d\}", text))
        self._pattern = re.compile("|".join(parts), re.DOTALL)

    def knows(self, text: str) -> bool:
        """It is one of the texts."""
        return text in self._whole or self._pattern.fullmatch(text) is not None
