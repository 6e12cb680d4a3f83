"""The native scanner's fast path; see native/module.c."""

class Walker:
    """Collects the events of a trace as columns. Text columns are numbered as events.TEXT_COLUMNS orders them.

    It works without the interpreter's lock; a second thread that uses it meanwhile gets a RuntimeError.
    """

    def __init__(self, seed: int, rows: int) -> None:
        """rows: as many fit until they are taken."""

    def read(self, file: int, offset: int, size: int) -> int:
        """Read a block of a file into memory of its own: bytes read, fewer where the file ends. Raises OSError."""

    def cut(self, start: int, stop: int) -> int:
        """Where in this part of the block an event seems to begin behind another; -1 if nowhere."""

    def walk(self, data: bytes, position: int, base: int, mode: int) -> tuple[int, int, int, bytes | None]:
        """Read events from `position` on: why it stopped, where, the end of the odd event there, gathered args."""

    def walk_block(self, start: int, stop: int, base: int) -> tuple[int, int, int, None]:
        """As walk, for this part of the block. base: offset of the block in the file."""

    def adopt(self, other: Walker) -> None:
        """Give the texts of the other's rows their indices here. Both must have the same seed."""

    def clear(self) -> None:
        """Forget rows and texts."""

    def take_rows(self) -> tuple[bytes, ...]:
        """The bytes of each column of events.DTYPES; they are given up."""

    def write_rows(self, files: tuple[int, ...]) -> int:
        """Append each column to the file of this number instead; how many rows. Raises OSError."""

    def index(self, column: int, text: bytes) -> int:
        """Index of a text in UTF-8."""

    def texts(self, column: int) -> tuple[bytes, bytes]:
        """Blob and ends (int64) of a texts.TextList, in the order of their indices."""
