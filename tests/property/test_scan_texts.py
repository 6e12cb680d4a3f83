"""The table of texts gives the same indices as a dict, whatever the hashes."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from tb_npu_plugin.scan.text_table import TextTable

BATCHES = st.lists(st.lists(st.text(max_size=3), max_size=12, unique=True), max_size=8)


@given(st.sampled_from([hash, len, lambda text: -1, lambda text: hash(text) & 3]), BATCHES)
def test_indices_in_order_of_first_use(hash_of: Callable[[str], int], batches: list[list[str]]) -> None:
    table, known = TextTable(hash_of), {}
    for batch in batches:
        new = {text for text in batch if text not in known}
        found = dict(zip(batch, table.indices(batch).tolist()))
        assert {text: found[text] for text in batch if text in known} == {t: known[t] for t in batch if t in known}
        assert sorted(found[text] for text in new) == list(range(len(known), len(known) + len(new)))
        known.update(found)
        if hash_of is hash:
            assert [text for text in batch if text in new] == sorted(new, key=found.__getitem__)
    assert [table.copy()[index] for index in known.values()] == list(known)
    assert table.take() == table.copy()
