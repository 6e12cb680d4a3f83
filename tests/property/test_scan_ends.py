"""Ends of brackets, found for all at once, are those that a walk from each of them finds."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st

from tb_npu_plugin.scan.tokens import NONSENSE, UNFINISHED, TokenEnds

TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{\[}\] \t\r\n,:0-9+\-.eEtrufalsnNIiyA/]', re.DOTALL)
PIECES = [b"{", b"}", b"[", b"]", b'"', b"\\", b'\\"', b"\\\\", b"z", b"1,", b'"x":', b'{"k":1}', b"\xff"]


def walked(data: bytes, start: int) -> int:
    """End of the value at `start`, token by token."""
    opened: list[int] = []
    position = start
    while found := TOKEN.match(data, position):
        position = found.end()
        if found[0] in (b"{", b"["):
            opened.append(found.start())
        elif found[0] in (b"}", b"]"):
            begin = opened.pop()
            if not opened:
                return position if data[begin : begin + 1] + found[0] in (b"{}", b"[]") else NONSENSE
    return UNFINISHED if position == len(data) or data[position : position + 1] == b'"' else NONSENSE


@given(st.lists(st.sampled_from(PIECES), max_size=30).map(b"".join), st.booleans())
@example(b'{"a\\\\":{"b":"\\"}"}]', False)
def test_each_bracket_ends_where_a_walk_from_it_ends(data: bytes, last_first: bool) -> None:
    ends = TokenEnds(data)
    starts = [found.start() for found in re.finditer(rb"[{\[]", data)]
    for start in sorted(starts, reverse=last_first):
        assert ends.of(start) == walked(data, start), start
