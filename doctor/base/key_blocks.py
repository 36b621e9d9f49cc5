"""Private keys in text: of many lines, escaped into one, indented, behind a log's prefixes, or cut at either end.

Runs inside the patient too, so it keeps to Python 3.9 and the standard library.
"""

from __future__ import annotations

from doctor.base.patterns import later

#: what every such block holds; looked for first
SIGN = "PRIVATE KEY"

MASK = "***"

#: of OpenSSL, OpenSSH and PGP: https://www.rfc-editor.org/rfc/rfc7468#section-10
_BEGIN = later(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-{0,5}")
_END = later(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-{0,5}")
#: the end of a line, as text has it or as JSON and reprs escape it
_BREAK = later(r"((?:\\{1,4}r)?\\{1,4}n|\r?\n)")
#: the end of a line that belongs to a key: base64 up to quotes, commas, and the marks of YAML and diffs
_BODY = later(
    r"(?P<before>^|[^A-Za-z0-9+/=])(?P<content>[A-Za-z0-9+/]{1,16000}={0,2})(?P<after>[\"',;|\s\\})\]]{0,16})$"
)
#: nothing but that, behind an indent or a diff's sign
_ALONE = later(r"^[\s\"'+\-|>]{0,40}[A-Za-z0-9+/]{1,16000}={0,2}[\"',;|\s\\})\]]{0,16}$")
_RUN = later(r"[A-Za-z0-9+/=]{16,}")
_HEADER = later(r"(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset): ?(?P<content>[^\n]{0,120})$")

#: a key of 16,384 bits has some 200 lines
_MOST_LINES = 400
_LONGEST = 20_000  # characters of one line, which the reader of logs may have put together of many
_FULL = 16  # characters that a line of a key has at least, unless it is its last one


def without_keys(text: str, taken: list[str]) -> str:
    """`text` with every private key masked; its lines stay as many as they were.

    Args:
        text: of any length; a block whose beginning or end was cut off counts, too.
        taken: gets what was taken out.

    """
    if SIGN not in text:
        return text
    pieces = _BREAK.split(text)  # line, break, line, ...
    left = 0
    for place in range(0, len(pieces), 2):
        line = pieces[place]
        if SIGN in line and (_BEGIN.search(line) or _END.search(line)):
            if not left and _ends_first(line):
                _backwards(pieces, place - 2, taken)
            pieces[place], left = _marked(line, left, taken)
        elif left:
            following = pieces[place + 2] if place + 2 < len(pieces) else ""
            pieces[place] = _masked(line, taken, last=_END.search(following) is not None)
            left -= 1
    return "".join(pieces)


def _ends_first(line: str) -> bool:
    begin, end = _BEGIN.search(line), _END.search(line)
    return end is not None and (begin is None or end.start() < begin.start())


def _marked(line: str, left: int, taken: list[str]) -> tuple[str, int]:
    """A line that holds beginnings or ends of keys, without the keys, and how many lines the last one may still have.

    Args:
        line: with as many keys as there are; what stands between two of them stays.
        left: lines that a key from above may still have, 0 outside of one.
        taken: gets what was taken out.

    """
    marks = [(each.start(), each.end(), kind) for kind in (_BEGIN, _END) for each in kind.finditer(line)]
    out: list[str] = []
    place, inside = 0, False  # behind a beginning of this line
    for start, stop, kind in sorted(marks, key=lambda each: each[0]):
        part = line[place:start]
        if inside:
            part = _whole(part, taken) if kind is _END else _open_part(part, taken)
        elif left:
            part = _open_part(_masked(part, taken, last=True), taken)
        elif kind is _END:
            part = _open_part(part, taken)
        out += (part, line[start:stop])
        place, inside, left = stop, kind is _BEGIN, 0
    rest = line[place:]
    return "".join((*out, _open_part(rest, taken) if inside else rest)), _MOST_LINES if inside else left


def _backwards(pieces: list[str], place: int, taken: list[str]) -> None:
    """Mask the lines above an END whose BEGIN was cut off."""
    last = True
    for at in range(place, max(-1, place - 2 * _MOST_LINES), -2):
        masked = _masked(pieces[at], taken, last=last)
        if masked == pieces[at] and MASK not in masked:
            return
        pieces[at], last = masked, False


def _whole(part: str, taken: list[str]) -> str:
    """What stands between a beginning and an end of one line."""
    if not part.strip() or MASK in part:
        return part
    taken.extend(part.split())
    return MASK


def _open_part(part: str, taken: list[str]) -> str:
    """What stands on one side of a beginning or an end: of the key is what looks like it."""
    taken.extend(_RUN.findall(part))
    return _RUN.sub(MASK, part)


def _masked(line: str, taken: list[str], *, last: bool) -> str:
    """A line inside of a key without its content; one that another process printed in between stays."""
    header = _HEADER.search(line)
    if header:
        taken.append(header["content"])
        return line[: header.start("content")] + MASK
    body = _BODY.search(line[-_LONGEST:])
    if body is None or not (last or len(body["content"]) >= _FULL or _ALONE.match(line)):
        return line
    taken.append(body["content"])
    start, end = body.span("content")
    cut = max(0, len(line) - _LONGEST)
    return f"{line[: cut + start]}{MASK}{line[cut + end :]}"


def hide_in_lines(lines: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Numbered lines of a log, with the private keys in them masked, before some of them are shown without the rest."""
    places = [place for place, (_, text) in enumerate(lines) if SIGN in text]
    shown = list(lines) if places else lines
    for start, end in _ranges(places, len(lines)):
        masked = without_keys("\n".join(text.replace("\n", " ") for _, text in lines[start:end]), []).split("\n")
        shown[start:end] = [(number, text) for (number, _), text in zip(lines[start:end], masked)]  # noqa: B905
    return shown


def _ranges(places: list[int], count: int) -> list[tuple[int, int]]:
    """What lies around places, as far as a key reaches; ranges that touch are one."""
    ranges: list[tuple[int, int]] = []
    for place in places:
        start, end = max(0, place - _MOST_LINES), min(count, place + _MOST_LINES)
        if ranges and start <= ranges[-1][1]:
            ranges[-1] = (ranges[-1][0], end)
        else:
            ranges.append((start, end))
    return ranges
