"""Judges verl-key-unknown (VRL001), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor import data
from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Finding, Skip, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.proofs import proof
from doctor.catalogue.shared.verl_settings import Verl, verl_of
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.verl_config import VerlConfig

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
NEAR = TOML["near"]
OTHER = TOML["other"]
UNHEARD = TOML["unheard"]
ENGINE = TOML["engine"]
READ = TOML["read"]
WRITTEN = TOML["written"]
SCHEMA = TOML["schema"]


#: place of the signature of code that writes a key
_WRITES = 3


#: what chooses Megatron before there was `model_engine`
MEGATRON = "--config-name=ppo_megatron_trainer"
#: of the keys of another engine
MOST_QUOTED = 5

#: how alike two keys must be (difflib's ratio) before one is offered for the other; less where the last part agrees
ALIKE, MOVED = 0.8, 0.6


def _kept(verl: Verl) -> set[str]:
    """Every key that may be overridden: the release's and what the command adds, with the groups above them."""
    names = {*verl.keys, *verl.config.added}
    return names | {name[:at] for name in names for at, letter in enumerate(name) if letter == "."}


def _open_above(key: str, verl: Verl) -> bool:
    """Whether a group above the key is a reference or null, so that what is below cannot be told."""
    parts = key.split(".")
    above = [verl.keys.get(".".join(parts[:size])) for size in range(1, len(parts))]
    return any(leaf is not None and leaf.type in {"interpolation", "null", "list"} for leaf in above)


def _nearest(key: str, verl: Verl) -> str | None:
    """The key of the same name in another group, else the one that looks most like it."""
    import difflib

    last = key.rpartition(".")[2]
    same = [name for name in verl.keys if name.rpartition(".")[2] == last]
    moved = difflib.get_close_matches(key, same, 1, MOVED)
    return next(iter(moved or difflib.get_close_matches(key, verl.keys, 1, ALIKE)), None)


def _release_with(key: str) -> str | None:
    return next((v for v in reversed(data.verl_versions()) if key in (data.verl_keys(v) or {})), None)


@check(PROBLEM)
def key_unknown(verl_config: VerlConfig, packages: Packages, launch: Launch) -> Judgement:
    """Group choices (`actor@...=`, `hydra/...`) and keys of objects are not keys of the configuration."""
    verl = verl_of(verl_config, packages, launch)
    if not isinstance(verl, Verl):
        yield from verl
        return
    if verl.is_own:
        yield Skip("the configuration is a separate file, whose defaults are not followed")
        return
    unknown = [(key, setting) for key, setting in verl.config.overrides.items() if _is_unknown(key, verl)]
    choice, elsewhere = _of_another_engine([key for key, _ in unknown], verl)
    if elsewhere:
        settings = [setting for key, setting in unknown if key in elsewhere]
        first = settings[0]
        yield found(
            PROBLEM,
            ENGINE,
            version=verl.version,
            key=first.name,
            choice=choice,
            number=len(settings),
            where=place_of(first),
            commands=(choice,),
            evidence=tuple(map(proof, settings[:MOST_QUOTED])),
        )
    yield from (_one(key, setting, verl) for key, setting in unknown if key not in elsewhere)


def _is_unknown(key: str, verl: Verl) -> bool:
    if key in verl.config.added or key in verl.config.removed or key in _kept(verl) or key.startswith("hydra"):
        return False
    return not ("@" in key or "/" in key or "_target_" in key or key == "model_engine" or _open_above(key, verl))


def _one(key: str, setting: Observed, verl: Verl) -> Finding:
    near, other = _nearest(key, verl), _release_with(key)
    message = OTHER if other else NEAR if near else UNHEARD
    return found(
        PROBLEM,
        message,
        version=verl.version,
        key=key,
        near=near,
        other=other,
        where=place_of(setting),
        commands=(f"{near}={setting.text}",) if near and message is NEAR else (),
        evidence=(proof(setting),),
    )


def _of_another_engine(unknown: list[str], verl: Verl) -> tuple[str, set[str]]:
    """The word that chooses another engine whose configuration holds most of some keys, and these keys."""
    best: tuple[str, set[str]] = ("", set())
    if not unknown:
        return best
    choices = {f"model_engine={each}": data.verl_keys(verl.version, "ppo_trainer", each)
               for each in data.verl_engines(verl.version) or ()}  # fmt: skip
    for choice, keys in (choices or {MEGATRON: data.verl_keys(verl.version, "ppo_megatron_trainer")}).items():
        held = set(unknown) & set(keys or ())
        if len(held) > len(best[1]):
            best = choice, held
    return best


def _reader(hits: Hits) -> str:
    """File and function of the code that asked for the key; empty where it was Hydra, or no traceback tells."""
    for hit in (*hits.of(0), *hits.of(2), *hits.of(_WRITES)):
        outside = [frame for frame in hit.frames if "omegaconf" not in frame]
        if outside and "hydra" not in outside[-1]:
            return outside[-1].replace("\\", "/").rpartition("/")[2]
    return ""


def explain(hits: Hits) -> Finding:
    """The whole path where Hydra tells it, else the last part; code that reads or writes a key is no wrong override."""
    key = hits.get("override") or hits.get("key") or "?"
    where, evidence = hits.where(), hits.evidence()
    if schema := hits.first.groups.get("schema"):
        return found(PROBLEM, SCHEMA, where=where, evidence=evidence, confidence=LIKELY, key=key, schema=schema)
    if not hits.of(1) and (place := _reader(hits)):
        message = WRITTEN if hits.first.signature == _WRITES else READ
        return found(PROBLEM, message, where=where, evidence=evidence, confidence=LIKELY, key=key, place=f"`{place}`")
    return found(PROBLEM, LOG_MESSAGE, where=where, evidence=evidence, key=key)
