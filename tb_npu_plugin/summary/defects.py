"""Problems of Summary files."""

from __future__ import annotations

from dataclasses import replace

from tb_npu_plugin.messages import Message
from tb_npu_plugin.problems import Problem, problem_of
from tb_npu_plugin.summary.records import Record

#: Problems of one kind that are listed for a file; further ones are counted.
MAX_LISTED = 20


def add_problem(problems: list[Problem], problem: Problem) -> None:
    """Add a problem. Beyond MAX_LISTED of one kind and file, only count it."""
    same = [number for number, one in enumerate(problems) if (one.code, one.file) == (problem.code, problem.file)]
    if len(same) < MAX_LISTED:
        problems.append(problem)
    else:
        problems[same[-1]] = replace(problems[same[-1]], count=problems[same[-1]].count + 1)


def damaged(file: str, record: Record) -> Problem:
    """A record that is no event."""
    return problem_of("summary_record", file, f"byte {record.start}", count=record.end - record.start)


def unsupported(file: str, record: Record, kind: str) -> Problem:
    """A value that TensorBoard cannot show."""
    return problem_of("summary_kind", file, f"byte {record.start}", found=kind)


def incomplete(file: str, end: int, size: int) -> Problem:
    """The last record, which begins at byte `end` of `size`."""
    return problem_of("summary_tail", file, f"byte {end}", count=size - end)


def unreadable(file: str, error: OSError) -> Problem:
    """A source that cannot be read at present."""
    return problem_of(
        "unreadable_file",
        file,
        expected=Message("expected.readable_file"),
        found=error.strerror or str(error),
        lost=Message("lost.file_content"),
        action=Message("action.restore_file"),
    )
