"""Splits kernel names: "Kernel::KernelLaunch::Default/net/MatMul-op1/aclnnMatmul" is the kernel aclnnMatmul, launched in
the scope Default/net/MatMul-op1. Source: docs/facts/ascend_ms.md, Kernel names and steps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tb_npu_plugin.schema.mindspore import EVENT_SEPARATOR, LAUNCH_SEPARATOR
from tb_npu_plugin.schema.mindspore_files import FULL_NAME, SCOPE
from tb_npu_plugin.tables import StringColumn, Table


def with_short_names(kernels: Table) -> Table:
    """Shorten kernel names to their last part, and add the full name and the scope as columns; unchanged if no name has
    parts."""
    names = kernels.text("name")
    parts = [split(value) for value in names.values]
    if not any(scope for _, scope in parts) and all(short == value for (short, _), value in zip(parts, names.values)):
        return kernels
    renamed = Table(kernels.columns, {**kernels.data, "name": replace_texts(names, [short for short, _ in parts])})
    return renamed.with_columns(
        [(FULL_NAME, names), (SCOPE, replace_texts(names, [scope or None for _, scope in parts]))]
    )


def split(name: str) -> tuple[str, str]:
    """Return (kernel, scope): the text after the last slash, and the text from the second "::" to that slash or "".

    >>> split("Kernel::KernelLaunch::Default/net/MatMul-op1/aclnnMatmul")
    ('aclnnMatmul', 'Default/net/MatMul-op1')
    >>> split("hcom_allReduce__974_0_1")
    ('hcom_allReduce__974_0_1', '')
    """
    before, _, kernel = name.rpartition(LAUNCH_SEPARATOR)
    if not kernel:
        return name, ""
    parts = before.split(EVENT_SEPARATOR, 2)
    return kernel, parts[2] if len(parts) == 3 else ""


def replace_texts(column: StringColumn, values: Sequence[str | None]) -> StringColumn:
    """Replace the distinct texts of a column; None is unknown."""
    text = StringColumn.of(values)
    codes = np.append(text.codes, np.int32(-1))  # code -1 is the last entry
    return StringColumn(codes[column.codes].astype(np.int32), text.values)
