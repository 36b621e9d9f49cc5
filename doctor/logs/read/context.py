"""What the user gave beside the logs: environment reports, saved facts, configurations, launch commands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from doctor.base.patterns import later
from doctor.base.record import record
from doctor.logs.lines.life import versions_in

_LONGEST = 1 << 20
_FLAG = later(
    r"(?:^|\s)--(?P<key>[A-Za-z][\w.\-]{0,80})(?:=|\s{1,4})(?P<value>[^\s\-'\"`][^\s'\"`]{0,200}|'[^'\n]{0,200}'|\"[^\"\n]{0,200}\")"
)
_SWITCH = later(r"(?:^|\s)--(?P<key>[A-Za-z][\w.\-]{0,80})(?=\s+--|\s*\\?\s*$)", re.MULTILINE)
_HYDRA = later(r"(?:^|\s)\+{0,2}(?P<key>[a-z_]\w{0,60}(?:\.\w{1,60}){1,6})=(?P<value>[^\s\\]{1,200})")
_YAML = later(r"^\s{0,20}(?:- )?(?P<key>[A-Za-z_][\w.]{0,80}) ?: (?P<value>[^\n#]{1,200})", re.MULTILINE)
_JSON = later(
    r"[\"'](?P<key>[A-Za-z_][\w.]{0,80})[\"'] ?: ?(?P<value>\"[^\"\n]{0,200}\"|'[^'\n]{0,200}'|[\w.+\-]{1,60})"
)
_PYTHON = later(
    r"(?<![\w.])(?P<key>[a-z_][a-z0-9_]{2,60}) ?= ?(?P<value>\"[^\"\n]{0,200}\"|'[^'\n]{0,200}'"
    r"|[\w.+\-]{1,60})(?=[,)\n])"
)
_VARIABLE = later(r"(?:^|\s|export )(?P<key>[A-Z][A-Z0-9_]{2,60})=(?P<value>[^\s]{1,200})")
_MOST = 4_000


@record
class Given:
    """Context as given: facts by name, versions by distribution, settings by their own names, and the text itself.

    `said` is that of files in which a person may say something: not of JSON, as the doctor saves facts and runs.
    """

    facts: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    config: Mapping[str, str] = field(default_factory=dict)
    text: str = ""
    said: str = ""
    names: tuple[str, ...] = ()


def read(paths: Iterable[Path]) -> Given:
    """Everything that some files say.

    Raises:
        OSError: a file cannot be read.
        NotFacts: it is a device, or far too large for a report.

    """
    facts: dict[str, Any] = {}
    texts: list[str] = []
    names: list[str] = []
    for path in paths:
        texts.append(_text(path))
        facts.update({name: value for name, value in _facts(path).items() if name not in facts})
        names.append(str(path))
    text = "\n".join(texts)
    versions = _versions(facts, text)
    said = "\n".join(each for each in texts if not each.lstrip().startswith(("{", "[")))
    return Given(facts, versions, settings_in(text), text, said, tuple(names))


def _text(path: Path) -> str:
    from doctor.readers.saved import NotFacts

    if path.is_dir():
        files = [each for each in sorted(path.iterdir()) if each.is_file() and each.stat().st_size < _LONGEST]
        return "\n".join(_text(each) for each in files[:50])
    if not path.is_file():
        msg = f"`{path}` is not a regular file"
        raise NotFacts(msg)
    with path.open("rb") as stream:
        data = stream.read(_LONGEST)
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    return data.decode(encoding, "replace")


def _facts(path: Path) -> dict[str, Any]:
    """Facts of a facts file or of a pasted report; none where the file is a configuration or a command."""
    from doctor.readers.saved import NotFacts, read

    try:
        saved = read(path)
    except NotFacts:
        return {}
    return {
        name: state.value for each in reversed(saved) for name, state in each.states.items() if state.status == "ok"
    }


def _versions(facts: Mapping[str, Any], text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    packages = facts.get("packages")
    if packages is not None:
        found.update({name: each.version for name, each in packages.distributions.items() if each.version})
        if packages.torch_build is not None:
            found["torch"] = packages.torch_build.version
    if (interpreter := facts.get("interpreter")) is not None:
        found["python"] = interpreter.version
    for line in text.splitlines():
        for name, version in versions_in(line[:1000]).items():
            found.setdefault(name, version)
    return found


def settings_in(text: str) -> dict[str, str]:
    """Settings of YAML, JSON, Python calls, command lines and variables; the first place that states one counts.

    Options lose their dashes and get underscores; nested YAML keys stand under their last name.
    """
    found: dict[str, str] = {}
    if not text:
        return found
    for pattern in (_FLAG, _HYDRA, _VARIABLE, _YAML, _JSON, _PYTHON):
        for match in pattern.finditer(text):
            if len(found) >= _MOST:
                return found
            key = match["key"] if pattern is _VARIABLE else match["key"].replace("-", "_")
            value = match["value"].strip().strip("'\"").rstrip(",")
            if value and value not in ("|", ">", "\\"):
                found.setdefault(key, value)
    for match in _SWITCH.finditer(text):
        found.setdefault(match["key"].replace("-", "_"), "true")
    return found
