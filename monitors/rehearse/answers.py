"""Answers that a reward function is tried with: those that an optimiser would find, and the dataset's own; pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Optional

#: columns in which datasets keep what is right, the most usual first
ANSWER_COLUMNS = (
    "answer", "answers", "solution", "ground_truth", "gold", "gold_answer", "target", "label", "expected",
    "final_answer", "correct_answer", "reference", "reference_answer", "reward_model", "gt", "output", "result",
)  # fmt: skip
#: tags that hold the answer itself, by name
_ANSWER_TAGS = ("answer", "solution", "final", "final_answer", "response", "output", "result")
_TAG = re.compile(r"<([A-Za-z_][\w-]{0,30})>")
_BOXED = re.compile(r"\\boxed\{((?:[^{}]|\{[^{}]*\})*)\}")
_REFUSAL = "I'm sorry, but I can't help with that."
_LONG_CHARACTERS, _REPEATS = 8000, 400
#: times that tags without an answer are written behind each other
_TAGS_REPEATED = 20

#: right answers behind some sentences of reasoning, about 80 tokens
WORKED = "worked:"
_WORK = "I look at what is given, and go on one step after the other. " * 5
#: what earns nothing from a function that judges answers
GARBAGE = ("empty", "refusal", "repeated", "prompt")


class Answers(NamedTuple):
    """Completions of one kind, one a row; None where the data gives none of that kind."""

    kind: str
    texts: tuple[str, ...]


def of_rows(prompts: Sequence[str], right: Optional[Sequence[str]], texts: Iterable[str]) -> list[Answers]:
    """All kinds for rows with these prompts.

    Args:
        prompts: as plain text, one a row.
        right: the right answer of each row, where the data has one.
        texts: what the prompts and the functions say of a format.

    """
    tags = tags_in(texts)
    count = len(prompts)
    kinds = [
        Answers("empty", ("",) * count),
        Answers("refusal", (_REFUSAL,) * count),
        Answers("repeated", ("the " * _REPEATS,) * count),
        Answers("prompt", tuple(prompts)),
        Answers("long", ("a (b [c {d" * (_LONG_CHARACTERS // 10),) * count),
    ]
    if tags:
        kinds.append(Answers("format", (_formatted(tags, "", "\n"),) * count))
        kinds.append(Answers("tags", ("\n".join([_formatted(tags, "", "")] * _TAGS_REPEATED),) * count))
    if right is not None:
        finals = [final_of(each) for each in right]
        for name, form in forms(tags):
            kinds.append(Answers(f"right:{name}", tuple(form(each) for each in finals)))
        kinds.append(Answers("right:whole", tuple(map(str, right))))
        for name, form in dict([next(iter(forms(tags))), ("plain", str)]).items():
            kinds.append(Answers(f"{WORKED}{name}", tuple(f"{_WORK}{form(each)}" for each in finals)))
        name, form = next(iter(forms(tags)))
        kinds.append(Answers(f"wrong:{name}", tuple(form(wrong_of(each)) for each in finals)))
    return kinds


def forms(tags: Sequence[str]) -> list[tuple[str, Any]]:
    """Ways of writing a final answer down, those that the texts ask for first."""
    found: list[tuple[str, Any]] = []
    if tags:
        found += [
            ("tags", lambda each: _formatted(tags, each, "\n")),
            ("tags-ending", lambda each: f"{_formatted(tags, each, chr(10))}\n"),
            ("tags-close", lambda each: _formatted(tags, each, "")),
            ("tags-boxed", lambda each: _formatted(tags, f"\\boxed{{{each}}}", "\n")),
        ]
    return [
        *found,
        ("plain", str),
        ("boxed", lambda each: f"The answer is $\\boxed{{{each}}}$."),
        ("hashes", lambda each: f"So the result follows.\n#### {each}"),
        ("sentence", lambda each: f"The answer is {each}."),
    ]


def tags_in(texts: Iterable[str]) -> tuple[str, ...]:
    """Names of the tags that are both opened and closed in the texts, in order; those of the answer itself last."""
    joined = "\n".join(texts)
    found = [each for each in dict.fromkeys(_TAG.findall(joined)) if f"/{each}>" in joined][:6]
    return tuple(sorted(found, key=lambda each: each.lower() in _ANSWER_TAGS))


def on_lines(prompt: str, tags: Sequence[str]) -> bool:
    """Whether a prompt shows just these tags, each on a line of its own with what stands between them."""
    shown = all(re.search(rf"<{each}>[ \t]*\n[^<]*\n[ \t]*</{each}>", prompt) for each in tags)
    return bool(tags) and shown and tags_in([prompt]) == tuple(tags)


def _formatted(tags: Sequence[str], answer: str, gap: str) -> str:
    holder = next((each for each in reversed(tags) if each.lower() in _ANSWER_TAGS), tags[-1])
    others = "Let us compute it step by step." if answer else ""
    return gap.join(f"<{each}>{gap}{answer if each == holder else others}{gap}</{each}>" for each in tags)


def right_of(
    row: Mapping[str, Sequence[Any]], count: int, first: Iterable[str] = ()
) -> Optional[tuple[str, list[str]]]:
    """(column, right answers) of a batch, by the name of its columns; None where there is none that can be written.

    Args:
        row: column -> values of a batch.
        count: how many rows it has.
        first: columns that come before the usual ones: those that are read.

    """
    for name in dict.fromkeys((*first, *ANSWER_COLUMNS)):
        values = row.get(name)
        if not isinstance(values, (list, tuple)) or len(values) != count:
            continue
        texts = [_as_text(each) for each in values]
        if all(each is not None and each.strip() for each in texts):
            return name, [str(each) for each in texts]
    return None


def _as_text(value: Any) -> Optional[str]:
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (str, int, float)):
        return str(value)
    if isinstance(value, Mapping):
        inner = next((value[each] for each in ("ground_truth", *ANSWER_COLUMNS) if each in value), None)
        return _as_text(inner)
    if isinstance(value, (list, tuple)) and value:
        return _as_text(value[0])
    return None


def final_of(answer: str) -> str:
    """The final answer within a worked one: behind `####`, in `\\boxed{}`, in an answer's tag, else all of it."""
    text = str(answer).strip()
    if "####" in text:
        return text.rpartition("####")[2].strip()
    if boxed := _BOXED.findall(text):
        return str(boxed[-1]).strip()
    for tag in _ANSWER_TAGS:
        if f"<{tag}>" in text and f"</{tag}>" in text:
            return text.rpartition(f"<{tag}>")[2].partition(f"</{tag}>")[0].strip()
    return text


