"""Proposes a signature for a log that nothing recognises: the line that failed, and a pattern of it.

For `doctor dev new --signature FILE.log`. What differs from run to run (numbers, addresses, paths, names in quotes)
becomes a bounded class, names in quotes with a group; the rest stays as it is, so that grep finds the words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from doctor.base.patterns import later
from doctor.base.redact import redact_text
from doctor.catalogue.signature import Signature
from doctor.logs.lines.prefixes import strip
from doctor.logs.match.lint import lint

#: characters of the line that a pattern takes: more is seldom the same in another release
_MOST = 200
_SAMPLE_BEFORE, _SAMPLE_BEHIND = 120, 20  # lines of a long log that the sample keeps
#: raised for so many reasons that only a frame tells whose it is
_COMMON = frozenset({
    "ValueError", "RuntimeError", "TypeError", "KeyError", "IndexError", "AttributeError", "AssertionError", "OSError",
    "NotImplementedError", "Exception",
})  # fmt: skip
_TYPE = later(r"^(?:[\w.]{1,80}\.)?(?P<type>[A-Z]\w{1,60}(?:Error|Exception|Warning|Interrupt|Exit|Failure)): ")
_FRAME = later(r'File "[^"\n]*[\\/](?:site|dist)-packages[\\/](?P<path>[^"\n]+\.py)", line \d+, in (?P<function>\w+)')
#: what differs from run to run: how it is found, and what stands for it
_VARIABLE = (
    (r"https?://[^\s'\"`]+", r"https?://[^\s]{1,200}"),
    (r"(?<![\w.])~?(?:/[\w.@+-]+){2,}/?", r"[^\s'\"]{1,300}"),
    (r"'(?P<one>[^'\s]{1,120})'", r"'(?P<{}>[^'\s]{1,120})'"),
    (r"`(?P<two>[^`\s]{1,120})`", r"`(?P<{}>[^`\s]{1,120})`"),
    (r'"(?P<three>[^"\s]{1,120})"', r'"(?P<{}>[^"\s]{1,120})"'),
    (r"0x[0-9a-fA-F]+", r"0x[0-9a-fA-F]{1,16}"),
    (r"(?<![\w.])\d+\.\d+(?:e[+-]?\d+)?(?![\w.])", r"[\d.e+-]{1,24}"),
    (r"(?<![A-Za-z_.\d])\d+(?![\w.])", r"\d{1,18}"),
)
_ANY = later("|".join(f"({found})" for found, _ in _VARIABLE))


class NothingToPropose(Exception):  # noqa: N818 - the log holds no line to make a pattern of
    """The log has no line that a pattern could be made of; the message says why."""


@dataclass(frozen=True)
class Proposal:
    """A signature and its sample.

    Args:
        pattern, frame: of the signature; `frame` is "" where the words alone are telling.
        groups: what the pattern captures of the line.
        sample: the part of the log around the line, without secrets.
        line: number of the line in the log, from 1.

    """

    pattern: str
    frame: str
    groups: dict[str, str]
    sample: str
    line: int


def propose(path: Path, line: int | None) -> Proposal:
    """A signature for a log.

    Args:
        path: of the log.
        line: the one that failed, as the post-mortem tells it; None: the last that is not empty.

    Raises:
        NothingToPropose: there is no such line, or nothing in it that stays the same.
        OSError: the log cannot be read.

    """
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    at = line or next((number for number in range(len(lines), 0, -1) if lines[number - 1].strip()), 0)
    if not 0 < at <= len(lines):
        msg = f"`{path}` is empty"
        raise NothingToPropose(msg)
    text = redact_text(strip(lines[at - 1]).text.strip())
    pattern = pattern_of(text)
    found = re.search(pattern, text)
    if found is None or lint(Signature(pattern)):
        msg = f"line {at} of `{path}` holds no words that another run would repeat"
        raise NothingToPropose(msg)
    first, last = max(at - 1 - _SAMPLE_BEFORE, 0), at + _SAMPLE_BEHIND
    sample = "".join(f"{redact_text(each)}\n" for each in lines[first:last])
    groups = {name: value for name, value in found.groupdict().items() if value}
    return Proposal(pattern, _frame(text, lines[first : at - 1]), groups, sample, at)


def pattern_of(text: str) -> str:
    """A pattern of a line: its words, with a class for each part that differs from run to run."""
    raised = _TYPE.match(text)
    head, rest = "", text
    if raised:
        head, rest = rf"^(?:[\w.]{{1,80}}\.)?{raised['type']}: ", text[raised.end() :]
    body = _cut(rest)
    out, end, names = [head], 0, 0
    for match in _ANY.finditer(body):
        out.append(_literal(body[end : match.start()]))
        kind = next(number for number, (found, _) in enumerate(_VARIABLE) if re.fullmatch(found, match[0]))
        stands = _VARIABLE[kind][1]
        if "{}" in stands:
            names += 1
            stands = stands.replace("{}", "name" if names == 1 else f"name_{names}")
        out.append(stands)
        end = match.end()
    out.append(_literal(body[end:]))
    return "".join(out)


def _literal(text: str) -> str:
    """A text as it is found, with no more backslashes than it takes: `re.escape` would put one before each blank."""
    return re.sub(r"[.^$*+?{}\[\]\\|()]", lambda each: "\\" + each[0], text)


def _cut(text: str) -> str:
    """The beginning of a long text, up to a blank that stands in no quotes."""
    if len(text) <= _MOST:
        return text
    ends = [at for at in range(_MOST) if text[at] == " " and all(text[:at].count(each) % 2 == 0 for each in "'`\"")]
    return text[: ends[-1] if ends else _MOST]


def _frame(text: str, before: list[str]) -> str:
    """The innermost frame of an installed package, where the type of the exception says little."""
    raised = _TYPE.match(text)
    if raised is None or raised["type"] not in _COMMON:
        return ""
    frames = [match for each in before if (match := _FRAME.search(each))]
    if not frames:
        return ""
    path = r"[\\/]".join(map(re.escape, re.split(r"[\\/]", frames[-1]["path"].removesuffix(".py"))))
    return rf"(?:^|[\\/]){path}\.py:{frames[-1]['function']}$"
