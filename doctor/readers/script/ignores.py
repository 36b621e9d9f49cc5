"""Comments by which a script's author asks the doctor to be silent.

`# doctor: ignore[TRL2205] reason` after code stands for that line; on a line of its own for the next line of code
(blank lines and other comments between them do not matter); in the comments at the top of the file, before any code
or docstring, for the whole file. Several ids are separated by commas.
"""

from __future__ import annotations

import re

from doctor.facts.script import Ignore

_COMMENT = r"#\s*doctor:\s*ignore\[([^\]]*)\]\s*(.*)"


def read_ignores(text: str) -> tuple[Ignore, ...]:
    """Every such comment of a file, in the order of the source; strings that look like one do not count."""
    if "doctor:" not in text:
        return ()  # tokenizing in Python costs more than parsing
    import io
    import tokenize as t

    no_code = {t.COMMENT, t.NL, t.NEWLINE, t.INDENT, t.DEDENT, t.ENCODING, t.ENDMARKER}
    found: list[Ignore] = []
    pending: list[tuple[str, str]] = []
    code_line: int | None = None  # last line with code on it
    seen_code = False
    try:
        for token in t.generate_tokens(io.StringIO(text).readline):
            if token.type == t.COMMENT:
                asked = _asked(token.string)
                if code_line == token.start[0]:
                    found += [Ignore(each, reason, code_line) for each, reason in asked]
                elif not seen_code:
                    found += [Ignore(each, reason, None) for each, reason in asked]
                else:
                    pending += asked
            elif token.type not in no_code:
                found += [Ignore(each, reason, token.start[0]) for each, reason in pending]
                pending, seen_code, code_line = [], True, token.end[0]
    except (t.TokenError, SyntaxError, IndentationError):
        pass  # the syntax error is reported by who parses; comments before it still count
    return tuple(found)


def _asked(comment: str) -> list[tuple[str, str]]:
    """Ids and reason of a comment, empty for any other comment."""
    match = re.match(_COMMENT, comment)
    if match is None:
        return []
    return [(each.strip(), match[2].strip()) for each in match[1].split(",") if each.strip()]
