"""Judges trains-other-than-asked (NUM5191), whose words stand in the TOML beside it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from doctor.base.evidence import Observed
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.problem import ERROR
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
NOTHING = TOML["nothing"]
MASKED = TOML["masked"]
UNTOUCHED = TOML["untouched"]
ENDLESS = TOML["endless"]
BESIDE = TOML["beside"]
UNSAVED = TOML["unsaved"]
FROZEN_ADAPTER = TOML["frozen_adapter"]
SHIFTED = TOML["shifted"]
PADDED = TOML["padded"]
ONE_KIND = TOML["one_kind"]
ALIKE = TOML["alike"]
ANEW = TOML["anew"]
DOUBLE = TOML["double"]
UNHELD = TOML["unheld"]
CLEARED = TOML["cleared"]
REPEATED = TOML["repeated"]

#: a parameter's place in a stack of layers
_NUMBER = re.compile(r"(?<=\.)\d+(?=\.)")
#: parts that a batch need not come to: experts that no token was sent to, towers of what it does not hold
_BY_CHANCE = ("expert", "router", "vision", "visual", "audio", "image", "video", "mm_projector", "multi_modal")
#: parameters that adapters bring
_OF_ADAPTERS = ("lora_", "adapter", "prompt_", "ia3_", "vera_", "hada_", "lokr_", "oft_", "boft_", "ln_tuning",
                "modules_to_save", "original_module", "trainable_tokens", "prefix_encoder", "vector_bank", "randlora_",
                "bone_", "miss_", "shira_", "c3a_", "road_", "delora_", "hra_", "fourierft_")  # fmt: skip
#: those of them that are whole modules or rows, and no adapter
_WHOLE = frozenset({"modules_to_save", "original_module", "trainable_tokens", "ln_tuning"})
_SHOWN = 3
#: modules that PEFT itself names for classifiers, whichever of them a model has
#: https://github.com/huggingface/peft/blob/v0.18.0/src/peft/peft_model.py
_OF_CLASSIFIERS = frozenset({"classifier", "score"})
#: labels that must tell it, and the share of them that is the next token where labels were moved before
_LEAST_LABELS, _NEXT = 8, 0.95
#: labels on padding: their share, and how many a row, for the first of them may be meant as the end of the text
_OF_PADDING, _A_ROW = 0.1, 2
#: rows that all repeat their prompt, at least
_LEAST_REPEATED = 2
#: rows of single answers that are not all good, or all bad, by chance
_LEAST_ROWS = 16
#: share of pairs whose answers are the same: a few ties are in every set of preferences
_ALIKE = 0.5
#: groups of names at which an inventory may have left some out
_MOST_GROUPS = 400


def of_inventory(data: Mapping[str, Any]) -> Iterator[Finding]:
    """Judge the inventory of a first step.

    Args:
        data: as `doctor.monitors.guard.inventory` writes it; parts may be missing.

    """
    batch = data.get("batch") or {}
    if data.get("tensors") == 0 and data.get("frozen"):
        yield found(
            PROBLEM, NOTHING, severity=ERROR, count=sum(data["frozen"].values()),
            evidence=(Observed.quoted("inventory", f"frozen: {data['frozen']}"),),
        )  # fmt: skip
        return
    yield from _double(data)
    if batch.get("tokens") and batch.get("trained") == 0:
        yield found(
            PROBLEM, MASKED, severity=ERROR, tokens=batch["tokens"],
            evidence=(
                Observed.quoted("inventory", f"trained 0 of {batch['tokens']} tokens in {batch.get('rows')} rows"),
            ),
        )  # fmt: skip
    yield from _endless(data, batch)
    yield from _shifted(data, batch)
    yield from _padded(data, batch)
    yield from _repeated(batch)
    yield from _unheld(data)
    yield from _untouched(data, batch)
    yield from _beside(data)
    yield from _unsaved(data)
    yield from _frozen_adapter(data)
    yield from _of_answers(data)
    resumed = data.get("resumed") or {}
    if resumed.get("states") == 0:
        yield found(
            PROBLEM, ANEW, confidence=LIKELY, step=resumed["step"],
            evidence=(Observed.quoted("inventory", f"step {resumed['step']}: optimizer without a state"),),
        )  # fmt: skip


def _of_answers(data: Mapping[str, Any]) -> Iterator[Finding]:
    """Answers of preference data that leave nothing to tell apart: all of one kind, or pairs of equal ones."""
    single = data.get("desirable") or {}
    if single.get("rows", 0) >= _LEAST_ROWS and single["good"] in (0, single["rows"]):
        yield found(
            PROBLEM, ONE_KIND, confidence=LIKELY, count=single["rows"], value=bool(single["good"]),
            evidence=(Observed.quoted("inventory", f"label: {single['good']} of {single['rows']} rows are True"),),
        )  # fmt: skip
    pairs = data.get("pairs") or {}
    if pairs.get("rows", 0) >= _LEAST_ROWS and pairs["alike"] > _ALIKE * pairs["rows"]:
        yield found(
            PROBLEM, ALIKE, confidence=LIKELY, count=pairs["alike"], rows=pairs["rows"],
            evidence=(Observed.quoted("inventory", f"chosen = rejected in {pairs['alike']} of {pairs['rows']} rows"),),
        )  # fmt: skip


def _unheld(data: Mapping[str, Any]) -> Iterator[Finding]:
    """An optimizer about to make a step in which none of its tensors has a gradient, though the backward made some.

    Copies in another precision have theirs by then: whoever keeps them has filled these in.
    """
    held, made = data.get("held", 0), data.get("with_gradient", 0)
    if not held or not made or data.get("held_with_gradient") != 0:
        return
    message = CLEARED if data.get("held_touched") else UNHELD
    yield found(
        PROBLEM, message, severity=ERROR, held=held, count=made, groups=_listed(data.get("came") or {}),
        evidence=(
            Observed.quoted("inventory", f"optimizer: 0 of {held} tensors with a gradient; backward: {made} tensors"),
        ),
    )  # fmt: skip


def _untouched(data: Mapping[str, Any], batch: Mapping[str, Any]) -> Iterator[Finding]:
    """Whole groups of trainable parameters to which no gradient came; of a loop, in all steps that were looked at."""
    missing = {
        name: count
        for name, count in (data.get("without_gradient") or {}).items()
        if not any(each in name for each in _BY_CHANCE) and count == (data.get("groups") or {}).get(name)
    }
    told = data.get("settled", True) and data.get("held_with_gradient") != 0
    if missing and told and data.get("with_gradient") and batch.get("trained") != 0:
        yield found(
            PROBLEM, UNTOUCHED, confidence=LIKELY, count=sum(missing.values()), total=data["tensors"],
            groups=_listed(missing), evidence=(Observed.quoted("inventory", _all(missing)),),
        )  # fmt: skip


def _double(data: Mapping[str, Any]) -> Iterator[Finding]:
    """Some parameters of twice the size that all others have: what made them did not ask for the model's dtype."""
    sizes = {**(data.get("frozen") or {}), **(data.get("trainable") or {})}
    others = sorted(set(sizes) - {"float64"})
    groups = data.get("double") or {}
    if groups and others:
        yield found(
            PROBLEM, DOUBLE, groups=_listed(groups), others=", ".join(others),
            evidence=(Observed.quoted("inventory", f"float64: {_all(groups)}; else {', '.join(others)}"),),
        )  # fmt: skip


