"""Runs mutations and judges them: `python -m tests.law.check [COUNT [SEED]]` prints each untold one. The number of a mutation
as the seed repeats it."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from tests.conftest import FIXTURES
from tests.law.mutations import Mutation, mutations
from tests.law.opened import INTERNAL_ERRORS, Opened, changed, open_results


@dataclass(frozen=True)
class Verdict:
    """What came of a mutation.

    done     what was done
    changed  places of changed figures
    notes    new notes that name the file
    vague    new notes that do not
    failure  an internal error, a hidden span, or content neither shown nor told; "" for none
    """

    mutation: Mutation
    done: str
    changed: list[str]
    notes: list[str]
    vague: list[str]
    failure: str

    @property
    def is_untold(self) -> bool:
        return bool(self.changed) and not self.notes


class Bench:
    """Opens bases once, and their mutations."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._before: dict[str, Opened] = {}

    def judge(self, mutation: Mutation) -> Verdict | None:
        """None if the file has nothing of that kind."""
        logs = self._copy(mutation.base)
        if mutation.base not in self._before:
            self._before[mutation.base] = open_results(logs, self._folder / "cache")
        before = self._before[mutation.base]
        done = mutation.apply(logs)
        if done is None:
            return None
        try:
            after = open_results(logs, self._folder / "cache")
        except Exception:
            return Verdict(mutation, done, [], [], [], traceback.format_exc())
        new = after.notes - before.notes
        notes = sorted(note.text for note in new if note.names(mutation.file))
        vague = sorted(note.text for note in new if not note.names(mutation.file))
        failures = sorted(after.codes & INTERNAL_ERRORS) + sorted(after.silent)
        if set(before.spans) - set(after.spans) and not notes:
            failures.append("a span is hidden")
        return Verdict(mutation, done, changed(before, after), notes, vague, ", ".join(failures))

    def _copy(self, base: str) -> Path:
        """A fresh copy, always in the same place: paths make the tokens."""
        logs = self._folder / "logs"
        shutil.rmtree(logs, ignore_errors=True)
        shutil.copytree(FIXTURES / base, logs)
        return logs


def verdicts(count: int, seed: int, folder: Path) -> Iterator[Verdict]:
    """The verdicts of `count` mutations."""
    bench = Bench(folder)
    yield from islice(filter(None, map(bench.judge, mutations(seed))), count)


def main(count: int = 500, seed: int = 1) -> None:
    """Print what is untold, and a summary."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        found = []
        for one in verdicts(count, seed, Path(folder)):
            found.append(one)
            if one.failure or one.is_untold:
                word = "FAILED" if one.failure else "untold"
                print(f"{word}: {one.mutation.name}: {one.done}", flush=True)
                print("   ", *filter(None, (one.failure, one.changed[:4], one.vague)), flush=True)
    effective = [one for one in found if one.changed or one.notes or one.vague]
    untold = sum(one.is_untold for one in found)
    failed = sum(bool(one.failure) for one in found)
    print(
        f"{len(found)} mutations, {len(effective)} with an effect, {untold} untold, {failed} failed, {time.monotonic() - start:.0f} s"
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
