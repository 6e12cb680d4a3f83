"""The wording of everything that can be wrong with a result file: one entry per kind of defect."""

from __future__ import annotations

from dataclasses import dataclass

from tb_npu_plugin.messages import Message
from tb_npu_plugin.problems import Problem, ProblemLog
from tb_npu_plugin.readers.shared.damage import repaired

#: Longest piece of a bad file that a problem quotes.
MAX_FOUND = 80

_PARSE_AGAIN = "action.parse_again"


@dataclass(frozen=True)
class _Words:
    """Codes of messages."""

    expected: str
    lost: str
    action: str
    severity: str = "error"


_WORDS: dict[str, _Words] = {
    "missing_file": _Words("expected.file", "lost.file", "action.copy_again"),
    "no_permission": _Words("expected.permitted_file", "lost.file", "action.allow_reading"),
    "not_a_file": _Words("expected.regular_file", "lost.file", "action.put_file"),
    "unreadable_file": _Words("expected.file_readable", "lost.file", "action.check_disk_copy"),
    "not_a_table": _Words(
        "expected.table",
        "lost.view_table",
        "action.make_table",
    ),
    "empty_file": _Words("expected.header_and_rows", "lost.file", _PARSE_AGAIN),
    "file_cut": _Words("expected.rest_of_file", "lost.following", _PARSE_AGAIN),
    "long_line": _Words("expected.csv_lines", "lost.following_lines", _PARSE_AGAIN),
    "too_large": _Words("expected.smaller_file", "lost.file", "action.fewer_steps"),
    "too_expensive": _Words(
        "expected.file_within_limits",
        "lost.file",
        "action.check_file_steps",
    ),
    "no_rows": _Words("expected.rows", "lost.nothing", "action.nothing_if_none", "info"),
    "missing_column": _Words("expected.required_column", "lost.file", _PARSE_AGAIN),
    "unknown_headers": _Words("expected.known_headers", "lost.columns", "action.nothing_or_report", "info"),
    "other_header": _Words("expected.same_header", "lost.piece", "action.export_result"),
    "duplicate_header": _Words("expected.unique_headers", "lost.repeated_column", _PARSE_AGAIN, "warning"),
    "unit_assumed": _Words("expected.unit", "lost.nothing_if_unit", "action.check_figures", "warning"),
    "repeated_header": _Words("expected.one_header", "lost.nothing_header", "action.nothing_joined", "warning"),
    "short_row": _Words("expected.cells_as_headers", "lost.row", _PARSE_AGAIN),
    "long_row": _Words("expected.cells_as_headers", "lost.row", _PARSE_AGAIN),
    "bad_quotes": _Words("expected.paired_quotes", "lost.row", _PARSE_AGAIN),
    "truncated_row": _Words("expected.complete_last_row", "lost.last_row", _PARSE_AGAIN),
    "no_final_line_break": _Words(
        "expected.final_line_break",
        "lost.nothing_unless_cut",
        "action.copy_if_cut",
        "warning",
    ),
    "bad_required_cell": _Words("expected.valid_value", "lost.row", _PARSE_AGAIN),
    "outside_recording": _Words(
        "expected.time_of_recording",
        "lost.far_row",
        _PARSE_AGAIN,
    ),
    "bad_cell": _Words("expected.valid_value_or_empty", "lost.value", _PARSE_AGAIN),
    "not_a_number": _Words("expected.finite_number", "lost.value", _PARSE_AGAIN),
    "bad_bytes": _Words("expected.utf8", "lost.bytes", "action.copy_again", "warning"),
    "precision_lost": _Words(
        "expected.all_digits",
        "lost.exact_time",
        "action.original_file",
        "warning",
    ),
    "bad_json": _Words("expected.json", "lost.json_rest", _PARSE_AGAIN),
    "unexpected_shape": _Words("expected.profiler_structure", "lost.entry", _PARSE_AGAIN),
    "inconsistent": _Words(
        "expected.consistent_figures",
        "lost.nothing_recomputed",
        "action.parse_if_in_doubt",
        "warning",
    ),
    "outside_steps": _Words(
        "expected.kernels_in_steps",
        "lost.step_of_kernels",
        "action.nothing_before_step",
        "info",
    ),
    "before_capture": _Words(
        "expected.allocations_in_capture",
        "lost.nothing_before_capture",
        "action.start_earlier",
        "info",
    ),
    "no_settings": _Words(
        "expected.profiler_info",
        "lost.settings",
        "action.copy_settings",
        "info",
    ),
    "several_settings": _Words("expected.one_profiler_info", "lost.other_settings", "action.one_capture", "warning"),
    "no_database": _Words("expected.sqlite", "lost.file", _PARSE_AGAIN),
    "no_profiler_tables": _Words("expected.profiler_tables", "lost.file", "action.check_database"),
    "damaged_table": _Words("expected.rest_of_table", "lost.following_rows", _PARSE_AGAIN),
    "missing_table_column": _Words("expected.required_column", "lost.table", _PARSE_AGAIN),
    "unknown_task": _Words("expected.kernel_tasks", "lost.kernels", _PARSE_AGAIN),
    "unknown_part": _Words("expected.communication_tasks", "lost.tasks", _PARSE_AGAIN),
    "unknown_curve": _Words("expected.sample_curves", "lost.points", _PARSE_AGAIN),
    "unknown_text": _Words("expected.texts_of_ids", "lost.names", _PARSE_AGAIN),
    "unknown_module": _Words("expected.module_names", "lost.rows", _PARSE_AGAIN),
    "unmatched": _Words(
        "expected.timed_operators",
        "lost.unmatched",
        "action.check_run",
        "warning",
    ),
    "bad_base_time": _Words(
        "expected.base_time",
        "lost.date",
        "action.export_for_date",
        "warning",
    ),
    "unknown_file": _Words("expected.known_file", "lost.unknown_file", "action.nothing", "info"),
}

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
                expected=expected or Message(words.expected),
                found=shortened(found),
                lost=Message(words.lost),
                action=Message(words.action),
                count=count,
                severity=words.severity,
            ),
            kind,
        )

    def os_error(self, error: OSError) -> None:
        """The system does not give the file out."""
        if isinstance(error, FileNotFoundError):
            self.add("missing_file")
        elif isinstance(error, PermissionError):
            self.add("no_permission")
        else:
            self.add("unreadable_file", found=error.strerror or type(error).__name__)

    def cut(self, error: Exception) -> None:
        """Reading ended early: the file is damaged, or the disk fails."""
        is_of_disk = isinstance(error, OSError) and error.errno is not None
        self.add("unreadable_file" if is_of_disk else "file_cut", found=str(error))

    def no_database(self, error: Exception) -> None:
        """A file is no database that SQLite opens, or the disk fails."""
        self.add("unreadable_file" if str(error) in _OF_MACHINE else "no_database", found=str(error))

    def table_damaged(self, table: str, error: Exception) -> None:
        """A table cannot be read to its end. That of a file that was cut is one of the places where it shows."""
        if str(error) in _OF_MACHINE:
            self.add("unreadable_file", table, found=str(error))
        elif self._is_cut:
            self.add("file_cut", table, count=0)
        else:
            self.add("damaged_table", table, found=str(error))


def shortened(text: str) -> str:
    """One printable line of at most MAX_FOUND characters; in a message, its parameter is cut."""
    if not isinstance(text, Message):
        return _line(text, MAX_FOUND)
    words = len(
        Message(text.code, **{name: "" if isinstance(value, str) else value for name, value in text.params.items()})
    )
    return Message(
        text.code,
        **{
            name: _line(value, MAX_FOUND - words) if isinstance(value, str) else value
            for name, value in text.params.items()
        },
    )


def _line(text: str, most: int) -> str:
    line = repaired(text).replace("\r", "\\r").replace("\n", "\\n")
    return line if len(line) <= most else f"{line[: most - 1]}\u2026"
