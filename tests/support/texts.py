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
        """It is one text, or two one after the other."""
        return self._is_one(text) or any(
            self._is_one(text[: stop.start() + 1]) and self._is_one(text[stop.end() :])
            for stop in re.finditer(r"\. ", text)
        )

    def _is_one(self, text: str) -> bool:
        return text in self._whole or self._pattern.fullmatch(text) is not None
