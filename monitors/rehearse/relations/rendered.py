"""Answers whose beginning a chat template leaves out: conversations that end with one are rendered to be learned.

Templates of reasoning models cut what stands before `</think>`, also from the last answer.
https://github.com/axon-rl/gem/issues/44
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, Optional

from doctor.monitors.rehearse import journal

#: conversations that are looked at, those that must have lost something, and characters of it
_MOST, _LEAST, _LOST = 64, 4, 8


class _Seen:
    own: ClassVar[bool] = False
    asked: ClassVar[set[str]] = set()
    lost: ClassVar[int] = 0


def attach(module: Any) -> None:
    """Stand around the rendering of every tokenizer; `module` is transformers.tokenization_utils_base."""
    owner = module.PreTrainedTokenizerBase
    original = owner.apply_chat_template

    @functools.wraps(original)
    def watched(self: Any, conversation: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, conversation, *args, **kwargs)
        if not _Seen.own and len(_Seen.asked) < _MOST and not kwargs.get("add_generation_prompt"):
            _look(self, conversation, result)
        return result

    owner.apply_chat_template = watched


@contextmanager
def silent() -> Iterator[None]:
    """What the rehearsal itself renders is not the run's."""
    _Seen.own = True
    try:
        yield
    finally:
        _Seen.own = False


@journal.shielded
def _look(tokenizer: Any, conversation: Any, result: Any) -> None:
    last = conversation[-1] if isinstance(conversation, list) and conversation else None
    content = last.get("content") if isinstance(last, Mapping) and last.get("role") == "assistant" else None
    if not isinstance(content, str) or not content.strip() or content in _Seen.asked:
        return
    text = _text(tokenizer, result)
    if text is None:
        return
    _Seen.asked.add(content)
    lost = _missing(content, text)
    _Seen.lost += bool(lost)
    if lost and _Seen.lost >= _LEAST and _Seen.lost == len(_Seen.asked):
        journal.once("rendered", "rendered", lost=lost[:200], answers=_Seen.lost)


def _text(tokenizer: Any, result: Any) -> Optional[str]:
    """What was rendered, be it text or tokens of one conversation."""
    found: Any = result.get("input_ids") if isinstance(result, Mapping) else result
    if isinstance(found, str):
        return found
    found = found.tolist() if hasattr(found, "tolist") else found
    found = found[0] if isinstance(found, list) and len(found) == 1 and isinstance(found[0], list) else found
    if isinstance(found, list) and found and isinstance(found[0], int):
        return str(tokenizer.decode(found))
    return None


def _missing(content: str, text: str) -> str:
    """The beginning of an answer that is not in the text, though the rest is; spaces do not count."""
    wanted, there = "".join(content.split()), "".join(text.split())
    if wanted in there:
        return ""
    cut = next((at for at in range(1, len(wanted)) if wanted[at:] in there), 0)
    return content.strip() if cut >= _LOST else ""
