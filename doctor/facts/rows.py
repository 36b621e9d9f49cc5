"""The rows that a trainer is given, as far as the script itself makes them."""

from __future__ import annotations

from doctor.base.evidence import Place
from doctor.base.record import record

#: kinds of prompts: a list of messages, or one text
CONVERSATION, TEXT = "conversation", "text"


@record
class Rows:
    """Columns of the rows, followed through `map`, `rename_column` and their like.

    Args:
        place: of the expression that made them what they are.
        columns: names that the script gives them; all there are where `complete`.
        removed: names that they no longer have, whatever they were made from.
        of_splits: it is no dataset but the mapping of split to dataset, as `load_dataset` without `split=` gives it.
        published: columns stand in the list of published datasets; the dataset itself was not read.
        prompt_kind: "conversation" or "text" where the script makes the prompts itself, else None.

    """

    place: Place
    columns: tuple[str, ...] = ()
    complete: bool = False
    removed: tuple[str, ...] = ()
    prompt_kind: str | None = None
    of_splits: bool = False
    published: bool = False

    def lacks(self, column: str) -> bool:
        """Whether it is certain that the rows have no such column."""
        return column not in self.columns and (self.complete or column in self.removed)

    def lacks_as_published(self, column: str) -> bool:
        """Whether only the list of published datasets says that the rows have no such column."""
        return self.published and self.lacks(column) and column not in self.removed
