"""Reports defects of result files as problems. Each kind of defect has one entry of message codes."""

from __future__ import annotations

from dataclasses import dataclass

from tb_npu_plugin.messages import Message
from tb_npu_plugin.problems import Problem, ProblemLog
from tb_npu_plugin.readers.shared.damage import repair
from tb_npu_plugin.refusal import raise_if_of_environment
from tb_npu_plugin.seen import SeenKind

#: Most characters of a file that a problem quotes.
MAX_FOUND = 80
#: Most characters of a place: it may hold names from the file.
MAX_WHERE = 300

_PARSE_AGAIN = "action.parse_again"


@dataclass(frozen=True)
class _MessageCodes:
    expected: str
    lost: str
    action: str
    severity: str = "error"


_CODES: dict[str, _MessageCodes] = {
    "missing_file": _MessageCodes("expected.file", "lost.file", "action.copy_again"),
    "no_permission": _MessageCodes("expected.permitted_file", "lost.file", "action.allow_reading"),
    "not_a_file": _MessageCodes("expected.regular_file", "lost.file", "action.put_file"),
    "unreadable_file": _MessageCodes("expected.file_readable", "lost.file", "action.check_disk_copy"),
    "not_a_table": _MessageCodes("expected.table", "lost.view_table", "action.make_table"),
    "empty_file": _MessageCodes("expected.header_and_rows", "lost.file", _PARSE_AGAIN),
    "file_cut": _MessageCodes("expected.rest_of_file", "lost.following", _PARSE_AGAIN),
    "long_line": _MessageCodes("expected.csv_lines", "lost.following_lines", _PARSE_AGAIN),
    "too_large": _MessageCodes("expected.smaller_file", "lost.file", "action.fewer_steps"),
    "too_expensive": _MessageCodes("expected.file_within_limits", "lost.file", "action.check_file_steps"),
    "too_many_columns": _MessageCodes("expected.known_headers", "lost.file", _PARSE_AGAIN),
    "no_rows": _MessageCodes("expected.rows", "lost.nothing", "action.nothing_if_none", "info"),
    "missing_column": _MessageCodes("expected.required_column", "lost.file", _PARSE_AGAIN),
    "unknown_headers": _MessageCodes("expected.known_headers", "lost.columns", "action.nothing_or_report", "info"),
    "other_header": _MessageCodes("expected.same_header", "lost.piece", "action.export_result"),
    "duplicate_header": _MessageCodes("expected.unique_headers", "lost.repeated_column", _PARSE_AGAIN, "warning"),
    "unit_assumed": _MessageCodes("expected.unit", "lost.nothing_if_unit", "action.check_figures", "warning"),
    "repeated_header": _MessageCodes("expected.one_header", "lost.nothing_header", "action.nothing_joined", "warning"),
    "short_row": _MessageCodes("expected.cells_as_headers", "lost.row", _PARSE_AGAIN),
    "long_row": _MessageCodes("expected.cells_as_headers", "lost.row", _PARSE_AGAIN),
    "bad_quotes": _MessageCodes("expected.paired_quotes", "lost.row", _PARSE_AGAIN),
    "truncated_row": _MessageCodes("expected.complete_last_row", "lost.last_row", _PARSE_AGAIN),
    "no_final_line_break": _MessageCodes(
        "expected.final_line_break", "lost.nothing_unless_cut", "action.copy_if_cut", "warning"
    ),
    "other_line_break": _MessageCodes(
        "expected.same_line_break", "lost.nothing_unless_changed", "action.copy_again", "warning"
    ),
    "bad_required_cell": _MessageCodes("expected.valid_value", "lost.row", _PARSE_AGAIN),
    "outside_recording": _MessageCodes("expected.time_of_recording", "lost.far_row", _PARSE_AGAIN),
    "bad_cell": _MessageCodes("expected.valid_value_or_empty", "lost.value", _PARSE_AGAIN),
    "out_of_bounds": _MessageCodes("expected.in_bounds", "lost.value", _PARSE_AGAIN),
    "repeated_row": _MessageCodes("expected.distinct_rows", "lost.nothing_repeated", "action.copy_again", "warning"),
    "not_in_order": _MessageCodes("expected.rows_in_order", "lost.nothing_sorted", "action.original_file", "warning"),
    "lost_column": _MessageCodes("expected.column", "lost.column", _PARSE_AGAIN, "warning"),
    "lost_table": _MessageCodes("expected.table_of_group", "lost.table", _PARSE_AGAIN, "warning"),
    "repeated_event": _MessageCodes(
        "expected.distinct_slices", "lost.nothing_repeated_event", "action.export_trace", "warning"
    ),
    "unmatched_flow": _MessageCodes("expected.flow_ends", "lost.flows", "action.nothing_flows", "info"),
    "unused_metadata": _MessageCodes(
        "expected.names_and_order", "lost.events_hidden", "action.no_events_needed", "info"
    ),
    "no_thread_id": _MessageCodes("expected.thread_id", "lost.thread", "action.export_trace", "warning"),
    "lost_key": _MessageCodes("expected.key", "lost.value", _PARSE_AGAIN, "warning"),
    "no_events_in_piece": _MessageCodes("expected.events_of_piece", "lost.piece_events", "action.export_result"),
    "piece_cut": _MessageCodes("expected.end_of_list", "lost.piece_end", "action.export_result"),
    "unmatched_launches": _MessageCodes("expected.same_launches", "lost.shapes", _PARSE_AGAIN, "warning"),
    "not_a_number": _MessageCodes("expected.finite_number", "lost.value", _PARSE_AGAIN),
    "other_encoding": _MessageCodes("expected.utf8", "lost.nothing_decoded", "action.original_file", "info"),
    "other_delimiter": _MessageCodes("expected.comma_separated", "lost.nothing_read", "action.original_file", "info"),
    "bad_bytes": _MessageCodes("expected.utf8", "lost.bytes", "action.copy_again", "warning"),
    "precision_lost": _MessageCodes("expected.all_digits", "lost.exact_time", "action.original_file", "warning"),
    "bad_json": _MessageCodes("expected.json", "lost.json_rest", _PARSE_AGAIN),
    "unexpected_shape": _MessageCodes("expected.profiler_structure", "lost.entry", _PARSE_AGAIN),
    "inconsistent": _MessageCodes(
        "expected.consistent_figures", "lost.nothing_recomputed", "action.parse_if_in_doubt", "warning"
    ),
    "outside_steps": _MessageCodes(
        "expected.kernels_in_steps", "lost.step_of_kernels", "action.nothing_before_step", "info"
    ),
    "before_capture": _MessageCodes(
        "expected.allocations_in_capture", "lost.nothing_before_capture", "action.start_earlier", "info"
    ),
    "no_settings": _MessageCodes("expected.profiler_info", "lost.settings", "action.copy_settings", "info"),
    "no_metadata": _MessageCodes("expected.groups", "lost.groups", "action.copy_settings", "info"),
    "several_settings": _MessageCodes(
        "expected.one_profiler_info", "lost.other_settings", "action.one_capture", "warning"
    ),
    "no_database": _MessageCodes("expected.sqlite", "lost.file", _PARSE_AGAIN),
    "no_profiler_tables": _MessageCodes("expected.profiler_tables", "lost.file", "action.check_database"),
    "damaged_table": _MessageCodes("expected.rest_of_table", "lost.following_rows", _PARSE_AGAIN),
    "missing_table_column": _MessageCodes("expected.required_column", "lost.table", _PARSE_AGAIN),
    "unknown_task": _MessageCodes("expected.kernel_tasks", "lost.kernels", _PARSE_AGAIN),
    "unknown_kernel": _MessageCodes("expected.metrics_of_kernels", "lost.metrics", _PARSE_AGAIN),
    "not_shown": _MessageCodes("expected.shown_parts", "lost.parts", "action.nothing_or_report", "info"),
    "unknown_part": _MessageCodes("expected.communication_tasks", "lost.tasks", _PARSE_AGAIN),
    "unknown_event": _MessageCodes("expected.named_rows", "lost.timeline_rows", _PARSE_AGAIN, "warning"),
    "unshown_task": _MessageCodes("expected.own_tasks", "lost.nothing_unshown", "action.nothing", "info"),
    "unknown_curve": _MessageCodes("expected.sample_curves", "lost.points", _PARSE_AGAIN),
    "unknown_text": _MessageCodes("expected.texts_of_ids", "lost.names", _PARSE_AGAIN),
    "unknown_module": _MessageCodes("expected.module_names", "lost.rows", _PARSE_AGAIN),
    "unmatched": _MessageCodes("expected.timed_operators", "lost.unmatched", "action.check_run", "warning"),
    "bad_base_time": _MessageCodes("expected.base_time", "lost.date", "action.export_for_date", "warning"),
    "not_simulated": _MessageCodes("expected.as_on_npu", "lost.not_simulated", "action.record_on_npu", "info"),
    "no_batch": _MessageCodes("expected.batch_of_queue", "lost.row", "action.nothing", "info"),
    "unknown_file": _MessageCodes("expected.known_file", "lost.unknown_file", "action.nothing", "info"),
}

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
        codes = _CODES[code]
        self._is_cut = self._is_cut or code == "file_cut"
        self._log.add(
            Problem(
                code=code,
                file=self._file,
                where=where,
                expected=expected or Message(codes.expected),
                found=shorten(found),
                lost=Message(codes.lost),
                action=Message(codes.action),
                count=count,
                severity=codes.severity,
            ),
            kind,
        )

    def count(self, kind: SeenKind, part: str = "", *, seen: int = 0, shown: int = 0, told: int = 0) -> None:
        """Count content of the file, see SeenFiles."""
        self._log.seen.add(self._counted, kind, part, seen=seen, shown=shown, told=told)

    def leave_out(
        self, kind: SeenKind, code: str, where: str = "", /, *, part: str = "", count: int = 1, **words: str
    ) -> None:
        """Report that `count` rows or entries are left out, and count them as told. words: as in `add`."""
        self.count(kind, part, told=count)
        self.add(code, where, count=count, **words)

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
