"""Rows of a CSV file in C; see native/rows.h."""

class Texts:
    def __init__(self, seed: int) -> None: ...
    def __len__(self) -> int: ...
    def code(self, text: str, /) -> int:
        """Code of a text, which is added if it is new."""

    def truncate(self, count: int, /) -> None:
        """Forget the texts behind the first `count`."""

    def take(self) -> tuple[bytes, bytearray, bytearray]:
        """(UTF-8 of the texts, int64 ends as in TextList, uint32 hashes). They are forgotten, and codes go on behind them."""

class Rows:
    def __init__(
        self,
        rows: int,
        max_bytes: int,
        columns: tuple[tuple[int, float, int, bytes | None, Texts | None, bool], ...],
    ) -> None:
        """columns: (CellKind, factor, required, the header's cell or None, texts of a text column, whether the text stands
        in quotation marks of its own)."""

    def read(self, data: bytes, position: int, /) -> tuple[int, int, int, int]:
        """(RowsStatus, position, rows, lines)."""

    def values(self, column: int, /) -> bytes:
        """int32, int64 or float64 of the rows read last."""
