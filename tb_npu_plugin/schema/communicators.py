"""Names of communicators, as result files tell them."""

from __future__ import annotations


def group_hash(name: str) -> str:
    """The decimal id under which communication.json files a communicator of this name: two 32-bit polynomial hashes
    side by side (checked against the name and the id in a recorded database)."""
    high = low = 0
    for byte in name.encode():
        high = (high * 29 + byte) & 0xFFFFFFFF
        low = (low * 131 + byte) & 0xFFFFFFFF
    return str(high << 32 | low)
