"""Reads a problem's TOML and the Chinese words beside it into what the index keeps of them.

``checks/<area>/<name>.toml`` holds the problem in English; ``checks/<area>/zh/<name>.toml`` its messages in Chinese,
under the same names. A problem that is one idea in several libraries, phases or releases is a table: each
``[row.<name>]`` holds what differs, and has the rest of the problem. Runs on the doctor's side alone: a patient gets
what was compiled (`doctor.catalogue.words`).
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from doctor.catalogue.bites import STAGES
from doctor.catalogue.finding import OPTION
from doctor.catalogue.malformed import CHINESE, CatalogueError
from doctor.catalogue.problem import AREAS, ROW
from doctor.catalogue.unseen import DETECTORS, REASONS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

#: key of ``[manual]`` -> heading under which `doctor explain` prints it
SECTIONS: Mapping[str, str] = {
    "meaning": "What it means", "effect": "What it does to a run", "remedy": "What to do",
    "detection": "How it is found", "references": "References",
}  # fmt: skip

_PUNCTUATION = frozenset(",;:!?()")  # as Chinese words have it here, without a blank
_WORDS = ("headline", "explanation", "remedy")
_WANTED = {"id", "name", "severity", "since", "manual"}
_OF_HITS = {"confidence", "commands", "links", "signature", "message", "phrase", "trigger"}
#: how it is seen at a time beside checks, rules and signatures; checks of others that foresee it; why it is not seen
_OF_SIGHT = {"seen", "foreseen", "unseen"}
_ALLOWED = _WANTED | _OF_HITS | {"affects", "ends_run", "leads_to", "bites", *_OF_SIGHT, "row", "form"}
#: what a row may say for itself; of the manual: a title in place of its headline, and sections in place of the table's
_TITLE = "title"
_OF_ROW = {"severity", "since", "affects", "ends_run", "leads_to", "bites", *_OF_SIGHT}
_ALLOWED_OF_ROW = _OF_ROW | _OF_HITS | {"about", "values", _TITLE, *SECTIONS}
_TIMES = {"before", "during", "after"}
_OF_SIGNATURE = {
    "pattern", "keywords", "symptom_of", "contributes_to", "kind", "frame", "own_code", "affects", "message",
    "confidence",
}  # fmt: skip
_OF_TRIGGER = {"when", "if", "code", "message", "values", "confidence", "severity"}


def read(path: Path) -> dict[str, Any]:
    """What a problem's files declare, as JSON-able data.

    Args:
        path: the English TOML; its Chinese is looked for in the folder `zh` beside it.

    Raises:
        CatalogueError: a file is no TOML, or lacks or holds what it should not.

    """
    data = _parsed(path)
    _keys(path, "", data, _ALLOWED, _WANTED)
    manual = data.pop("manual")
    _keys(path, "manual", manual, {_TITLE, *SECTIONS}, {_TITLE, *SECTIONS})
    manual["references"] = "\n".join(manual["references"])
    _sight(path, data)
    if data.get("bites", STAGES[0]) not in STAGES:
        msg = f"{path}: bites is one of {', '.join(STAGES)}"
        raise CatalogueError(msg)
    chinese_path = path.parent / CHINESE / path.name
    chinese = _parsed(chinese_path) if chinese_path.is_file() else {}
    of_rows = chinese.pop("row", {})
    rows = data.pop("row", {})
    if strays := sorted(of_rows.keys() - rows.keys()):
        msg = f"{chinese_path}: the English file has no row {', '.join(strays)}"
        raise CatalogueError(msg)
    forms = data.pop("form", {})
    for name, form in forms.items():
        _keys(path, f"form {name}", form, _OF_SIGNATURE, {"pattern"})
    for row in (data, *rows.values()):
        row["signature"] = [_formed(path, forms, each) for each in row.get("signature", ())]
    hits = _of_hits(path, data, chinese_path, chinese)
    whole = {**data, "manual": manual, **hits}
    if rows:
        whole["rows"] = {
            name: _row(path, whole, name, row, chinese_path, of_rows.get(name, {})) for name, row in rows.items()
        }
    _named_messages(path, whole)
    return whole


def _sight(path: Path, data: Mapping[str, Any]) -> None:
    """How and why not a problem or a row is seen at a time: words of closed lists."""
    for name, words in (("seen", DETECTORS), ("unseen", REASONS)):
        _keys(path, name, data.get(name, {}), _TIMES, set())
        if strays := sorted(set(data.get(name, {}).values()) - set(words)):
            msg = f"{path}: {name}: there is no {', '.join(strays)}; there are {', '.join(words)}"
            raise CatalogueError(msg)


def read_words(path: Path) -> dict[str, Any]:
    """What the words declare that several problems share, as JSON-able data: messages and phrases, in both languages.

    Args:
        path: the English TOML, ``_<name>.toml``; its Chinese is looked for in the folder `zh` beside it.

    Raises:
        CatalogueError: a file is no TOML, or holds what it should not.

    """
    data = _parsed(path)
    _keys(path, "", data, {"message", "phrase"}, set())
    chinese_path = path.parent / CHINESE / path.name
    return _of_hits(path, data, chinese_path, _parsed(chinese_path) if chinese_path.is_file() else {})


def _formed(path: Path, forms: Mapping[str, Any], signature: dict[str, Any]) -> dict[str, Any]:
    """A signature with what its form says: a pattern that several rows share, each with frames of its own."""
    name = signature.get("form")
    if name is None:
        return signature
    if name not in forms:
        msg = f"{path}: a signature is of the form `{name}`, and there is none"
        raise CatalogueError(msg)
    return {**forms[name], **{key: value for key, value in signature.items() if key != "form"}}


def _row(path: Path, whole: Mapping[str, Any], name: str, row: dict[str, Any], chinese_path: Path, chinese: Any) -> Any:
    """A row as a problem by itself: what it says, and for the rest what the table says."""
    _keys(path, f"row {name}", row, _ALLOWED_OF_ROW, set())
    if row.get("about", "data") not in AREAS:
        msg = f"{path}: row {name}: is about {row['about']!r}, which is no area; areas are {', '.join(AREAS)}"
        raise CatalogueError(msg)
    _sight(path, row)
    told = {key: row.pop(key) for key in (_TITLE, *SECTIONS) if key in row}
    if "references" in told:
        told["references"] = "\n".join(told["references"])
    own = _of_hits(path, row, chinese_path, chinese)
    if _TITLE not in told:
        told[_TITLE] = _as_title(path, name, own["messages"])
    for key in ("messages", "phrases"):
        own[key] = {**whole[key], **own[key]}
    shared = {key: value for key, value in whole.items() if key not in (*own, "rows")}
    made = {**shared, **row, "id": f"{whole['id']}{ROW}{name}", "manual": {**whole["manual"], **told}, **own}
    _named_messages(path, made)
    return made


def _as_title(path: Path, name: str, messages: Mapping[str, Any]) -> str:
    """The headline of the only message of a row, which then needs no title."""
    if len(messages) != 1:
        msg = f"{path}: row {name}: lacks {_TITLE}, which only a row with one message can do without"
        raise CatalogueError(msg)
    headline: str = next(iter(messages.values()))["en"][0]
    return re.sub(r"\{[^{}]*\}", "…", OPTION.sub(r"\3", headline[0].upper() + headline[1:]))


def _of_hits(path: Path, data: dict[str, Any], chinese_path: Path, chinese: Any) -> dict[str, Any]:
    """Messages, phrases and signatures, taken out of a table."""
    messages = _messages(path, data.pop("message", {}))
    phrases = _phrases(path, data.pop("phrase", {}), chinese_path, chinese.get("phrase", {}))
    _add_chinese(chinese_path, {name: each for name, each in chinese.items() if name != "phrase"}, messages)
    signatures = data.pop("signature", [])
    for number, each in enumerate(signatures):
        _keys(path, f"signature {number}", each, _OF_SIGNATURE, {"pattern"})
    triggers = data.pop("trigger", [])
    for number, each in enumerate(triggers):
        _keys(path, f"trigger {number}", each, _OF_TRIGGER, set())
    return {"messages": messages, "phrases": phrases, "signatures": signatures, "triggers": triggers}


def _named_messages(path: Path, made: Mapping[str, Any]) -> None:
    for kind in ("signature", "trigger"):
        for number, each in enumerate(made[f"{kind}s"]):
            if "message" in each and each["message"] not in made["messages"]:
                msg = f"{path}: {kind} {number}: there is no message `{each['message']}`"
                raise CatalogueError(msg)


def _parsed(path: Path) -> dict[str, Any]:
    try:
        data: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        msg = f"{path}: {error}"
        raise CatalogueError(msg) from None
    return data


def _keys(path: Path, where: str, data: Any, allowed: set[str], wanted: set[str]) -> None:
    place = f"{path}: {where}" if where else f"{path}"
    if not isinstance(data, dict):
        msg = f"{place}: is no table"
        raise CatalogueError(msg)
    if missing := sorted(wanted - data.keys()):
        msg = f"{place}: lacks {', '.join(missing)}"
        raise CatalogueError(msg)
    if other := sorted(data.keys() - allowed):
        msg = f"{place}: there is no key {', '.join(other)}; allowed are {', '.join(sorted(allowed))}"
        raise CatalogueError(msg)


def _messages(path: Path, tables: Any) -> dict[str, dict[str, list[str]]]:
    _keys(path, "message", tables, set(tables), set())
    return {name: {"en": _words(path, name, table)} for name, table in tables.items()}


def _phrases(path: Path, tables: Any, chinese_path: Path, chinese: Any) -> dict[str, list[str | None]]:
    """Name -> English, and Chinese where there is some; of a table in it ``table.name``."""
    english, other = _flat(path, tables), _flat(chinese_path, chinese)
    if strays := sorted(other.keys() - english.keys()):
        msg = f"{chinese_path}: the English file has no phrase {', '.join(strays)}"
        raise CatalogueError(msg)
    return {name: [text, other.get(name)] for name, text in english.items()}


def _flat(path: Path, tables: Any) -> dict[str, str]:
    found: dict[str, str] = {}
    _keys(path, "phrase", tables, set(tables), set())
    for name, value in tables.items():
        inner = {f"{name}.{key}": each for key, each in value.items()} if isinstance(value, dict) else {name: value}
        for key, text in inner.items():
            if not isinstance(text, str):
                msg = f"{path}: phrase {key}: is no text"
                raise CatalogueError(msg)
            found[key] = unwrapped(text) if "\n" in text else text
    return found


def _add_chinese(path: Path, tables: Mapping[str, Any], messages: Mapping[str, dict[str, list[str]]]) -> None:
    """Put the Chinese words beside the English ones."""
    for name, table in tables.items():
        if name not in messages:
            msg = f"{path}: the English file has no message `{name}`"
            raise CatalogueError(msg)
        messages[name]["zh"] = _words(path, name, table)


def _words(path: Path, name: str, table: Any) -> list[str]:
    _keys(path, f"message {name}", table, set(_WORDS), set(_WORDS))
    if not all(isinstance(table[each], str) for each in _WORDS):
        msg = f"{path}: message {name}: {', '.join(_WORDS)} are texts"
        raise CatalogueError(msg)
    return [unwrapped(table[each]) for each in _WORDS]


def unwrapped(text: str) -> str:
    """A text without the line breaks of its file: each is a blank, or nothing, as `follows_at_once` says."""
    lines = [line.strip() for line in text.strip().split("\n")]
    out = lines[0]
    for line in lines[1:]:
        at_once = bool(out and line) and follows_at_once(out[-1], line[0])
        out += line if at_once else f" {line}"
    return out


def follows_at_once(before: str, after: str) -> bool:
    """Whether a line break between two characters stands for nothing: between wide ones, and at their punctuation.

    The rule of CSS for line breaks in the source: https://www.w3.org/TR/css-text-3/#line-break-transform
    """
    if is_wide(before):
        return is_wide(after) or after in _PUNCTUATION
    return before in _PUNCTUATION and is_wide(after)


def is_wide(character: str) -> bool:
    """Whether it is one of those of East Asia that take two columns."""
    return unicodedata.east_asian_width(character) in "WF"
