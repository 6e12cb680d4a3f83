"""Problems are data: what could not be read, where, what that costs and what to do about it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

#: How many places one Problem lists before it only counts.
MAX_PLACES = 5
#: The places that are listed, and how many are not.
MORE_PLACES = "{0} and {1} more"


@dataclass(frozen=True)
class Problem:
    """One defect of the data, in words that a user can act on.

    code      stable id of the kind of defect, e.g. "short_row" (see docs/problems.md)
    file      path relative to the result folder; never absolute
    where     line, event or key: "line 12", "event 3 at byte 812"; "" when the whole file is meant
    expected  what a good file has there
    found     what stands there (shortened)
    lost      what the user does not see because of it
    action    what to do
    count     how many times it occurred (the other fields describe the first)
    severity  "error": data lost; "warning": read, but with a reservation; "info"
    """

    code: str
    file: str
    where: str
    expected: str
    found: str
    lost: str
    action: str
    count: int = 1
    severity: str = "error"

    def as_json(self) -> dict[str, Any]:
        """JSON object with the fields above."""
        return asdict(self)

    @staticmethod
    def from_json(value: dict[str, Any]) -> Problem:
        """Inverse of `as_json`."""
        return Problem(**value)


class ProblemLog:
    """Collects problems; the same code in the same file is one Problem with a count and the first places."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str, str], tuple[Problem, list[str], int]] = {}

    def add(self, problem: Problem, kind: str = "") -> None:
        """Add one occurrence. `kind` keeps apart what shares code and file, e.g. the column."""
        key = (problem.code, problem.file, kind)
        first, places, count = self._seen.get(key, (problem, [], 0))
        if problem.where and len(places) < MAX_PLACES:
            places.append(problem.where)
        self._seen[key] = (first, places, count + problem.count)

    def extend(self, problems: list[Problem]) -> None:
        """Add problems that were collected elsewhere, each as its own kind."""
        for number, problem in enumerate(problems):
            self.add(problem, kind=f"{problem.where}#{number}")

    def list(self) -> list[Problem]:
        """All problems in the order of their first occurrence."""
        out = []
        for first, places, count in self._seen.values():
            where = ", ".join(places)
            if count > len(places) > 0:
                where = MORE_PLACES.format(where, count - len(places))
            out.append(Problem(**{**asdict(first), "where": where, "count": count}))
        return out
