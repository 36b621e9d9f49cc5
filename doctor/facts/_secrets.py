"""Keeps secrets out of what is noted of a command line, while paths stay usable.

`doctor.core.redact` also hides the names in home folders, which would break every path; that is done when things are
shown. Here only tokens, keys and passwords go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

#: nothing that `redact_text` hides, except home folders, lacks all of these
_SIGNS = (
    "://", "hf_", "sk-", "gh", "akia", "asia", "wandb_", "bearer", "basic", "key", "secret", "token", "passw",
    "-----begin", "credential", "auth", "cookie",
)  # fmt: skip
_HOMES = (("/home/", "/\0h/"), ("/Users/", "/\0u/"))


def hide(name: str, text: str) -> str:
    """`text`, or what may be shown of it when `name` or its looks say that it is a secret."""
    lowered = f"{name} {text}".lower()
    if not text or not any(sign in lowered for sign in _SIGNS):
        return text
    from doctor.core.redact import is_secret_name, redact_text

    if is_secret_name(name.replace("-", "_")) and not _is_harmless(text):
        return "***"
    for home, mask in _HOMES:
        text = text.replace(home, mask)
    text = redact_text(text)
    for home, mask in _HOMES:
        text = text.replace(mask, home)
    return text


def _is_harmless(text: str) -> bool:
    """Whether a value under a secret's name is a switch or a number (`--max_tokens 512`, `--pad_token true`)."""
    return text.lower() in {"true", "false", "none", "null", "yes", "no", "auto"} or text.replace(".", "").isdigit()


def hide_value(name: str, value: Any) -> Any:
    """The same for a value; lists item by item."""
    if isinstance(value, str):
        return hide(name, value)
    return [hide_value(name, each) for each in value] if isinstance(value, list) else value


def hide_words(words: Sequence[str]) -> tuple[str, ...]:
    """A command line without its secrets: `--api-key X`, `NAME=X`, passwords in URLs."""
    shown: list[str] = []
    key = ""
    for word in words:
        name, joined, value = word.partition("=")
        if joined and not word.startswith(("-", "=")) and "://" not in name:
            shown.append(f"{name}={hide(name, value)}")
        elif joined and word.startswith("-"):
            shown.append(f"{name}={hide(name.lstrip('-'), value)}")
        else:
            shown.append(word if word.startswith("-") else hide(key, word))
        key = word.lstrip("-") if word.startswith("-") and not joined else ""
    return tuple(shown)
