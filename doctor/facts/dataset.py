"""The dataset named by the command, where it is a local file: columns and lengths, sampled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from doctor.base.fact import BrokenFile
from doctor.base.record import record


@record
class Dataset:
    """A local JSON, JSONL, CSV or parquet file, or a folder of them.

    Args:
        rows: number of rows, None when only a part was read; `rows_read` how many were looked at (of parquet only
            the footer is read: rows and columns, no content).
        columns: names in the order of the first row; `missing_in` column -> number of rows read that lack it.
        empty_prompts: 1-based line (or row) numbers of empty prompts, at most 20; `empty_prompt_count` all of them.
        prompt_chars: median and largest length of the prompt column in characters; `longest_row` its line number.
        prompt_kind: "text", "conversation" (list of role/content) or "other".
        prompt_column: the column taken for the prompt (veRL's `data.prompt_key`).
        processed: the script changes the rows before the trainer gets them, so that its columns may be others.
        extremes: of parquet, column of text -> its smallest and its largest text, which are in it.

    """

    path: str
    rows: int | None = None
    rows_read: int = 0
    columns: tuple[str, ...] = ()
    prompt_kind: str | None = None
    empty_prompts: tuple[int, ...] = ()
    empty_prompt_count: int = 0
    prompt_chars_median: int | None = None
    prompt_chars_max: int | None = None
    longest_row: int | None = None
    broken: BrokenFile | None = None
    missing_in: Mapping[str, int] = field(default_factory=dict)
    prompt_column: str = "prompt"
    processed: bool = True
    extremes: Mapping[str, tuple[str, str]] = field(default_factory=dict)
