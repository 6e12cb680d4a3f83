"""Maps the text files of torch_npu to their readers."""

from __future__ import annotations

from tb_npu_plugin.readers.shared.csv_reader import read_csv
from tb_npu_plugin.readers.shared.reading import Reading, Tables
from tb_npu_plugin.readers.text.communication import read_communication, read_communication_matrix
from tb_npu_plugin.schema.torch_npu_csv import CSV_FILES
from tb_npu_plugin.schema.torch_npu_json import COMMUNICATION, COMMUNICATION_MATRIX


def read_file(reading: Reading) -> Tables:
    """Return the logical tables (ids of schema.registry.TABLES) of one result file, plain or .gz. Unreadable parts are
    reported and the tables hold the rest; {} if the file is unusable."""
    spec = next((spec for spec in CSV_FILES if spec.matches(reading.name)), None)
    if spec is not None:
        table = read_csv(reading, spec)
        return {} if table is None else {spec.id: table}
    if COMMUNICATION.matches(reading.name):
        return read_communication(reading)
    if COMMUNICATION_MATRIX.matches(reading.name):
        return read_communication_matrix(reading)
    reading.report.add("unknown_file", found=reading.name)
    return {}
