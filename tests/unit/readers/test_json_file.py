from __future__ import annotations

from tb_npu_plugin.readers.shared.json_file import complete_objects


def test_a_wanted_object_comes_whole_and_once() -> None:
    text = '{"a": {"b": {"x": 1.50}}, "c": {"d": {}}, "e": {"f": {'
    found = list(complete_objects(text, lambda value: "b" in value))
    assert found == [("a", {"b": {"x": "1.50"}}), ("c", None), ("d", None), ("e", None), ("f", None)]


def test_braces_inside_strings_are_text() -> None:
    text = '{"a": {"x": "} \\" {"}, "b": {"y'
    assert list(complete_objects(text, lambda value: "x" in value)) == [("a", {"x": '} " {'}), ("b", None)]


def test_endless_nesting_ends_the_search() -> None:
    assert list(complete_objects('{"a":' * 100_000, lambda value: True)) == []
