"""The wording of everything that can be wrong with a result file: one entry per kind of defect."""

from __future__ import annotations

from dataclasses import dataclass

from tb_npu_plugin.problems import Problem, ProblemLog
from tb_npu_plugin.readers.shared.damage import repaired

#: Longest piece of a bad file that a problem quotes.
MAX_FOUND = 80

_PARSE_AGAIN = "Parse the raw data again with the profiler's analyse function, or copy the file again."
_OTHERS_STAND = "Nothing else: the other rows are read."


@dataclass(frozen=True)
class _Words:
    expected: str
    lost: str
    action: str
    severity: str = "error"


_WORDS: dict[str, _Words] = {
    "missing_file": _Words("a file", "The whole file.", "Copy the file again."),
    "permission_denied": _Words("a file that may be read", "The whole file.", "Allow TensorBoard's user to read it."),
    "not_a_file": _Words("a regular file", "The whole file.", "Remove it, or put the file itself there."),
    "unreadable": _Words("a file that can be read", "The whole file.", "Check the disk, then copy the file again."),
    "not_a_table": _Words(
        "a table", "What it shows: a view may compute for ever, so it is not read.",
        "Make a table of it, or copy the database again.",
    ),
    "empty_file": _Words("a header and rows", "The whole file.", _PARSE_AGAIN),
    "file_cut": _Words("the rest of the file", "What would have followed.", _PARSE_AGAIN),
    "long_line": _Words("lines of a CSV file", "What follows.", _PARSE_AGAIN),
    "too_large": _Words("a smaller file", "The whole file.", "Record fewer steps at a time."),
    "too_expensive": _Words(
        "a file that can be read within its limits", "The whole file.",
        "Check that the profiler wrote this file; record fewer steps at a time.",
    ),
    "no_rows": _Words("rows after the header", "Nothing.", "Nothing to do if the capture held no such event.", "info"),
    "missing_column": _Words("a required column", "The whole file.", _PARSE_AGAIN),
    "unknown_headers": _Words(
        "headers that this version knows", "These columns.", "Nothing to do; tell us if you need them.", "info"
    ),
    "other_header": _Words("the header of the pieces before", "This piece of the file.", "Export the result again."),
    "duplicate_header": _Words(
        "every header once", "The repeated column; the first is read.", _PARSE_AGAIN, "warning"
    ),
    "unit_assumed": _Words(
        "a unit in brackets", "Nothing, if the unit is right.", "Check the figures against another source.", "warning"
    ),
    "repeated_header": _Words(
        "the header once", "Nothing: the line holds no figures.", "Files were joined; nothing to do.", "warning"
    ),
    "short_row": _Words("as many cells as headers", "This row.", _PARSE_AGAIN),
    "long_row": _Words("as many cells as headers", "This row.", _PARSE_AGAIN),
    "bad_quotes": _Words("quotation marks in pairs around a cell", "This row.", _PARSE_AGAIN),
    "truncated_row": _Words("a complete last row", "The last row.", _PARSE_AGAIN),
    "no_final_line_break": _Words(
        "a line break at the end",
        "Nothing, unless the last cell was cut.",
        "If the file was cut while copying, copy it again.",
        "warning",
    ),
    "bad_required_cell": _Words("a valid value", "This row.", _PARSE_AGAIN),
    "outside_recording": _Words(
        "a time less than a day from the rest of the recording",
        "This row: it would stretch every view beyond what can be seen.", _PARSE_AGAIN,
    ),
    "bad_cell": _Words("a valid value, empty or N/A", "This value; it is shown as unknown.", _PARSE_AGAIN),
    "not_a_number": _Words("a finite number, empty or N/A", "This value; it is shown as unknown.", _PARSE_AGAIN),
    "bad_bytes": _Words("UTF-8 text", "The bytes that are no text; shown as \ufffd.", "Copy the file again.", "warning"),
    "precision_lost": _Words(
        "all digits of the time",
        "The exact time: a spreadsheet program rounded it. Order and gaps of these rows are wrong.",
        "Use the file as the profiler wrote it, never saved from a spreadsheet program.",
        "warning",
    ),
    "bad_json": _Words("valid JSON", "What could not be read from here on.", _PARSE_AGAIN),
    "unexpected_shape": _Words("the structure that the profiler writes", "This entry.", _PARSE_AGAIN),
    "inconsistent": _Words(
        "figures that agree with each other", "Nothing: the figures that were recomputed are shown.",
        "Parse the raw data again if in doubt.", "warning",
    ),
    "outside_steps": _Words(
        "kernels within the steps that the host marked",
        "Which step these belong to: the profiler counts them to the last one; here they belong to none.",
        "Nothing to do: they ran before the step began to which they are counted.", "info",
    ),
    "before_capture": _Words(
        "allocations within the capture",
        "Nothing: the rows are shown. The profiler writes them without an allocation time, or with a negative size, for memory that was allocated before the capture.",
        "Nothing to do; start the capture earlier to see these allocations.", "info",
    ),
    "no_settings": _Words(
        "profiler_info.json or profiler_info_<rank>.json", "How it was recorded: level, options, rank.",
        "Copy the file from the result folder of the profiler.", "info",
    ),
    "several_settings": _Words(
        "one profiler_info file", "The settings in the others.", "Keep one capture in a folder.", "warning"
    ),
    "no_database": _Words("a SQLite database", "The whole file.", _PARSE_AGAIN),
    "no_profiler_tables": _Words("tables of a profiler", "The whole file.", "Check that it is a profiler's database."),
    "damaged_table": _Words("the rest of the table", "The rows that would have followed.", _PARSE_AGAIN),
    "missing_table_column": _Words("a required column", "What this table holds.", _PARSE_AGAIN),
    "unknown_task": _Words("a task for every kernel", "These kernels.", _PARSE_AGAIN),
    "unknown_part": _Words(
        "a task and a group for every task of a communication operator", "These tasks in the timeline.", _PARSE_AGAIN
    ),
    "unknown_curve": _Words("the curve that every sample belongs to", "These points of the curves.", _PARSE_AGAIN),
    "unknown_text": _Words("a text for every id", "Names and texts; numbers stand for the names.", _PARSE_AGAIN),
    "unknown_module": _Words("a name for every module", "These rows.", _PARSE_AGAIN),
    "unmatched": _Words(
        "operators whose times were recorded", "What these rows tell: no operator has such a name.",
        "Check that the files in the folder are of one run.", "warning",
    ),
    "bad_base_time": _Words(
        "the moment that times count from, in ns since 1970", "When it happened: times are shown as they stand in the file.",
        "Export the trace again if the date matters.", "warning",
    ),
    "unknown_file": _Words("a result file that this version reads", "The file.", "Nothing to do.", "info"),
}  # fmt: skip

