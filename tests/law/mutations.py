"""Seeded damage to the files of results, one change each.

What nobody can detect is excluded by kind: docs/problems.md, "What no check finds".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.conftest import FIXTURES
from tests.law.changes import OF_ANY, Change
from tests.law.changes_of_csv import OF_CSV
from tests.law.changes_of_databases import OF_DATABASES
from tests.law.changes_of_json import OF_JSON

#: Results to damage: every format, small.
BASES = (
    *(f"results/{name}" for name in ("level1", "level2", "two_ranks", "two_steps", "links", "cpu_only")),
    *(f"results/{name}" for name in ("old_spellings", "new_spellings", "db_only", "text_and_db", "no_steps")),
    *(f"results/mindspore_{name}" for name in ("two_ranks", "db", "data", "windows")),
    *(f"results/mindinsight_{name}" for name in ("single", "cluster", "hosts")),
    *(f"results/{name}" for name in ("msprof", "msprof_pieces", "msprof_db")),
    *(f"results/kineto_{name}" for name in ("gpu", "ahead", "old")),
    *(f"recorded/{name}" for name in ("cluster_text", "cluster_db", "kineto_cpu", "kineto_stacks")),
)
#: Mutations that a seed can have.
SEED = 1_000_000
CHANGES: dict[str, Change] = {**OF_ANY, **OF_CSV, **OF_JSON, **OF_DATABASES}


@dataclass(frozen=True)
class Mutation:
    """One change of one file of a result. number: it alone seeds the change."""

    number: int
    base: str
    file: str
    kind: str

    @property
    def name(self) -> str:
        return f"{self.number} {self.base} {self.file.rpartition('/')[2]} {self.kind}"

    def apply(self, root: Path) -> str | None:
        """Damage the copy of the base in `root`. Returns what was done."""
        return CHANGES[self.kind](root / self.file, Random(f"change {self.number}"))


def mutations(seed: int, bases: Sequence[str] = BASES) -> Iterator[Mutation]:
    """Mutations without end: bases in turn, files and kinds at random. seed: a small number, or that of a mutation to begin
    with."""
    number = seed if seed >= SEED else seed * SEED
    while True:
        base = bases[number % len(bases)]
        random = Random(f"choice {number}")
        file = random.choice(files_of(base))
        kind = random.choice(sorted(kinds_of(file)))
        yield Mutation(number, base, file, kind)
        number += 1


def files_of(base: str) -> list[str]:
    """The files of a base that are not empty, in order."""
    root = FIXTURES / base
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file() and path.stat().st_size > 2)


def kinds_of(file: str) -> set[str]:
    """Kinds of change that suit a file."""
    name = file[:-3] if file.endswith(".gz") else file
    suited = {".csv": OF_CSV, ".json": OF_JSON, ".db": OF_DATABASES}.get(Path(name).suffix, {})
    return {*OF_ANY, *suited}
