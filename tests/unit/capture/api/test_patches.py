"""Functions that a capture replaces are restored afterwards."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any, Callable

import pytest

from tb_npu_plugin.capture.api.hooks import Patches

MODULE = "patched_by_a_test"


class Method:
    """Like a C++ method: bound through an instance, a plain function through its class."""

    def __get__(self, instance: Any, owner: Any) -> Any:
        return len if instance is None else lambda: f"bound to {instance}"


class Base:
    def inherited(self) -> str:
        return "of the base"


class Owner(Base):
    method = Method()

    def __repr__(self) -> str:
        return "it"


def wrapped(_: Callable[..., Any]) -> Callable[..., str]:
    return lambda *args: "wrapped"


def test_functions_are_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType(MODULE)
    vars(module).update(Owner=Owner, one=len, other=max)
    monkeypatch.setitem(sys.modules, MODULE, module)
    before = dict(vars(Owner))
    patches = Patches()
    for path in ("Owner.method", "Owner.inherited", "Owner.missing", "Missing.method", "one", "other"):
        patches.replace(MODULE, path, wrapped)
    instance = Owner()
    assert (instance.method(), instance.inherited()) == ("wrapped", "wrapped")
    vars(module)["one"] = min  # somebody else replaces it
    patches.undo()
    assert (instance.method(), instance.inherited()) == ("bound to it", "of the base")
    assert dict(vars(Owner)) == before
    assert (module.one, module.other) == (min, max)
