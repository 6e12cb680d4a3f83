"""Functions that a capture replaces are afterwards what they were."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any, Callable

import pytest

from tb_npu_plugin.capture.api.hooks import Patches

MODULE = "patched_by_a_test"


class Method:
    """Like a method of C++: of an object it is bound, of its class it is a plain function that is bound to nothing."""

    def __get__(self, instance: Any, owner: Any) -> Callable[..., str]:
        return len if instance is None else lambda: f"bound to {instance}"  # type: ignore[return-value]


class Base:
    def inherited(self) -> str:
        return "of the base"


class Owner(Base):
    method = Method()

    def __repr__(self) -> str:
        return "it"


@pytest.fixture
def module() -> Iterator[ModuleType]:
    made = sys.modules[MODULE] = ModuleType(MODULE)
    made.Owner = Owner  # type: ignore[attr-defined]
    yield made
    del sys.modules[MODULE]


def wrapped(_: Callable[..., Any]) -> Callable[..., str]:
    return lambda *args: "wrapped"


def test_methods_are_as_they_were(module: ModuleType) -> None:
    before = dict(vars(Owner))
    patches = Patches()
    for path in ("Owner.method", "Owner.inherited", "Owner.missing", "Missing.method"):
        patches.replace(MODULE, path, wrapped)
    one = Owner()
    assert (one.method(), one.inherited()) == ("wrapped", "wrapped")
    patches.undo()
    assert (one.method(), one.inherited()) == ("bound to it", "of the base")
    assert dict(vars(Owner)) == before


def test_what_somebody_else_put_there_meanwhile_stays(module: ModuleType) -> None:
    module.one, module.other = len, max  # type: ignore[attr-defined]
    patches = Patches()
    for path in ("one", "other"):
        patches.replace(MODULE, path, wrapped)
    module.one = min  # type: ignore[attr-defined]
    patches.undo()
    assert (module.one, module.other) == (min, max)
