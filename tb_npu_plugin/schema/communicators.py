"""Names of communicators in result files."""

from __future__ import annotations


def group_hash(name: str) -> str:
    """Decimal id of a communicator in communication.json: two 32-bit polynomial hashes of its name, concatenated
    (checked with the name and the id in a recorded database)."""
    high = low = 0
    for byte in name.encode():
        high = (high * 29 + byte) & 0xFFFFFFFF
        low = (low * 131 + byte) & 0xFFFFFFFF
    return str(high << 32 | low)
