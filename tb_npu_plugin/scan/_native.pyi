"""The native scanner's fast path; see native/module.c."""

class Walker:
    """Collects the events of a trace as columns. Text columns are numbered as events.TEXT_COLUMNS orders them."""

    def __init__(self, seed: int) -> None: ...
    def walk(self, data: bytes, position: int, base: int, mode: int) -> tuple[int, int, int, bytes | None]:
        """Read events from `position` on: why it stopped, where, the end of the odd event there, gathered args."""

    def append(self, rows: int, columns: tuple[bytes, ...]) -> None:
        """Add rows that were read elsewhere: the bytes of each column of events.DTYPES."""

    def index(self, column: int, text: bytes) -> int:
        """Index of a text in UTF-8."""

    def take_texts(self, column: int) -> tuple[bytes, bytes]:
        """Blob and ends (int64) of a texts.TextList, in the order of their indices. They are given up."""

    def take_columns(self) -> tuple[bytearray, ...]:
        """The columns; nothing else can be called afterwards."""
