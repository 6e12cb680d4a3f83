"""Collects the rows of a scan in memory or in files of a folder."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.scan.events import DTYPES, TEXT_COLUMNS
from tb_npu_plugin.texts import TextList

Batch = dict[str, NDArray[Any]]
_NUMBERS = {column: number for number, column in enumerate(TEXT_COLUMNS)}


class RowSource(Protocol):
    """Holds rows until they are taken, and their texts: _native.Walker. Text columns are numbered as TEXT_COLUMNS."""

    def take_rows(self) -> tuple[bytes, ...]:
        """The bytes of each column of DTYPES."""

    def write_rows(self, files: tuple[int, ...]) -> int:
        """Append each column to a file. Returns the row count."""

    def texts(self, column: int) -> tuple[bytes, bytes]:
        """(blob, int64 ends) of the texts of a column."""

    def write_texts(self, column: int, blob_file: int, ends_file: int) -> None:
        """Append what `texts` returns to two files."""


def texts_of(source: RowSource, column: str) -> TextList:
    """A copy of the texts of one of TEXT_COLUMNS."""
    blob, ends = source.texts(_NUMBERS[column])
    return TextList(blob, np.frombuffer(ends, dtype=np.int64))


class Columns:
    """Collects batches of rows, as arrays in memory."""

    def __init__(self) -> None:
        self._parts: dict[str, list[NDArray[Any]]] = {key: [] for key in DTYPES}

    def add(self, batch: Batch) -> None:
        """Append one batch: every column of DTYPES, equal lengths."""
        for key, parts in self._parts.items():
            parts.append(np.asarray(batch[key], dtype=DTYPES[key]))

    def add_from(self, source: RowSource) -> None:
        """Append the rows that `source` holds."""
        rows = zip(DTYPES.items(), source.take_rows())
        self.add({key: np.frombuffer(data, dtype=dtype) for (key, dtype), data in rows})

    def arrays(self) -> Batch:
        """All rows so far. Joins batches column by column, so peak memory is one extra column."""
        for key, parts in self._parts.items():
            parts[:] = [np.concatenate(parts) if parts else np.zeros(0, dtype=DTYPES[key])]
        return {key: parts[0] for key, parts in self._parts.items()}

    def texts(self, name: str, texts: TextList) -> TextList:
        """The same texts, stored like the rows. Call it once per name."""
        return texts

    def texts_from(self, column: str, source: RowSource) -> TextList:
        """The texts of one of TEXT_COLUMNS, stored like the rows. Call it once per column."""
        return texts_of(source, column)

    def close(self) -> None:
        """Stop collecting. Returned arrays stay valid."""


class SpooledColumns(Columns):
    """Columns as files of a folder, returned as read-only maps, whose memory the system can reclaim. Writing raises
    OSError when the folder cannot be written."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files = {key: (folder / f"{key}.column").open("wb", buffering=0) for key in DTYPES}
        self._rows = 0

    def add(self, batch: Batch) -> None:
        for key, file in self._files.items():
            left = np.ascontiguousarray(batch[key], dtype=DTYPES[key]).data.cast("B")
            while left:
                left = left[file.write(left) :]
        self._rows += len(batch["phase"])

    def add_from(self, source: RowSource) -> None:
        self._rows += source.write_rows(tuple(file.fileno() for file in self._files.values()))

    def arrays(self) -> Batch:
        if not self._rows:  # an empty file cannot be mapped
            return {key: np.zeros(0, dtype=dtype) for key, dtype in DTYPES.items()}
        return {
            key: np.memmap(self._folder / f"{key}.column", dtype=dtype, mode="r", shape=(self._rows,))
            for key, dtype in DTYPES.items()
        }

    def texts(self, name: str, texts: TextList) -> TextList:
        with self._text_files(name) as (blob_file, ends_file):
            blob_file.write(texts.blob)
            texts.ends.tofile(ends_file)
        return self._mapped_texts(name)

    def texts_from(self, column: str, source: RowSource) -> TextList:
        name = TEXT_COLUMNS[column]
        with self._text_files(name) as (blob_file, ends_file):
            source.write_texts(_NUMBERS[column], blob_file.fileno(), ends_file.fileno())
        return self._mapped_texts(name)

    @contextmanager
    def _text_files(self, name: str) -> Iterator[tuple[BinaryIO, BinaryIO]]:
        with (
            (self._folder / f"{name}.texts").open("wb") as blob_file,
            (self._folder / f"{name}.ends").open("wb") as ends_file,
        ):
            yield blob_file, ends_file

    def _mapped_texts(self, name: str) -> TextList:
        ends = np.memmap(self._folder / f"{name}.ends", dtype=np.int64, mode="r")
        if not ends[-1]:  # an empty file cannot be mapped
            return TextList(b"", ends)
        with (self._folder / f"{name}.texts").open("rb") as file:
            return TextList(memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)), ends)

    def close(self) -> None:
        for file in self._files.values():
            file.close()