#: What SQLite says when the machine fails, not the file.
_OF_MACHINE = frozenset({"disk I/O error", "database or disk is full", "out of memory", "unable to open database file"})


class FileReport:
    """Problems of one file, added to the log of its span."""

    def __init__(self, log: ProblemLog, relative: str) -> None:
        self._log = log
        self._file = relative
        self._is_cut = False

    def add(
        self, code: str, where: str = "", *, expected: str = "", found: str = "", kind: str = "", count: int = 1
    ) -> None:
        """Add one occurrence of a defect, or several. `expected` replaces the general wording; `kind` as in
        ProblemLog."""
        if self._log.repeat(code, self._file, where, count, kind):
            return
        words = _WORDS[code]
        self._is_cut = self._is_cut or code == "file_cut"
        self._log.add(
            Problem(
                code=code,
                file=self._file,
                where=where,
                expected=expected or words.expected,
                found=shortened(found),
                lost=words.lost,
                action=words.action,
                count=count,
                severity=words.severity,
            ),
            kind,
        )

    def cut(self, error: Exception) -> None:
        """Reading ended early: the file is damaged, or the disk fails."""
        is_of_disk = isinstance(error, OSError) and error.errno is not None
        self.add("unreadable" if is_of_disk else "file_cut", found=str(error))

    def no_database(self, error: Exception) -> None:
        """A file is no database that SQLite opens, or the disk fails."""
        self.add("unreadable" if str(error) in _OF_MACHINE else "no_database", found=str(error))

    def table_damaged(self, table: str, error: Exception) -> None:
        """A table cannot be read to its end. That of a file that was cut is one of the places where it shows."""
        if str(error) in _OF_MACHINE:
            self.add("unreadable", table, found=str(error))
        elif self._is_cut:
            self.add("file_cut", table, count=0)
        else:
            self.add("damaged_table", table, found=str(error))


def shortened(text: str) -> str:
    """One printable line of at most MAX_FOUND characters."""
    line = repaired(text).replace("\r", "\\r").replace("\n", "\\n")
    return line if len(line) <= MAX_FOUND else f"{line[: MAX_FOUND - 1]}\u2026"
