"""Records of an event file: damage costs the records that it hits."""

from __future__ import annotations

import struct
import tempfile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.summary.writer.record_writer import masked_crc32c

from tb_npu_plugin.summary import records
from tb_npu_plugin.summary.records import read_records
from tests.support.summary_files import record

DATA = [b"first", b"second record", b"", b"\0" * 40, b"last"]
WHOLE = b"".join(map(record, DATA))
STARTS = [sum(len(record(data)) for data in DATA[:number]) for number in range(len(DATA) + 1)]


def read(content: bytes, start: int = 0) -> list[tuple[int, int, bytes | None]]:
    with tempfile.TemporaryFile() as file:
        file.write(content)
        file.flush()
        return [tuple(found) for found in read_records(file, start)]


def test_all_records_and_those_from_a_place_on() -> None:
    rows = [(STARTS[number], STARTS[number + 1], data) for number, data in enumerate(DATA)]
    assert read(WHOLE) == rows and read(WHOLE, STARTS[2]) == rows[2:]


@pytest.mark.parametrize("number", range(len(DATA)))
@pytest.mark.parametrize("place", [0, 3, 8, -1], ids=["length", "high length", "checksum of the length", "checksum"])
def test_a_damaged_record_costs_itself(number: int, place: int) -> None:
    at = STARTS[number] + place if place >= 0 else STARTS[number + 1] - 1
    content = bytearray(WHOLE)
    content[at] ^= 0x55
    found = read(bytes(content))
    kept = [data for other, data in enumerate(DATA) if other != number]
    assert [data for _, _, data in found if data is not None] == kept
    is_unfinished = number == len(DATA) - 1 and place >= 0  # nothing intact follows: it may still be being written
    assert [(start, end) for start, end, data in found if data is None] == (
        [] if is_unfinished else [(STARTS[number], STARTS[number + 1])]
    )


@given(st.integers(0, len(WHOLE)))
def test_an_incomplete_record_waits(size: int) -> None:
    complete = sum(end <= size for end in STARTS[1:])
    assert [data for _, _, data in read(WHOLE[:size])] == DATA[:complete]


def test_bytes_that_are_lost_or_inserted_cost_one_record() -> None:
    lost = WHOLE[: STARTS[1] + 14] + WHOLE[STARTS[1] + 20 :]
    assert [data for _, _, data in read(lost)] == [b"first", None, *DATA[2:]]
    inserted = WHOLE[: STARTS[1]] + b"\0" * 5_000 + WHOLE[STARTS[1] :]
    assert [data for _, _, data in read(inserted)] == [b"first", None, *DATA[1:]]


def test_the_next_header_is_found_across_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    content = b"\xff" * 100 + WHOLE
    for block in range(13, 40):
        monkeypatch.setattr("tb_npu_plugin.summary.records._BLOCK", block)
        assert [data for _, _, data in read(content)] == [None, *DATA]


def test_headers_that_claim_the_rest_of_the_file_are_not_all_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each read the file to its end, which took quadratic time."""
    checked = [0]

    def checksum(data: bytes) -> int:
        checked[0] += len(data)
        return masked_crc32c(data)

    monkeypatch.setattr(records, "masked_crc32c", checksum)
    count, size = 100, 16 * 100
    headers = []
    for number in range(count):
        length = struct.pack("<Q", max(0, size - 16 * number - 20))
        headers.append(length + struct.pack("<II", masked_crc32c(length), 0))
    content = b"".join(headers)
    assert read(content)[-1][1:] == (size, None)
    assert checked[0] < 5 * size
