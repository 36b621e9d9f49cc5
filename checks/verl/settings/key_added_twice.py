"""Judges verl-key-already-there (VRL002), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Skip, found
from doctor.catalogue.shared.proofs import COMMAND
from doctor.catalogue.shared.verl_settings import Verl, verl_of
from doctor.catalogue.words import words_of
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.verl_config import VerlConfig

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


#: kinds of defaults that certainly hold a value: Hydra allows `+` where the value is null
HOLDS_A_VALUE = {"bool", "int", "float", "str"}


@check(PROBLEM)
def key_added_twice(verl_config: VerlConfig, packages: Packages, launch: Launch) -> Judgement:
    """`++` changes or adds and is always right; the words of the command tell the two apart."""
    verl = verl_of(verl_config, packages, launch)
    if not isinstance(verl, Verl):
        yield from verl
        return
    if verl.is_own:
        yield Skip("the configuration is a separate file, whose defaults are not followed")
        return
    for word in launch.script_args:
        key, joined, value = word.partition("=")
        if not joined or not key.startswith("+") or key.startswith("++"):
            continue
        key = key[1:]
        leaf = verl.keys.get(key)
        if leaf is None or leaf.type not in HOLDS_A_VALUE or leaf.default == "???" or value[:1] in {"{", "["}:
            continue
        yield found(
            PROBLEM,
            MESSAGE,
            key=key,
            version=verl.version,
            commands=(f"{key}={value}",),
            evidence=(
                Observed.quoted(COMMAND, word),
                Observed.quoted(f"default of veRL {verl.version}", f"{key}: {leaf.default}"),
            ),
        )
