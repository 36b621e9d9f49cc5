"""A key of the YAML file that Trinity-RFT does not have.

## What it means
Trinity-RFT reads its YAML into typed classes and takes no key that they do not have. This is a typing
error, a key under the wrong section, or one of another release.
## What it does to a run
`ValueError: Invalid configuration: Key 'x' not in 'Config'` as soon as the file is read, one key at a time.
## What to do
Write the key as the installed release has it.
## How it is found
The keys of the file against the fields of the installed release's configuration classes.
## References
https://github.com/agentscope-ai/Trinity-RFT/blob/v0.6.0/trinity/common/config.py
https://omegaconf.readthedocs.io/en/2.3_branch/structured_config.html
"""

from __future__ import annotations

from doctor.checks.launch._helpers import proof
from doctor.checks.trinity._helpers import Trinity, starred, trinity_of
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.facts.packages import Packages
from doctor.facts.trinity_config import TrinityConfig

PROBLEM = Problem(id="TRI001", name="trinity-key-unknown", severity=ERROR, since="0.1")

NEAR = Message(
    en=Words(
        "Trinity-RFT {version} has no key `{key}`",
        "The file is read into typed classes and refused as a whole: `Key '{last}' not in` ...",
        "Write `{near}` if that is what is meant.",
    ),
    zh=Words(
        "Trinity-RFT {version} 没有配置项 `{key}`",
        "文件会被读入带类型的类,并因 `Key '{last}' not in` ... 而整体被拒绝。",
        "如果本意如此,请写成 `{near}`。",
    ),
)

UNHEARD = Message(
    en=Words(
        "Trinity-RFT {version} has no key `{key}`",
        "The file is read into typed classes and refused as a whole: `Key '{last}' not in` ...",
        "Take the key out, or move it under the section that has it.",
    ),
    zh=Words(
        "Trinity-RFT {version} 没有配置项 `{key}`",
        "文件会被读入带类型的类,并因 `Key '{last}' not in` ... 而整体被拒绝。",
        "删除该项,或移到拥有它的小节下。",
    ),
)


ALIKE = 0.75


def _first_unknown(key: str, trinity: Trinity, inner: frozenset[str]) -> str | None:
    """The part of a dotted key at which the classes have no such field, None where all of it may stand."""
    parts, written = key.split("."), key.split(".")
    for size in range(1, len(parts) + 1):
        name = starred(".".join(parts[:size]))
        options = (name, ".".join((*name.split(".")[:-1], "*")))
        known = next((each for each in options if each in trinity.keys or each in inner), None)
        if known is None:
            return ".".join(written[:size])
        if known not in inner:
            return None  # a value: what is below it is the user's
        parts[:size] = known.split(".")
    return None


def _nearest(key: str, trinity: Trinity) -> str | None:
    """The key of the same section, or of the same name elsewhere, that looks most like this one."""
    import difflib

    section, _, last = starred(key).rpartition(".")
    fields = {name.rpartition(".")[2]: name for name in trinity.keys if name.rpartition(".")[0] == section}
    alike = difflib.get_close_matches(last, fields, 1, ALIKE)
    if alike:
        return ".".join((*key.split(".")[:-1], alike[0]))
    same = [name for name in trinity.keys if name.rpartition(".")[2] == last and "*" not in name]
    return next(iter(difflib.get_close_matches(key, same, 1, 0.5)), None)


@check(PROBLEM)
def key_unknown(trinity_config: TrinityConfig, packages: Packages) -> Judgement:
    """Sections of which a field is unknown are told once."""
    trinity = trinity_of(trinity_config, packages)
    if not isinstance(trinity, Trinity):
        yield from trinity
        return
    inner = frozenset(name[:at] for name in trinity.keys for at, letter in enumerate(name) if letter == ".")
    told: set[str] = set()
    for key, setting in trinity.config.settings.items():
        unknown = _first_unknown(key, trinity, inner)
        if unknown is None or unknown in told:
            continue
        told.add(unknown)
        near = _nearest(unknown, trinity)
        yield found(
            PROBLEM,
            NEAR if near else UNHEARD,
            version=trinity.version,
            key=unknown,
            last=unknown.rpartition(".")[2],
            near=near,
            where=place_of(setting),
            commands=(f"{near.rpartition('.')[2]}:",) if near else (),
            evidence=(proof(setting),),
        )
