"""Writes the corpus: `python -m tests.corpus.make FOLDER`. One folder a case."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from tb_npu_plugin.capture.models.run import write_run
from tests.corpus.cases import RESULTS, WRITTEN, Case, cases


def make(target: Path, every: int = 1) -> list[Case]:
    """The cases as folders of `target`, or every third etc. of the damaged files; returns them."""
    made = list(cases(every))
    with tempfile.TemporaryDirectory() as name:
        for base, recipe in WRITTEN.items():
            write_run(recipe, Path(name) / base, jobs=1)
        for case in made:
            root = target / case.name
            shutil.copytree((Path(name) if case.base in WRITTEN else RESULTS) / case.base, root)
            case.apply(root)
    return made


if __name__ == "__main__":
    print(len(make(Path(sys.argv[1]))), "results")
