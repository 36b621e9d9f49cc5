"""Judges trinity-key-unknown (TRI001), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.proofs import proof
from doctor.catalogue.shared.trinity_settings import Trinity, starred, trinity_of
from doctor.catalogue.words import words_of
from doctor.facts.packages import Packages
from doctor.facts.trinity_config import TrinityConfig

TOML = words_of(__name__)
PROBLEM = TOML.problem
NEAR = TOML["near"]
UNHEARD = TOML["unheard"]


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
