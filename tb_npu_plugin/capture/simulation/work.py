"""What a kernel has to do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Work:
    """What a kernel does: what its counters count. Bytes are those of global memory; cached, kept: of those that are
    read the ones that the L2 cache has, of those that are written the ones that stay there."""

    cube_flops: float = 0.0
    vector_flops: float = 0.0
    read: int = 0
    written: int = 0
    cached: int = 0
    kept: int = 0

    @property
    def main_read(self) -> int:
        """Bytes from the main memory."""
        return self.read - self.cached

    @property
    def main_written(self) -> int:
        """Bytes that go to the main memory at once."""
        return self.written - self.kept


#: Of what moves and computes nothing.
NO_WORK = Work()
