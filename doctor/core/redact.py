"""Takes secrets out of text before anybody sees it."""

from __future__ import annotations

import re

#: variables and keys whose value is a secret whatever it looks like
SECRET_NAME = re.compile(
    r"(?i)(^|[_.\-])(api_?key|key_?id|secret|token|passw(or)?d|credentials?|auth|cookie|access_?key)s?([_.\-]|$)"
)
#: words of a vocabulary, not secrets
VOCABULARY_NAME = re.compile(r"(?i)^(.*[_.\-])?(eos|bos|pad|unk|sep|cls|mask|image|stop|special|max|new|num)_tokens?$")

#: the end of a name that stands for a secret, but is no token of a vocabulary
_NAME = r"(?:api[_-]?key|secret|(?<!eos_)(?<!bos_)(?<!pad_)(?<!unk_)token|passw(?:or)?d|access[_-]?key(?:[_-]?id)?)"
#: values that say only whether something is there, or hold its place in an example
_HARMLESS = r"(?!\*\*\*|\.\.\.|EMPTY\b|None\b|null\b|set\b|unset\b|true\b|false\b|[0-9]{1,6}\b)"
#: parameters that make an address of object storage or a CDN open to whoever holds it
_SIGNED = r"x-[a-z]{3,4}-(?:signature|credential|security-token)|signature|policy|key-pair-id|sig|\w{2,8}AccessKeyId"

# Every repetition is bounded, so that a megabyte without a blank costs linear time.
_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"(://)(?!USER:PASSWORD@|用户:密码@)[^\s/@:'\"]{0,256}:[^\s/@'\"]{1,256}@", r"\1***@"),  # in URLs
        (r"(://)[^\s/@:'\"]{8,256}@", r"\1***@"),  # token@ in URLs
        (r"(?i)([?&](?:" + _SIGNED + r")=)[^\s\"'<>&#*]{4,}", r"\1***"),
        (r"\bhf_[A-Za-z0-9]{10,}", "hf_***"),
        (r"\bsk-[A-Za-z0-9_\-]{16,}", "sk-***"),
        (r"\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}", "gh_***"),
        (r"\b(AKIA|ASIA)[A-Z0-9]{16}\b", r"\1***"),
        (r"\bwandb_v1_[A-Za-z0-9_\-]{10,}", "wandb_***"),
        (r"(?i)\b(bearer|basic)\s+[A-Za-z0-9+/._=\-]{12,}", r"\1 ***"),
        (r"(?i)(" + _NAME + r"[\"']?\s{0,4}(?:=(?!=)|:)\s{0,4}[\"']?)" + _HARMLESS + r"[^\s\"',;&}]{4,}", r"\1***"),
        (r"(?i)(--[a-z0-9_-]{0,60}?" + _NAME + r"[ =]{1,4})(?!\*\*\*)[^\s-][^\s]*", r"\1***"),
        (r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^-]*-----END [A-Z ]{0,40}PRIVATE KEY-----", "***private key***"),
    )
)


_HOME_PATH = re.compile(r"(?<![A-Za-z0-9_./~-])(/home/|/Users/|[A-Z]:\\Users\\)(?!\*\*\*)[^/\\\s'\"]+")


def redact_text(text: str, *, homes: bool = True) -> str:
    """`text` without tokens, keys, passwords in URLs and, with `homes`, user names in home paths."""
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return _HOME_PATH.sub(r"\1***", text) if homes else text


#: what makes a terminal act (C0 and C1 but tab and line feed, DEL) and what makes text read other than it stands
_ACTING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def inert(value: object) -> object:
    """A JSON-like value without characters that terminals obey; what follows an escape stays as plain words."""
    if isinstance(value, str):
        return _ACTING.sub("", value)
    if isinstance(value, dict):
        return {key: inert(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [inert(each) for each in value]
    return value


def is_secret_name(name: str) -> bool:
    """Whether a variable or key of this name holds a secret."""
    return bool(SECRET_NAME.search(name)) and not VOCABULARY_NAME.match(name)


def redact_variable(name: str, value: str, *, homes: bool = True) -> str:
    """Value of an environment variable fit to be shown: secrets become "set" or "unset"."""
    if is_secret_name(name):
        return "set" if value else "unset"
    return redact_text(value, homes=homes)


def redact(value: object, name: str = "", *, homes: bool = True) -> object:
    """A JSON-like value with every secret in it taken out; keys decide as well as contents.

    Without `homes` paths stay as they are, for values that go to a machine of the same user and are used there.
    """
    if isinstance(value, str):
        return redact_variable(name, value, homes=homes)
    if isinstance(value, dict):
        return {key: redact(each, str(key), homes=homes) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [redact(each, name, homes=homes) for each in value]
    return value