def wrong_of(answer: str) -> str:
    """An answer that looks like the right one and is another."""
    number = re.search(r"\d+", answer)
    if number:
        return f"{answer[: number.start()]}{int(number[0]) + 1}{answer[number.end() :]}"
    return f"not {answer}"


def near_of(answer: str) -> Optional[tuple[str, str]]:
    """Two wrong numbers for a right one of several digits: one that ends otherwise, one that begins otherwise.

    None for whatever else an answer is: of a text it is not known which part counts.
    """
    number = re.fullmatch(r"(-?)(\d)(\d*)(\d)(\.\d+)?", answer.strip())
    if not number:
        return None
    sign, first, middle, last, rest = (each or "" for each in number.groups())
    ends, begins = str((int(last) + 1) % 10), str(int(first) % 9 + 1)
    return f"{sign}{first}{middle}{ends}{rest}", f"{sign}{begins}{middle}{last}{rest}"


def text_of(prompt: Any) -> str:
    """The plain text of a prompt, be it a string or messages."""
    if isinstance(prompt, str):
        return prompt
    if isinstance(prompt, (list, tuple)):
        return "\n".join(_content(each) for each in prompt)
    return str(prompt)


def _content(message: Any) -> str:
    content = message.get("content", "") if isinstance(message, Mapping) else message
    if isinstance(content, list):
        return "\n".join(str(each.get("text", "")) for each in content if isinstance(each, Mapping))
    return str(content)


def like(example: Any, text: str) -> Any:
    """A completion with that text, of the same shape as one of the run's own: a string, or messages."""
    if isinstance(example, (list, tuple)):
        return [{"role": "assistant", "content": text}]
    return text
