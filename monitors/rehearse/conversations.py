"""A conversation of three turns with a tool, through the run's own chat template: are its tokens a continuation?

Rollouts of several turns go on from the tokens of the turns so far. A template that rewrites earlier turns, or text
whose tokens are others after decoding and encoding, makes the trainer score what nobody generated:
https://github.com/huggingface/trl/issues/5224 https://github.com/volcengine/verl/issues/6921
An answer that the template leaves open teaches nobody to stop: https://github.com/huggingface/trl/pull/6044
"""

from __future__ import annotations

from typing import Any, Optional, Sequence

from doctor.monitors.rehearse import journal
from doctor.monitors.rehearse.relations import rendered
from doctor.oracles.tokens import prefix_property, round_trip
from doctor.oracles.verdict import BROKEN, HOLDS, Verdict

_CALL: dict[str, Any] = {"type": "function", "function": {"name": "add", "arguments": {"a": 2, "b": 3}}}
_WITH_TOOL: list[dict[str, Any]] = [
    {"role": "user", "content": "What is 2 + 3?"},
    {"role": "assistant", "content": "<think>\nI add them.\n</think>\n\n", "tool_calls": [_CALL]},
    {"role": "tool", "name": "add", "content": "5"},
    {"role": "assistant", "content": "<think>\nThe tool says so.\n</think>\n\nIt is 5."},
    {"role": "user", "content": "And twice that?"},
    {"role": "assistant", "content": "<think>\nTwice 5.\n</think>\n\nIt is 10."},
]
_PLAIN = [{"role": each["role"], "content": each["content"]} for each in _WITH_TOOL if each["role"] != "tool"]
#: tokens behind the one that ends a turn: a line break, most often
_BEHIND = 3


@journal.shielded
def look(trainer: Any) -> None:
    """Render the conversation turn by turn, and note what is no continuation."""
    made = getattr(trainer, "processing_class", None) or getattr(trainer, "tokenizer", None)
    tokenizer = getattr(made, "tokenizer", made)
    if not getattr(tokenizer, "chat_template", None) or not _is_conversational(trainer):
        return
    with rendered.silent():
        _tell(trainer, tokenizer)


def _tell(trainer: Any, tokenizer: Any) -> None:
    messages, ids, tools = _WITH_TOOL, None, True
    template = _template(trainer)
    try:
        ids = _turns(tokenizer, messages, template)
    except Exception:  # noqa: BLE001 - whatever a template raises at a role that it does not know
        tools = False
        messages = _merged(_PLAIN)
        ids = _turns(tokenizer, messages, template)
    kept = prefix_property(ids)
    broken = [each + 1 for each in kept.details.get("turns", ())]  # answers, from 1
    journal.write(
        "conversation", several=_several(trainer), tools=tools, broken=broken, ends=_ends(trainer, tokenizer, ids),
        same=_same(tokenizer, ids[-1]), end=getattr(tokenizer, "eos_token", None),
        text=_difference(tokenizer, ids, kept), turns=len(messages),
    )  # fmt: skip


def _merged(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Two answers in a row as one: templates that know no tools ask for turns that alternate."""
    found: list[dict[str, Any]] = []
    for each in messages:
        if found and found[-1]["role"] == each["role"]:
            found[-1] = {**each, "content": found[-1]["content"] + each["content"]}
        else:
            found.append(dict(each))
    return found


def _template(trainer: Any) -> Optional[str]:
    """The template that the trainer renders with in the tokenizer's place, as TRL does for runs with tools.

    https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/grpo_trainer.py
    """
    value = getattr(trainer, "chat_template", None)
    return value if isinstance(value, str) else None


def _turns(tokenizer: Any, messages: list[dict[str, Any]], template: Optional[str]) -> list[list[int]]:
    """Token ids of the conversation up to each answer."""
    ends = [at + 1 for at, each in enumerate(messages) if each["role"] == "assistant"]
    return [_ids(tokenizer, messages[:end], template) for end in ends]


def _ids(tokenizer: Any, messages: list[dict[str, Any]], template: Optional[str]) -> list[int]:
    other = {} if template is None else {"chat_template": template}
    text = tokenizer.apply_chat_template(messages, tokenize=False, **other)
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])


def _difference(tokenizer: Any, turns: list[list[int]], kept: Verdict) -> str:
    """What stands in the shorter conversation where the longer one begins to differ."""
    if kept.state is not BROKEN:
        return ""
    at = kept.details["at"]
    return str(tokenizer.decode(turns[kept.details["turn"]][at : at + 12]))


def _ends(trainer: Any, tokenizer: Any, turns: list[list[int]]) -> Optional[bool]:
    """Whether an answer ends with a token that ends a generation; None where nobody knows which ones do."""
    config = getattr(getattr(trainer, "model", None), "generation_config", None)
    named = getattr(config, "eos_token_id", None)
    ends = {getattr(tokenizer, "eos_token_id", None), *(named if isinstance(named, (list, tuple)) else [named])}
    ends.discard(None)
    return bool(ends.intersection(turns[-1][-_BEHIND:])) if ends else None


def _same(tokenizer: Any, ids: list[int]) -> bool:
    """Whether the ids survive being decoded and encoded."""

    def decode(given: Sequence[int]) -> str:
        return str(tokenizer.decode(given, skip_special_tokens=False, clean_up_tokenization_spaces=False))

    return round_trip([ids], decode, lambda text: tokenizer(text, add_special_tokens=False)["input_ids"]).state is HOLDS


def _is_conversational(trainer: Any) -> bool:
    data: Any = getattr(trainer, "train_dataset", None)
    names = getattr(data, "column_names", None) or []
    try:
        first = next(iter(data)) if "messages" in names or "prompt" in names else {}
    except Exception:  # noqa: BLE001 - a stream that ends, a row that breaks: the run says so itself
        return False
    value = first.get("messages", first.get("prompt"))
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def _several(trainer: Any) -> bool:
    """Whether the run's rollouts have several turns."""
    return any(
        getattr(trainer, name, None) for name in ("tools", "environments", "environment_factory", "rollout_func")
    )
