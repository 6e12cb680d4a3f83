"""Reports defects of result files as problems. What each kind says: problems.csv."""

from __future__ import annotations

from tb_npu_plugin.messages import Message
from tb_npu_plugin.problems import ProblemLog, problem_of
from tb_npu_plugin.readers.shared.damage import repair
from tb_npu_plugin.refusal import raise_if_of_environment
from tb_npu_plugin.seen import SeenKind

#: Most characters of a file that a problem quotes.
MAX_FOUND = 80
#: Most characters of a place: it may hold names from the file.
MAX_WHERE = 300

#: SQLite's message for a disk that fails.
_DISK_FAILS = "disk I/O error"


class FileReport:
    """Adds the problems of one file to the log of its span. counted: the file that its content counts for."""

    def __init__(self, log: ProblemLog, relative: str, counted: str = "") -> None:
        self._log = log
        self._file = relative
        self._counted = counted or relative
        self._is_cut = False

    def add(
        self, code: str, where: str = "", *, expected: str = "", found: str = "", kind: str = "", count: int = 1
    ) -> None:
        """Add `count` occurrences of a defect. expected: replaces the default message. kind: as in ProblemLog.add."""
        where = _line(where, MAX_WHERE)
        if self._log.repeat(code, self._file, where, count, kind):
            return
        self._is_cut = self._is_cut or code == "file_cut"
        problem = problem_of(code, self._file, where, expected=expected, found=shorten(found), times=count)
        self._log.add(problem, kind)

    def count(self, kind: SeenKind, part: str = "", *, seen: int = 0, shown: int = 0, told: int = 0) -> None:
        """Count content of the file, see SeenFiles."""
        self._log.seen.add(self._counted, kind, part, seen=seen, shown=shown, told=told)

    def leave_out(
        self, kind: SeenKind, code: str, where: str = "", /, *, part: str = "", count: int = 1, **words: str
    ) -> None:
        """Report that `count` rows or entries are left out, and count them as told. words: as in `add`."""
        self.count(kind, part, told=count)
        self.add(code, where, count=count, **words)

    def leave_out_entry(self, where: str, found: object, expected: str = "", *, part: str = "", kind: str = "") -> None:
        """Report that an entry is left out: it is no object, or of another shape than `expected`."""
        expected = expected or Message("expected.object")
        self.leave_out("entries", "unexpected_shape", where, part=part, expected=expected, found=str(found), kind=kind)

    def drop(self, kind: SeenKind, count: int, part: str = "") -> None:
        """Count content as told that was counted as shown."""
        if count:
            self.count(kind, part, shown=-count, told=count)

    def repeat(self, code: str, where: str, count: int = 1) -> bool:
        """Count more occurrences of a reported defect. Returns False if `add` must be called: the defect is new.

        This avoids building the same message millions of times.
        """
        return self._log.repeat(code, self._file, where, count)

    def os_error(self, error: OSError) -> None:
        """Report that the file cannot be opened."""
        raise_if_of_environment(error)
        if isinstance(error, FileNotFoundError):
            self.add("missing_file")
        elif isinstance(error, PermissionError):
            self.add("no_permission")
        else:
            self.add("unreadable_file", found=error.strerror or type(error).__name__)

    def cut(self, error: Exception) -> None:
        """Report that reading ended early: the file is damaged, or the disk fails."""
        raise_if_of_environment(error)
        is_of_disk = isinstance(error, OSError) and error.errno is not None
        self.add("unreadable_file" if is_of_disk else "file_cut", found=str(error))

    def no_database(self, error: Exception) -> None:
        """Report that SQLite cannot open the file: it is not a database, or the disk fails."""
        raise_if_of_environment(error)
        self.add("unreadable_file" if str(error) == _DISK_FAILS else "no_database", found=_words_of(error))

    def table_damaged(self, table: str, error: Exception) -> None:
        """Report a table that cannot be read to its end. In a truncated file, it is another place of `file_cut`."""
        raise_if_of_environment(error)
        if str(error) == _DISK_FAILS:
            self.add("unreadable_file", table, found=str(error))
        elif self._is_cut:
            self.add("file_cut", table, count=0)
        else:
            self.add("damaged_table", table, found=_words_of(error))


def _words_of(error: Exception) -> str:
    """Return the Message of an error, or its text."""
    return error.args[0] if error.args and isinstance(error.args[0], Message) else str(error)


def shorten(text: str) -> str:
    """Return one printable line of at most MAX_FOUND characters. In a Message, only the text parameters are cut."""
    if not isinstance(text, Message):
        return _line(text, MAX_FOUND)
    texts = {name: value for name, value in text.params.items() if isinstance(value, str)}
    most = MAX_FOUND - len(Message(text.code, **{**text.params, **dict.fromkeys(texts, "")}))
    return Message(text.code, **{**text.params, **{name: _line(value, most) for name, value in texts.items()}})


def _line(text: str, most: int) -> str:
    line = repair(text).replace("\r", "\\r").replace("\n", "\\n")
    return line if len(line) <= most else f"{line[: most - 1]}\u2026"
