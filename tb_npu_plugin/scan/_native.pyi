"""The native scanner's fast path; see native/module.c."""

class Walker:
    """Collects the events of a trace as columns. Text columns are numbered in the order of events.TEXT_COLUMNS.

    It runs without the GIL and raises RuntimeError if two threads use it concurrently.
    """

    def __init__(self, seed: int, rows: int) -> None:
        """rows: capacity until they are taken."""

    def read(self, file: int, offset: int, size: int) -> int:
        """Read a block of a file into the walker's memory. Returns the bytes read. Raises OSError."""

    def cut(self, start: int, stop: int) -> int:
        """Where an event seems to begin after another in this part of the block; -1 if nowhere."""

    def walk(self, data: bytes, position: int, base: int, mode: int) -> tuple[int, int, int, bytes | None, int, int]:
        """Read events from `position` on. Returns (stop reason, position, end of the odd event, gathered args, number of
        events read, number of commas between them)."""

    def walk_block(self, start: int, stop: int, base: int) -> tuple[int, int, int, None, int, int]:
        """As walk, for a part of the block. base: offset of the block in the file."""

    def adopt(self, other: Walker) -> None:
        """Convert text indices of the other's rows to those of this walker. Both must have the same seed."""

    def clear(self) -> None:
        """Remove rows and texts."""

    def take_rows(self) -> tuple[bytes, ...]:
        """Remove the rows and return the bytes of each column of events.DTYPES."""

    def write_rows(self, files: tuple[int, ...]) -> int:
        """Remove the rows and append each column to a file descriptor. Returns the row count. Raises OSError."""

    def index(self, column: int, text: bytes) -> int:
        """Index of a UTF-8 text, added if new."""

    def texts(self, column: int) -> tuple[bytes, bytes]:
        """(blob, int64 ends) of a texts.TextList in index order."""

    def write_texts(self, column: int, blob_file: int, ends_file: int) -> None:
        """Append what `texts` returns to two file descriptors. Raises OSError."""
