"""Writes the corpus: `python -m tests.corpus.make FOLDER`. One folder a case."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from tests.corpus.cases import RESULTS, Case, cases


def make(target: Path) -> list[Case]:
    """All cases as folders of `target`; returns them."""
    made = list(cases())
    for case in made:
        root = target / case.name
        shutil.copytree(RESULTS / case.base, root)
        case.apply(root)
    return made


if __name__ == "__main__":
    print(len(make(Path(sys.argv[1]))), "results")
