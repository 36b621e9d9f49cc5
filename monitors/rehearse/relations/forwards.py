"""One forward pass that trains, as a rehearsal keeps it until its step is made."""

from __future__ import annotations

from typing import Any, Optional

_NONE: frozenset[int] = frozenset()


class Forward:
    """One forward that trains, and what came back to it.

    Attributes:
        ids: tokens, [rows, width].
        mask: 1 where a token counts, [rows, width]; None where the call had none of this shape.
        first: place of the first position that has logits.
        pad: the model's padding token; None where it names none.
        ends: its tokens that end an answer.
        causal: whether the model is one that predicts the next token.
        active: positions whose output the loss depends on, [rows, positions]; None until the gradient came.
        target: the token that is trained at a position, -1 where none can be told, [rows, positions].
        weight: of that token in the loss, above 0 where it becomes more likely, [rows, positions].

    """

    def __init__(
        self, ids: Any, mask: Any, first: int, *, causal: bool, pad: Optional[int] = None, ends: frozenset[int] = _NONE
    ) -> None:
        self.ids, self.mask, self.first, self.causal, self.pad, self.ends = ids, mask, first, causal, pad, ends
        self.active: Any = None
        self.target: Any = None
        self.weight: Any = None
