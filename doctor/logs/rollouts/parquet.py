"""TRL's completion dumps: `<output_dir>/completions/completions_<step>.parquet` with `log_completions=True`.

Columns `step, prompt, completion`, one a reward function, what the functions logged themselves, `advantage` (0.29 and
newer; up to 0.24 the table went to wandb alone). Prompts and completions are text or lists of messages.
https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/grpo_trainer.py
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from doctor.base.patterns import later
from doctor.logs.rollouts.jsonl import of_table
from doctor.logs.rollouts.sample import DumpNotReadable, Sample

NAME = later(r"completions_(\d{1,11})\.parquet")
NEEDS = "reading parquet needs pyarrow: pip install pyarrow"
_ROWS = 256
_OWN = frozenset({"prompt", "completion"})


class Reader:
    """Samples of one file, some hundred rows at a time. `unread` is always 0: a parquet file is read or is not."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.unread = 0

    def __iter__(self) -> Iterator[Sample]:
        """Read the file once.

        Raises:
            DumpNotReadable: pyarrow is missing, or the file is cut off or no dump.

        """
        try:
            from pyarrow import ArrowException
            from pyarrow.parquet import ParquetFile
            from pyarrow.types import is_floating
        except ImportError:
            raise DumpNotReadable(NEEDS) from None
        try:
            with ParquetFile(self.path) as file:
                if not set(file.schema_arrow.names) >= _OWN:
                    msg = "it is not a table of completions"
                    raise DumpNotReadable(msg)
                figures = [each.name for each in file.schema_arrow if is_floating(each.type)]
                batches = file.iter_batches(batch_size=_ROWS)
                rows = (row for batch in batches for row in batch.to_pylist())
                for at, row in enumerate(rows, 1):
                    # pandas writes NaN as null
                    row.update((name, math.nan) for name in figures if row[name] is None)
                    yield of_table(row, self.path, at)
        except (OSError, ArrowException, ValueError) as error:
            msg = f"it cannot be read: {str(error).partition(chr(10))[0][:120]}"
            raise DumpNotReadable(msg) from None
