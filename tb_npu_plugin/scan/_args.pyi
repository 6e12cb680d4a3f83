"""Values of chosen keys in the args of events; see native/args_module.c."""

from typing import Any

class Reader:
    """Reads some keys; texts become indices in order of first use."""

    def __init__(self, seed: int, keys: tuple[tuple[bytes, bool], ...]) -> None:
        """keys: (UTF-8 name without escapes, whether its value is a text), at most 8."""

    def read(self, data: bytes, base: int, offsets: Any, lengths: Any, wanted: Any) -> tuple[int, bytearray]:
        """(rows done, int64 per row and key). It stops at a row that Python must read. `data` begin at byte `base`."""

    def index(self, key: int, text: bytes) -> int:
        """Index of a text."""

    def take(self, key: int) -> bytes:
        """Texts added since this was called, one after the other."""

    def ends(self, key: int) -> bytearray:
        """int64: where each text ends in all that `take` gave."""