def _endless(data: Mapping[str, Any], batch: Mapping[str, Any]) -> Iterator[Finding]:
    """Rows of a supervised training whose trained part never ends; rows that were cut say nothing."""
    longest = (data.get("arguments") or {}).get("max_length")
    width = ((batch.get("shapes") or {}).get("labels") or [0, 0])[-1]
    cut = isinstance(longest, int) and width >= longest
    supervised = "SFT" in str(data.get("trainer")) and batch.get("ends") == 0 and batch.get("trained") and not cut
    unclosed = batch.get("rows") and batch.get("open") == batch["rows"]  # by whichever trainer: the data closes turns
    if supervised or unclosed:
        yield found(
            PROBLEM, ENDLESS, confidence=LIKELY, rows=batch["rows"],
            evidence=(Observed.quoted("inventory", f"0 of {batch['rows']} rows end with the end-of-sequence token"),),
        )  # fmt: skip


def _shifted(data: Mapping[str, Any], batch: Mapping[str, Any]) -> Iterator[Finding]:
    """Labels that were moved by one place before a model that moves them itself."""
    aligned = batch.get("aligned") or {}
    count = aligned.get("of", 0)
    if data.get("shifts") and count >= _LEAST_LABELS and aligned["next"] >= _NEXT * count >= 2 * aligned["own"]:
        yield found(
            PROBLEM, SHIFTED, severity=ERROR, count=aligned["next"], total=count, model=data.get("model"),
            evidence=(
                Observed.quoted("inventory", f"labels: {aligned['own']} own token, {aligned['next']} next, of {count}"),
            ),
        )  # fmt: skip


