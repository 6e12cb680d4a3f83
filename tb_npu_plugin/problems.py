"""Problems are data: what could not be read, where, what is missing as a result, and what to do."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from tb_npu_plugin.messages import Message, messages_of
from tb_npu_plugin.seen import SeenFiles

#: Places that one Problem lists; further ones are only counted.
MAX_PLACES = 5
#: Most kinds of one code and file that get a Problem each. Further kinds share one: a kind may be a name from the file.
MAX_KINDS = 200
#: Codes of transient problems, caused by the machine, by permissions or by a bug of the plugin and not by the data.
#: They may be gone next time, so they are not cached with the file.
TRANSIENT_CODES = frozenset(
    {"missing_file", "no_permission", "reader_defect", "stalled", "too_expensive", "unreadable_file"}
)


@dataclass(frozen=True)
class Problem:
    """One defect of the data, worded so that a user can act on it.

    code      stable id of the kind of defect, e.g. "short_row" (see docs/problems.md)
    file      path relative to the result folder; never absolute
    where     line, event or key: "line 12", "event 3 at byte 812"; "" for the entire file. The page shows
              "line 12" by the message `place.line`
    expected  content of a valid file at this place
    found     actual content (shortened)
    lost      what the user does not see because of it
    action    what to do
    count     number of occurrences (the other fields describe the first)
    severity  "error": data lost; "warning": read, with a reservation; "info"
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
        """JSON object with the fields above, and `texts`: code and parameters of the fields that are messages."""
        fields = asdict(self)
        return {**fields, "texts": messages_of(fields)}

    @staticmethod
    def from_json(value: dict[str, Any]) -> Problem:
        """Inverse of `as_json`."""
        fields = {name: field for name, field in value.items() if name != "texts"}
        return Problem(**{**fields, **{name: Message.from_json(text) for name, text in value["texts"].items()}})


class ProblemKind(NamedTuple):
    """What all problems of a code say: codes of messages; "" where each says its own."""

    expected: str
    found: str
    lost: str
    action: str
    severity: str


def _read_kinds() -> dict[str, ProblemKind]:
    with Path(__file__).with_name("problems.csv").open(encoding="utf-8", newline="") as file:
        return {row.pop("code"): ProblemKind(**row) for row in csv.DictReader(file)}


#: The kinds of problems by code; docs/problems.md explains them.
KINDS = _read_kinds()


def problem_of(
    code: str,
    file: str = "",
    where: str = "",
    /,
    *,
    times: int = 1,
    severity: str = "",
    expected: str = "",
    found: str = "",
    lost: str = "",
    action: str = "",
    **params: str | int,
) -> Problem:
    """A problem of a kind. A text that is given replaces that of the kind.

    Args:
        times: Number of occurrences.
        params: Parameters of the kind's texts; each text takes those that it names.
    """
    kind = KINDS[code]

    def say(given: str, message: str) -> str:
        return given or (Message.filled(message, params) if message else "")

    return Problem(
        code,
        file,
        where,
        say(expected, kind.expected),
        say(found, kind.found),
        say(lost, kind.lost),
        say(action, kind.action),
        times,
        severity or kind.severity,
    )


class ProblemLog:
    """Collects problems. Occurrences of one code in one file become one Problem with a count and the first distinct
    places.

    Attributes:
        seen: Counts of what the files hold.
    """

    def __init__(self) -> None:
        self.seen = SeenFiles()
        #: By code, file and kind: first occurrence, listed places, occurrences, number of unlisted places.
        self._seen: dict[tuple[str, str, str], tuple[Problem, list[str], int, int]] = {}
        self._kinds: Counter[tuple[str, str]] = Counter()

    def add(self, problem: Problem, kind: str = "") -> None:
        """Add one occurrence; count 0 adds another place of a reported one. `kind` separates problems that share code
        and file, e.g. by column."""
        key = self._key(problem.code, problem.file, kind)
        if key not in self._seen:
            self._kinds[key[:2]] += 1
        first, places, count, more = self._seen.get(key, (problem, [], 0, 0))
        if problem.where and problem.where not in places:
            # A problem of several occurrences names only the first of their places.
            more += max(problem.count, 1)
            if len(places) < MAX_PLACES:
                places.append(problem.where)
                more -= 1
        self._seen[key] = (first, places, count + problem.count, more)

    def repeat(self, code: str, file: str, where: str, count: int = 1, kind: str = "") -> bool:
        """Count another occurrence of a problem whose list of places is full. False if it is not full: call `add`
        then."""
        key = self._key(code, file, kind)
        seen = self._seen.get(key)
        if seen is None or len(seen[1]) < MAX_PLACES:
            return False
        first, places, total, more = seen
        self._seen[key] = (first, places, total + count, more + (max(count, 1) if where and where not in places else 0))
        return True

    def _key(self, code: str, file: str, kind: str) -> tuple[str, str, str]:
        is_one_more = (code, file, kind) not in self._seen and self._kinds[code, file] >= MAX_KINDS
        return code, file, "" if is_one_more else kind

    def extend(self, problems: list[Problem]) -> None:
        """Add problems of another log without merging them; their places are already listed."""
        for problem in problems:
            kind = f"collected {len(self._seen)}"
            self._seen[problem.code, problem.file, kind] = (problem, [problem.where], problem.count, 0)

    def list(self) -> list[Problem]:
        """All problems in the order of their first occurrence."""
        out = []
        for first, places, count, more in self._seen.values():
            out.append(replace(first, where=list_places(places, more), count=count))
        return out


def list_places(places: Sequence[str], more: int = 0) -> str:
    """The first MAX_PLACES places; if there are others, the message `place.more` with their number. more: number of places
    that are not in `places`."""
    listed = ", ".join(places[:MAX_PLACES])
    more += max(len(places) - MAX_PLACES, 0)
    return Message("place.more", places=listed, more=more) if more else listed


def merge_problems(*stages: Iterable[Problem]) -> list[Problem]:
    """Problems of all reading stages, in order. A problem that several stages report in one file appears once, with the
    places of all."""
    out: list[Problem] = []
    for problems in stages:
        before = len(out)
        for problem in problems:
            same = next((number for number in range(before) if _is_same(out[number], problem)), None)
            if same is not None:
                out[same] = _merge(out[same], problem)
            elif problem not in out:
                out.append(problem)
    return out


def _is_same(one: Problem, other: Problem) -> bool:
    """Whether both report the same defect of a file; either the place or the found content may differ."""
    says = [(problem.code, problem.file, problem.expected, problem.severity) for problem in (one, other)]
    return says[0] == says[1] and (one.found == other.found or one.where == other.where != "")


def _merge(one: Problem, other: Problem) -> Problem:
    """One problem with the places of both, the first one's leading. A list that ends in a count is not extended."""
    where = one.where
    if not isinstance(where, Message):
        places = [place for place in other.where.split(", ") if place and place not in where]
        where = ", ".join([where, *places] if where else places)
    return replace(one, where=where, count=max(one.count, other.count))
