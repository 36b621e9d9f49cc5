"""The idiom about chats that a template rendered, wherever they are tokenized."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from doctor.base.patterns import later
from doctor.readers.script.flow.program import named, text_of
from doctor.readers.script.flow.seen import Met, Script
from doctor.readers.script.flow.values import At
from doctor.readers.script.loaded_models import loads_one_of

_TOKENIZES = later(r"(?i)tok|proc")
#: models whose tokenizers put a begin token before every text
_BEGINS = later(r"(?i)\b(?:llama-?[23]|meta-llama|gemma|mistral|mixtral)")
_DEEPEST = 6


def rendered_twice(script: Script) -> Iterator[Met]:
    """A tokenizer's call whose text is a rendered chat, also one that came through a function of the script's own."""
    if not _BEGINS.search(script.text) or "add_bos_token" in script.text:
        return
    if not loads_one_of(script.values.program.tree, script.text, _BEGINS):
        return
    for call in script.values.program.calls:
        if not isinstance(call.func, (ast.Name, ast.Attribute)) or not call.args:
            continue
        is_tokenizer = _TOKENIZES.search(text_of(call.func)) and script.values.function(call) is None
        if is_tokenizer and isinstance(call.func, ast.Attribute) and not text_of(call.func).startswith("self."):
            continue  # a method that is named after tokens, as `tokenizer.decode`
        told = any(each.arg in {None, "add_special_tokens"} for each in call.keywords)
        if is_tokenizer and not told and _is_rendered(script, At(call.args[0])):
            yield Met("rendered_twice", call, {"T": text_of(call.func)})
            return


def _is_rendered(script: Script, at: At, depth: int = 0) -> bool:
    """Whether a value is nothing but what a template rendered as text, in every way that leads to it."""
    if isinstance(at.node, ast.Call) and named(at.node) == "apply_chat_template":
        return any(
            each.arg == "tokenize" and isinstance(each.value, ast.Constant) and each.value.value is False
            for each in at.node.keywords
        )
    own = isinstance(at.node, ast.Call) and script.values.function(at.node) is not None
    if depth >= _DEEPEST or not (own or isinstance(at.node, ast.Name)):
        return False
    held = list(script.values.parts(at))
    return bool(held) and all(_is_rendered(script, each, depth + 1) for each in held)