def _padded(data: Mapping[str, Any], batch: Mapping[str, Any]) -> Iterator[Finding]:
    """Padding that counts for a loss which the model computes of the labels itself."""
    count, trained = batch.get("padded", 0), batch.get("trained", 0)
    least = max(_LEAST_LABELS, _A_ROW * batch.get("rows", 0), _OF_PADDING * trained)
    if data.get("shifts") and count >= least:
        yield found(
            PROBLEM, PADDED, count=count, trained=trained, share=f"{100 * count / trained:.0f} %",
            evidence=(Observed.quoted("inventory", f"labels: {count} of {trained} where the attention mask is 0"),),
        )  # fmt: skip


def _repeated(batch: Mapping[str, Any]) -> Iterator[Finding]:
    """Answers that all begin with their whole prompt, which stands before them already."""
    count = batch.get("repeated", 0)
    if count >= _LEAST_REPEATED and count == batch["prompted"]:
        yield found(
            PROBLEM, REPEATED, confidence=LIKELY, count=count,
            evidence=(Observed.quoted("inventory", f"{count} of {count} rows train the prompt's tokens behind it"),),
        )  # fmt: skip


def _beside(data: Mapping[str, Any]) -> Iterator[Finding]:
    """What trains although only adapters were asked for."""
    adapters = data.get("adapters") or {}
    if not adapters or any(each.get("bias") not in ("none", "None") for each in adapters.values()):
        return
    saved = [name for each in adapters.values() for name in each.get("saved", ())]
    beside = {
        name: count
        for name, count in (data.get("groups") or {}).items()
        if not any(each in name.lower() for each in _OF_ADAPTERS) and not any(each in name for each in saved)
    }
    if beside:
        yield found(
            PROBLEM, BESIDE, confidence=LIKELY, count=sum(beside.values()), groups=_listed(beside),
            evidence=(Observed.quoted("inventory", _all(beside)),),
        )  # fmt: skip


def _unsaved(data: Mapping[str, Any]) -> Iterator[Finding]:
    """Modules that an adapter was to train whole, and of which the model has none: PEFT passes over them in silence."""
    adapters = list((data.get("adapters") or {}).values())
    groups = list(data.get("groups") or {})
    if len(adapters) != 1 or not groups or len(groups) >= _MOST_GROUPS:
        return
    asked = [name for name in adapters[0].get("saved", ()) if name not in _OF_CLASSIFIERS]
    if asked and not any(name in each for name in adapters[0]["saved"] for each in groups):
        yield found(
            PROBLEM, UNSAVED, confidence=LIKELY, names=", ".join(f"`{each}`" for each in asked),
            evidence=(Observed.quoted("inventory", ", ".join(groups[:_SHOWN])),),
        )  # fmt: skip


