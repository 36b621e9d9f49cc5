"""The datasets that a command of LLaMA-Factory names, as `dataset_info.json` declares them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from doctor.base.evidence import Place
from doctor.base.fact import BrokenFile
from doctor.base.record import record

#: what an entry without `columns` and without `tags` means, and what one with them may set
COLUMNS = {"prompt": "instruction", "query": "input", "response": "output"}
MESSAGES = {"messages": "conversations"}
TAGS = {
    "role_tag": "from", "content_tag": "value", "user_tag": "human", "assistant_tag": "gpt",
    "observation_tag": "observation", "function_tag": "function_call", "system_tag": "system",
}  # fmt: skip


@record
class Declared:
    """One dataset by its name in the command.

    Args:
        name: as the command calls it.
        defined: whether `dataset_info.json` has an entry of this name.
        place: of the entry.
        formatting, ranking: as they count, defaults included.
        columns: what the converter reads -> column of the rows, as they count.
        tags: names of the roles and of their keys, as they count.
        file: the local file, None for one of a hub or a script.
        file_absent: it does not exist.
        row_columns: of the first rows; empty if none could be read.
        roles: that the messages of the first rows have, by `role_tag`.
        message_keys: keys of these messages.
        no_texts: columns of the first rows that hold something else than text in each of them, and not nothing.

    """

    name: str
    defined: bool
    place: Place
    formatting: str = "alpaca"
    ranking: bool = False
    columns: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    file: str | None = None
    file_absent: bool = False
    row_columns: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    message_keys: tuple[str, ...] = ()
    no_texts: tuple[str, ...] = ()


@record
class LlamafactoryData:
    """Datasets for training and evaluation; `info` is `dataset_info.json` in full, `broken` why it cannot be read."""

    info: str
    declared: tuple[Declared, ...] = ()
    broken: BrokenFile | None = None
