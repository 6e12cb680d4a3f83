"""Values of chosen keys in the args of events; see native/args_module.c."""

from typing import Any

class Reader:
    """Reads some keys; texts become indices in order of first use."""

    def __init__(self, seed: int, keys: tuple[tuple[bytes, bool], ...]) -> None:
        """keys: (UTF-8 name without escapes, whether its value is a text), at most 8."""

    def read(self, data: bytes, base: int, offsets: Any, lengths: Any, wanted: Any) -> tuple[int, bytearray]:
        """(rows done, int64 per row and key). Stops at a row that Python must read. base: file offset of `data`."""

    def index(self, key: int, text: bytes) -> int:
        """Index of a text."""

    def take(self, key: int) -> bytes:
        """Concatenated texts added since the last call."""

    def ends(self, key: int) -> bytearray:
        """int64: end offset of each text in all that `take` returned."""
