"""The form in which a reward looks for an answer, against the forms that prompts ask for."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from doctor.base.patterns import later
from doctor.readers.script.python_source import ParsedFile

_TAG = later(r"<([A-Za-z_]\w{0,24})>")
#: `<answer>(.*?)</answer>`: a pattern that takes out what stands in a tag
_TAKEN = later(r"<([A-Za-z_]\w{0,24})>(?:\\s\*|\\n\*?|\\s\+)?\((?!\?!).{1,24}\)(?:\\s\*|\\n\*?|\\s\+)?<\\?/\1>")
#: steps of thinking, of which no answer is taken
_THINKS = frozenset({
    "think", "thinking", "thought", "thoughts", "reasoning", "reason", "scratchpad", "reflection", "start_working_out",
    "plan", "cot", "rationale", "tool_call", "tool_response", "tools", "function", "functioncall", "code", "image",
})  # fmt: skip
_SENTENCE = later(r"[A-Za-z]{2,} [A-Za-z]{2,} [A-Za-z]{2,}")
_TRAINS = later(r"reward_funcs|(?:GRPO|RLOO|PPO)\w*|advantage")


def formats_differ(sources: Sequence[ParsedFile]) -> Iterator[tuple[ParsedFile, ast.AST, Mapping[str, str]]]:
    """A pattern of a reward that takes the answer out of a tag which no text of the project names."""
    if not any(_TRAINS.search(each.text) for each in sources) or not any("re." in each.text for each in sources):
        return
    patterns = [(source, node, tag) for source in sources for node, tag in _taken(source.tree)]
    tags = {tag for _, _, tag in patterns}
    if len(tags) != 1:
        return  # one pattern after the other is tried
    (tag,) = tags
    own = {id(node) for _, node, _ in patterns}
    asked: dict[str, str] = {}
    for source in sources:
        if "apply_chat_template" in source.text and "jinja" in source.text:
            return
        for text in _texts(source.tree, own):
            if f"{tag}>" in text:
                return
            if _SENTENCE.search(text):
                asked.update({each: f"<{each}>" for each in _pairs(text)})
                if "boxed{" in text:
                    asked["boxed"] = "\\boxed{}"
    wanted = [shown for name, shown in asked.items() if name.lower() not in _THINKS]
    if wanted and tag.lower() not in _THINKS:
        source, node, _ = patterns[0]
        yield source, node, {"tag": f"<{tag}>", "asked": wanted[0]}


def _pairs(text: str) -> Iterator[str]:
    """Tags of a text that are opened and closed."""
    yield from (each for each in dict.fromkeys(_TAG.findall(text)) if f"</{each}>" in text)


def _taken(tree: ast.Module) -> Iterator[tuple[ast.Constant, str]]:
    """Constants that are patterns of a reward, and the tag out of which they take the answer."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or len(node.value) > 400:
            continue
        found = [each for each in _TAKEN.findall(node.value) if each.lower() not in _THINKS]
        if len(set(found)) == 1:
            yield node, found[0]


def _texts(tree: ast.Module, patterns: set[int]) -> Iterator[str]:
    """Strings other than these patterns, joined where they are written in parts."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(e.value) for e in node.values if isinstance(e, ast.Constant))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in patterns:
            yield node.value
