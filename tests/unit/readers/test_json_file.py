"""What is complete in a broken JSON file, and what finding it takes."""

from __future__ import annotations

import time

import pytest

from tb_npu_plugin.readers.shared.json_file import complete_objects


def _cpu_of(text: str) -> float:
    begin = time.process_time()
    for _ in complete_objects(text, lambda value: False):
        pass
    return time.process_time() - begin


@pytest.mark.parametrize(
    "part",
    [
        '\\"',
        '{"a":',
        '"a":{@',
        '{"a":{"b":1,',
        '\\"a\\":{',
        '":{"":{',
        '{"a":{"b":x":{',
        '"a" ' + " " * 100 + ":",
        '"a":{"b":{"c":1}},',
        '{"a":' * 800 + "1" + "}" * 800 + ",",
    ],
)
def test_broken_json_takes_linear_time(part: str) -> None:
    """20, 40 and 80 kB of escaped quotes took 1.7, 6.8 and 27 s."""

    def text(size: int) -> str:
        return '{"step1": x "a":{"b":"' + part * (size // len(part))

    few, many = (min(_cpu_of(text(size)) for _ in range(2)) for size in (10_000, 80_000))
    assert many < 30 * few + 0.05, "8 times the text"


def test_complete_objects_inside_broken_ones() -> None:
    text = '{"a": {"b": {"c": {"x": 1}, "c": {"x": 2}}, "d": {"x": 3, "e": {"x": 4}, "f": {"x": @, "g": {"x": 5}'
    found = list(complete_objects(text, lambda value: set(value) == {"x"}))
    assert [key if value is None else (key, value["x"]) for key, value in found] == [
        "a", "b", ("c", "2"), "d", ("e", "4"), "f", ("g", "5"),
    ]  # fmt: skip