def _frozen_adapter(data: Mapping[str, Any]) -> Iterator[Finding]:
    """An active adapter of which nothing trains, while something else does: it was frozen after it was made."""
    active = [name for name in data.get("active_adapters") or () if (data.get("adapters") or {}).get(name, {}).get("r")]
    groups = data.get("groups") or {}
    own = [name for name in groups if any(each in name.lower() for each in _OF_ADAPTERS if each not in _WHOLE)]
    if active and groups and len(groups) < _MOST_GROUPS and not own:
        yield found(
            PROBLEM, FROZEN_ADAPTER, severity=ERROR, confidence=LIKELY, groups=_listed(groups),
            rank=data["adapters"][active[0]]["r"],
            evidence=(Observed.quoted("inventory", _all(groups)),),
        )  # fmt: skip


def of_held(entry: Mapping[str, Any], told: Collection[str]) -> Iterator[Finding]:
    """Judge what the optimizers of a loop hold.

    Args:
        entry: of a rehearsal's journal, as `doctor.monitors.rehearse.held` writes it.
        told: headlines of what the inventory has told already.

    """
    for each in entry["still"]:
        name = each["module"] if each["module"] == each["kind"] else f"{each['module']} ({each['kind']})"
        seen = (
            f"{name}: {each['tensors']} tensors held, {'none' if each['none'] else 'all 0'} in {entry['steps']} steps"
        )
        if not (each["none"] and any(each["module"] in headline for headline in told)):
            yield found(
                PROBLEM, TOML["still"], confidence=LIKELY, module=name, steps=entry["steps"], count=each["tensors"],
                evidence=(Observed.quoted("optimizer", seen),),
            )  # fmt: skip
    missed = entry["missed"]
    if missed and not told:
        groups = groups_of(missed["names"])
        yield found(
            PROBLEM, TOML["lacking"], confidence=LIKELY, module=missed["module"], count=missed["count"],
            groups=_listed(groups), evidence=(Observed.quoted("optimizer", f"not held: {_all(groups)}"),),
        )  # fmt: skip


def of_frozen(entry: Mapping[str, Any]) -> Finding:
    """Judge new weights that are frozen and used, as `doctor.monitors.rehearse.frozen` writes them."""
    groups = groups_of(each["name"] for each in entry["weights"])
    shown = ", ".join(f"{each['name']} {each['shape']}" for each in entry["weights"])
    return found(
        PROBLEM, TOML["random"], confidence=LIKELY, groups=_listed(groups),
        evidence=(Observed.quoted("first step", f"frozen and used: {shown}"),),
    )  # fmt: skip


def of_aside(entry: Mapping[str, Any]) -> Finding:
    """Judge what a save or a callback left of the model, as `doctor.monitors.rehearse.relations.aside` tells it."""
    change = TOML.phrases("change")[entry["change"]]
    text = f"{entry['change']}: {entry['count']}, the first one {entry['first']}"
    return found(
        PROBLEM, TOML["aside"], count=entry["count"], change=change, first=entry["first"],
        evidence=(Observed.quoted("behind the last step", text),),
    )  # fmt: skip


def of_unread(entry: Mapping[str, Any]) -> Finding:
    """Judge names of settings that nothing reads, as `doctor.monitors.rehearse.relations.sampling` tells them."""
    near = [each for name in entry["names"] for each in get_close_matches(name, entry["known"], 1)]
    return found(
        PROBLEM, TOML["unread"], setting=entry["setting"], names=", ".join(f"`{each}`" for each in entry["names"]),
        near=", ".join(f"`{each}`" for each in near) or None,
        evidence=(Observed.quoted(entry["setting"], ", ".join(entry["names"])),),
    )  # fmt: skip


def groups_of(names: Iterable[str]) -> dict[str, int]:
    """Names without the numbers of their layers -> how many there are."""
    counted: dict[str, int] = {}
    for each in names:
        key = _NUMBER.sub("N", each)
        counted[key] = counted.get(key, 0) + 1
    return counted


def _listed(groups: Mapping[str, int]) -> str:
    names = [f"`{each}`" for each in list(groups)[:_SHOWN]]
    return ", ".join([*names, *(["…"] if len(groups) > _SHOWN else [])])


def _all(groups: Mapping[str, int]) -> str:
    return ", ".join(f"{name} ({count})" for name, count in list(groups.items())[:12])
