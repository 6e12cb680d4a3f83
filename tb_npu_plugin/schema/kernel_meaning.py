"""What a kernel does, by its name and type: the table kernel_meaning.csv. The first row that matches applies.

Columns of the table:
    where: Text that the pattern is looked for in: "kernel_name", "kernel_type", "gpu_kernel", "task_type", "host_op" or "api".
    match: "exact", "prefix" or "regex" (anywhere in the text).
    meaning: What the kernel does, such as "matmul".
    waits_inside: "yes" if the kernel waits for other ranks.
    fold: Rule that makes the names of its calls equal.
    evidence, source: How the row is known.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal, Optional

Where = Literal["kernel_name", "kernel_type", "gpu_kernel", "task_type", "host_op", "api"]
#: Meanings of kernels that compute and communicate: their time counts as computing.
FUSED = ("fused_comm_compute", "moe_dispatch_combine")
_MATCHES: dict[str, Callable[[str], str]] = {
    "exact": lambda text: rf"^{re.escape(text)}\Z",
    "prefix": lambda text: f"^{re.escape(text)}",
    "regex": lambda text: text,
}
#: aclnnX_Y_Z with index and graph endings -> Z.
_STEM = re.compile(r"(?:^|_)([A-Za-z][A-Za-z0-9]*?)(?:_\d+)*$")


@dataclass(frozen=True)
class KernelMeaning:
    """What a kernel does."""

    meaning: str
    waits_inside: bool
    fold: str

    @property
    def is_fused(self) -> bool:
        """It computes, and waits for other ranks inside."""
        return self.waits_inside and self.meaning in FUSED


@cache
def _rows(where: Where) -> list[tuple[re.Pattern[str], KernelMeaning]]:
    """The rows about one text: patterns take long to compile."""
    with (Path(__file__).parent / "kernel_meaning.csv").open(encoding="utf-8", newline="") as file:
        return [
            (
                re.compile(_MATCHES[row["match"]](row["pattern"])),
                KernelMeaning(row["meaning"], row["waits_inside"] == "yes", row["fold"]),
            )
            for row in csv.DictReader(file)
            if row["where"] == where
        ]


@lru_cache(maxsize=65_536)
def meaning_of(text: str, where: Where) -> Optional[KernelMeaning]:
    """Meaning of one text; None if the table does not know it."""
    return next((found for pattern, found in _rows(where) if pattern.search(text)), None)


def meaning_of_kernel(name: Optional[str], kernel_type: Optional[str]) -> Optional[KernelMeaning]:
    """Meaning of an NPU kernel: by its name, by its type, else by the type in its name (aclnnX_Type_Type)."""
    found = meaning_of(name, "kernel_name") if name else None
    if found is None and kernel_type:
        return meaning_of(kernel_type, "kernel_type")
    stem = _STEM.search(name) if name and found is None else None
    return found if stem is None else meaning_of(stem.group(1), "kernel_type")
