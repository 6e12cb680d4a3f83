"""Rows of a CSV file in C; see native/rows.h."""

class Rows:
    def __init__(
        self, seed: int, rows: int, max_bytes: int, columns: tuple[tuple[int, float, int, bytes | None], ...]
    ) -> None:
        """columns: (CellKind, factor, required, the header's cell or None)."""

    def read(self, data: bytes, position: int, /) -> tuple[int, int, int, int]:
        """(RowsStatus, position, rows, lines)."""

    def values(self, column: int, /) -> bytes:
        """int32, int64 or float64 of the rows read last."""

    def texts(self, column: int, first: int, /) -> list[str]:
        """Texts of a column from this index on."""

    def clear(self, column: int, /) -> None:
        """Forget the texts of a column."""
