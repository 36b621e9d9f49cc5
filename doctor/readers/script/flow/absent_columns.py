"""The idiom about columns that a mapped function reads of rows which do not have them."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from doctor.readers.script.flow.seen import Met

_SHOWN = 8


def column_read_absent(node: ast.AST, column: str, columns: Sequence[str]) -> Met:
    """What `doctor.readers.script.row_columns` noted: the read, and the columns that there are."""
    return Met("column_read_absent", node, {"column": column, "columns": ", ".join(columns[:_SHOWN])})
