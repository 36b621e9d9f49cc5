"""Version knowledge about the stack, shipped as data and read lazily.

The JSON files beside this module are made by ``tools/build_version_data.py`` from the packages' own metadata and
source, plus a small overlay kept by hand. Nothing here touches the machine or the network; every file is parsed at most
once, when first asked.

How versions are found: a version is looked up as spelled, then without a leading ``v``, without its local part
(``+cu129``), without ``.postN``, then by value (2.14 is 2.14.0). Development and pre-releases are never mapped to a
neighbour.

Unknown versions: accessors that take a version return None for one that the data do not list. Ask :func:`standing` why:
NEWER (the data are older than the package: stay silent, tell their age), OLDER, BETWEEN (a development or private
build), UNREADABLE, or NO_PACKAGE. None is never "no": a caller that gets None skips its check and says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from functools import cache
from types import MappingProxyType
from typing import Any

from doctor.base.code_patterns import CodeForm, PatternPiece
from doctor.data._store import Versions, VersionStanding, load, row, table, value_at
from doctor.data.records import (
    ArgumentHistory,
    ComputeCapability,
    ConfigKey,
    DeepspeedRelease,
    Defect,
    FrameworkKeys,
    Idiom,
    KnownBad,
    Release,
    TorchRelease,
    TrlClass,
    TrlRelease,
    VllmRelease,
)

__all__ = [
    "ArgumentHistory",
    "ComputeCapability",
    "ConfigKey",
    "DeepspeedRelease",
    "Defect",
    "FrameworkKeys",
    "KnownBad",
    "Release",
    "TorchRelease",
    "TrlClass",
    "TrlRelease",
    "VersionStanding",
    "VllmRelease",
    "age_days",
    "built",
    "config_arguments",
    "deepspeed_release",
    "defects",
    "framework_keys",
    "idioms",
    "known_bad",
    "lora_argument",
    "lora_arguments",
    "lora_default_since",
    "lora_defaults_newest",
    "model_type_of",
    "newest",
    "packages",
    "release",
    "releases",
    "sglang_flag",
    "sglang_flags",
    "standing",
    "torch_release",
    "trainer_parameter",
    "trainer_parameters",
    "training_argument",
    "training_arguments",
    "trinity_keys",
    "trinity_versions",
    "trl_argument",
    "trl_arguments",
    "trl_class",
    "trl_classes",
    "trl_commands",
    "trl_first_with_grpo",
    "trl_release",
    "trl_trainers",
    "verl_engines",
    "verl_keys",
    "verl_versions",
    "vllm_argument",
    "vllm_arguments",
    "vllm_flag",
    "vllm_flags",
    "vllm_release",
]


# --- the data themselves ----------------------------------------------------------------------------------------------


def built() -> date:
    """The day on which the shipped data were made."""
    return date.fromisoformat(load("meta")["built"])


def age_days(today: date) -> int:
    """Days from the day on which the data were made to ``today``; never negative (a clock may be wrong)."""
    return max(0, (today - built()).days)


def packages() -> tuple[str, ...]:
    """Names of the packages whose releases the data list, normalised as the package index does (``flash-attn``)."""
    return tuple(load("meta")["newest"])


def newest(package: str) -> str | None:
    """The newest release of a package when the data were made, None for a package that they do not cover."""
    version: str | None = load("meta")["newest"].get(_name(package))
    return version


def standing(package: str, version: str) -> VersionStanding:
    """Whether the data know this release of a package, and if not, why (see the module's docstring)."""
    return _listed(_name(package)).standing(version)


def _name(package: str) -> str:
    return package.strip().lower().replace("_", "-").replace(".", "-")


# --- releases ---------------------------------------------------------------------------------------------------------


@cache
def _listed(package: str) -> Versions:
    content = load("releases")["packages"].get(package)
    return Versions(content["versions"] if content else ())


@cache
def _releases(package: str) -> Mapping[str, Release]:
    content = load("releases")["packages"].get(package)
    if content is None:
        return MappingProxyType({})
    versions, dates, yanked = _listed(package), content["dates"], frozenset(content["yanked"])
    found = {}
    for index, version in enumerate(versions.listed):
        day = dates.get(version)
        requires = value_at(content["requires"], versions, index)
        found[version] = Release(
            package=package,
            version=version,
            date=date.fromisoformat(day) if day else None,
            requires_python=value_at(content["requires_python"], versions, index),
            requires=None if requires is None else tuple(requires),
            yanked=version in yanked,
        )
    return MappingProxyType(found)


def releases(package: str) -> Mapping[str, Release]:
    """Known releases of a package by version, oldest first; empty for a package that the data do not cover."""
    return _releases(_name(package))


def release(package: str, version: str) -> Release | None:
    """One release of a package, None when the data do not list it (ask :func:`standing` why)."""
    name = _name(package)
    index = _listed(name).find(version)
    return None if index is None else _releases(name)[_listed(name).listed[index]]


def _date_of(package: str, version: str) -> date | None:
    known = _releases(package).get(version)
    return known.date if known else None


# --- arguments --------------------------------------------------------------------------------------------------------


def _pairs(content: Any) -> tuple[tuple[Any, Any], ...]:
    return tuple((since, value) for since, value in content)


def _history(owner: str, name: str, content: Mapping[str, Any], versions: Versions) -> ArgumentHistory:
    return ArgumentHistory(
        owner=owner,
        name=name,
        spans=_pairs(content["spans"]),
        defaults=_pairs(content.get("defaults", ())),
        removed_in=content.get("removed_in"),
        deprecated_in=content.get("deprecated_in"),
        replacement=content.get("replacement"),
        note=content.get("note"),
        inherited=bool(content.get("inherited", False)),
        _versions=versions,
    )


@cache
def _owned(file: str, owner: str) -> tuple[Versions, Mapping[str, Any]] | None:
    """Versions and arguments as told of one class in an arguments file, None when the file has no such class."""
    content = load(file)
    owned = content["classes"].get(owner)
    return None if owned is None else (Versions(content["versions"]), owned["arguments"])


@cache
def _argument(file: str, owner: str, name: str) -> ArgumentHistory | None:
    """History of one argument: most commands ask for a few of hundreds."""
    known = _owned(file, owner)
    if known is None or name not in known[1]:
        return None
    return _history(owner, name, known[1][name], known[0])


@cache
def _arguments_in(file: str, owner: str, version: str) -> Mapping[str, str | None] | None:
    """Argument -> source text of its default in one release; None when the release or the class is unknown."""
    known = _owned(file, owner)
    if known is None or known[0].find(version) is None:
        return None
    histories = {name: _history(owner, name, each, known[0]) for name, each in known[1].items()}
    present = {name: each.default_in(version) for name, each in histories.items() if each.exists_in(version)}
    return MappingProxyType(present)


def trl_classes() -> frozenset[str]:
    """Names of the TRL configuration classes that the data cover (GRPOConfig, SFTConfig, ScriptArguments ...)."""
    return frozenset(name for name in load("trl_args")["classes"] if not name.endswith("Trainer"))


def trl_trainers() -> frozenset[str]:
    """Names of the TRL trainers that the data cover; their constructor's parameters are their arguments."""
    return frozenset(name for name in load("trl_args")["classes"] if name.endswith("Trainer"))


@cache
def trl_class(name: str) -> TrlClass | None:
    """Where a TRL configuration class lives and since when, None for a class that no known release has."""
    content = load("trl_args")
    owned = content["classes"].get(name)
    if owned is None:
        return None
    return TrlClass(
        name=name,
        spans=_pairs(owned["spans"]),
        modules=_pairs(owned["modules"]),
        exports=_pairs(owned["exported"]),
        bases=tuple((since, tuple(bases)) for since, bases in owned["bases"]),
        _versions=Versions(content["versions"]),
    )


def trl_argument(cls: str, name: str) -> ArgumentHistory | None:
    """History of an argument that TRL itself declares in a class; None when no known release declares it.

    Arguments that a class merely inherits from transformers.TrainingArguments are in :func:`training_argument`.
    """
    return _argument("trl_args", cls, name)


def trl_arguments(cls: str, trl_version: str) -> frozenset[str] | None:
    """Arguments that TRL itself declares for a class in one release, without those inherited from TrainingArguments.

    None when the release or the class is unknown; empty when that known release has no such class.
    """
    present = _arguments_in("trl_args", cls, trl_version)
    return None if present is None else frozenset(present)


def trl_commands(trl_version: str) -> Mapping[str, tuple[str, ...]] | None:
    """Sub-commands of `trl` that read dataclasses from flags or YAML, with the names of these classes; None: release
    unknown.

    The classes are in :func:`trl_class`; the fields that they inherit from TrainingArguments are flags too.
    """
    content = load("trl_args")
    versions = Versions(content["versions"])
    index = versions.find(trl_version)
    if index is None:
        return None
    found = {name: value_at(column, versions, index) for name, column in content["commands"].items()}
    return MappingProxyType({name: tuple(classes) for name, classes in found.items() if classes})


def config_arguments(cls: str, trl_version: str, transformers_version: str) -> frozenset[str] | None:
    """Every keyword that a TRL configuration class accepts with a given transformers: its own and the inherited ones.

    None when either release is unknown, or when that TRL release has no such class.
    """
    known = trl_class(cls)
    own = trl_arguments(cls, trl_version)
    if known is None or own is None or not known.exists_in(trl_version):
        return None
    if not known.inherits_training_arguments(trl_version):
        return own
    inherited = training_arguments(transformers_version)
    return None if inherited is None else own | frozenset(inherited)


def training_arguments(transformers_version: str) -> Mapping[str, str | None] | None:
    """Fields of transformers.TrainingArguments in one release with the source text of their defaults; None: release
    unknown.
    """
    return _arguments_in("training_arguments", "TrainingArguments", transformers_version)


def training_argument(name: str) -> ArgumentHistory | None:
    """History of one field of transformers.TrainingArguments, None when no known release has it."""
    return _argument("training_arguments", "TrainingArguments", name)


def trainer_parameters(transformers_version: str) -> Mapping[str, str | None] | None:
    """Parameters of transformers.Trainer.__init__ in one release with the source text of their defaults; None: release
    unknown.
    """
    return _arguments_in("training_arguments", "Trainer", transformers_version)


def trainer_parameter(name: str) -> ArgumentHistory | None:
    """History of one parameter of transformers.Trainer.__init__, None when no known release has it."""
    return _argument("training_arguments", "Trainer", name)


def lora_arguments(peft_version: str) -> Mapping[str, str | None] | None:
    """Fields of peft.LoraConfig (inherited ones too) in one release with their defaults; None: release unknown."""
    return _arguments_in("lora_config", "LoraConfig", peft_version)


def lora_argument(name: str) -> ArgumentHistory | None:
    """History of one field of peft.LoraConfig, None when no known release has it."""
    return _argument("lora_config", "LoraConfig", name)


def lora_default_since(model_type: str) -> str | None:
    """First PEFT release with default `target_modules` of LoRA for a model type, None: none up to the newest known."""
    since: str | None = load("lora_defaults")["since"].get(model_type)
    return since


def lora_defaults_newest() -> str:
    """The newest PEFT release whose default `target_modules` are known."""
    return str(load("lora_defaults")["newest"])


def model_type_of(name: str) -> str | None:
    """`model_type` of a published model whose architecture its name alone tells, None where it does not."""
    return next((kind for pattern, kind, _ in load("lora_defaults")["families"] if re.match(pattern, name)), None)


def vllm_arguments(vllm_version: str) -> Mapping[str, str | None] | None:
    """Fields of vLLM's AsyncEngineArgs (what ``LLM(...)`` hands on) in one release with their defaults; None: release
    unknown.
    """
    return _arguments_in("vllm_args", "AsyncEngineArgs", vllm_version)


def vllm_argument(name: str) -> ArgumentHistory | None:
    """History of one engine argument of vLLM, None when no known release has it."""
    return _argument("vllm_args", "AsyncEngineArgs", name)


def vllm_flags(vllm_version: str) -> frozenset[str] | None:
    """Flags of `vllm serve` in one release, written with underscores and without the leading dashes; None: release
    unknown.

    vLLM's parser takes dashes and underscores alike, and ``--no-FLAG`` for a switch.
    """
    present = _arguments_in("vllm_args", "serve", vllm_version)
    return None if present is None else frozenset(present)


def vllm_flag(name: str) -> ArgumentHistory | None:
    """History of one flag of `vllm serve` (``max_model_len``; no defaults: see :func:`vllm_argument`), None when never
    known.
    """
    return _argument("vllm_args", "serve", name.lstrip("-").replace("-", "_"))


def sglang_flags(sglang_version: str) -> frozenset[str] | None:
    """Flags of `python -m sglang.launch_server` in one release, with underscores; None: release unknown.

    Fields of its dataclasses count for flags: there may be a few more here than the parser takes.
    """
    present = _arguments_in("sglang_args", "launch_server", sglang_version)
    return None if present is None else frozenset(present)


def sglang_flag(name: str) -> ArgumentHistory | None:
    """History of one flag of `sglang.launch_server`, None when never known."""
    return _argument("sglang_args", "launch_server", name.lstrip("-").replace("-", "_"))


# --- per-release facts ------------------------------------------------------------------------------------------------


def trl_first_with_grpo() -> str | None:
    """The first TRL release that has a GRPO trainer; None where the data list none."""
    _, columns = table("trl")
    return next((since for since, has in columns["has_grpo"] if has), None)


def trl_release(version: str) -> TrlRelease | None:
    """Facts of one TRL release, None when it is not listed."""
    found = row("trl", version)
    if found is None:
        return None
    listed, facts = found
    window = facts["vllm_window"]
    return TrlRelease(
        version=listed,
        date=_date_of("trl", listed),
        requires_python=facts["requires_python"],
        transformers=facts["transformers"],
        accelerate=facts["accelerate"],
        datasets=facts["datasets"],
        vllm_extra=facts["vllm_extra"],
        deepspeed_extra=facts["deepspeed_extra"],
        peft_extra=facts["peft_extra"],
        has_grpo=bool(facts["has_grpo"]),
        vllm_modes=tuple(facts["vllm_modes"] or ()),
        vllm_mode_default=facts["vllm_mode_default"],
        vllm_window=(window[0], window[1]) if window else None,
        vllm_window_strips_local=bool(facts["vllm_window_strips_local"]),
        serve=facts["serve"],
        batch_rule=facts["batch_rule"],
        loss_types=tuple(facts["loss_types"] or ()),
        liger_minimum=facts["liger_minimum"],
    )


def _capability(value: Any) -> ComputeCapability | None:
    return None if value is None else (int(value[0]), int(value[1]))


def vllm_release(version: str) -> VllmRelease | None:
    """Facts of one vLLM release (``+cu129`` and unlisted ``.postN`` count as their release), None when it is not
    listed.
    """
    found = row("vllm", version)
    if found is None:
        return None
    listed, facts = found
    architectures = facts["arch_list"]
    return VllmRelease(
        version=listed,
        date=_date_of("vllm", listed),
        requires_python=facts["requires_python"],
        torch=facts["torch"],
        transformers=facts["transformers"],
        numpy=facts["numpy"],
        cuda=facts["cuda"],
        cuda_confidence=facts["cuda_confidence"],
        arch_list=None if architectures is None else tuple(architectures.split()),
        arch_list_confidence=facts["arch_list_confidence"],
        min_compute_capability=_capability(facts["min_cc"]),
        min_compute_capability_confidence=facts["min_cc_confidence"],
        api_server=facts["api_server"],
        engine=facts["engine"],
        auto_dtype_falls_back=facts["auto_dtype_falls_back"],
        fp8_min_compute_capability=_capability(facts["fp8_min_cc"]),
        fp8_native_compute_capability=_capability(facts["fp8_native_cc"]),
        sleep_level2_keeps_buffers=facts["sleep_level2_keeps_buffers"],
        sleep_rejects_expandable_segments=facts["sleep_rejects_expandable_segments"],
        external_launcher_asserts_seed=facts["external_launcher_asserts_seed"],
        default_seed=facts["default_seed"],
    )


@cache
def torch_release(version: str) -> TorchRelease | None:
    """Facts of one torch release (``2.9.1+cu126`` finds 2.9.1: its build is under ``variants``), None when it is not
    listed.
    """
    found = row("torch", version)
    if found is None:
        return None
    listed, facts = found
    architectures = facts["arch_list"]
    variants = {tag: tuple(each.split()) for tag, each in (facts["variants"] or {}).items()}
    return TorchRelease(
        version=listed,
        date=_date_of("torch", listed),
        requires_python=facts["requires_python"],
        cuda=facts["cuda"],
        cublas=facts["cublas"],
        cudnn=facts["cudnn"],
        nccl=facts["nccl"],
        triton=facts["triton"],
        arch_list=None if architectures is None else tuple(architectures.split()),
        arch_list_confidence=facts["arch_list_confidence"],
        variants=MappingProxyType(variants),
    )


def deepspeed_release(version: str) -> DeepspeedRelease | None:
    """Facts of one DeepSpeed release, None when it is not listed."""
    found = row("deepspeed", version)
    if found is None:
        return None
    listed, facts = found
    mixed = {major: tuple(minors) for major, minors in facts["cuda_minor_mismatch_ok"].items()}
    return DeepspeedRelease(
        version=listed,
        cuda_minor_mismatch_ok=MappingProxyType(mixed),
        missing_cuda_home_error=facts["missing_cuda_home_error"],
        import_fails_without_cuda_home=facts["import_fails_without_cuda_home"],
        ds_grads_remaining_bug=facts["ds_grads_remaining_bug"],
        fp16_defaults=MappingProxyType(dict(facts["fp16_defaults"])),
        bf16_check_grad_overflow_default=facts["bf16_check_grad_overflow_default"],
        zero0_fp16_live_scale=facts["zero0_fp16_live_scale"],
        zero123_live_scale=facts["zero123_live_scale"],
        bf16_optimizer_has_overflow=facts["bf16_optimizer_has_overflow"],
        bf16_overflow_checked_zero12=facts["bf16_overflow_checked_zero12"],
        bf16_overflow_checked_zero3=facts["bf16_overflow_checked_zero3"],
    )


# --- configuration keys -----------------------------------------------------------------------------------------------


def _leaf_at(column: Any, leaves: Any, index: int) -> Any:
    """The leaf that a column of ``[version index, leaf index or None]`` has at a position, None when the key is absent
    there.
    """
    place: int | None = None
    for since, changed in column:
        if since > index:
            break
        place = changed
    return None if place is None else leaves[place]


def _config_key(name: str, leaf: Any) -> ConfigKey:
    return ConfigKey(name=name, type=leaf[0], default=leaf[1], free=len(leaf) > 2)


@cache
def verl_keys(
    version: str, config: str = "ppo_trainer", model_engine: str | None = None
) -> Mapping[str, ConfigKey] | None:
    """Dotted keys of a composed veRL configuration, what a Hydra override without a leading ``+`` may name.

    ``config`` is ppo_trainer, ppo_megatron_trainer, sft_trainer or sft_trainer_engine; ``model_engine`` the choice of
    engine that veRL 0.7.1 and newer take with ppo_trainer (:func:`verl_engines`). Keys above a listed one are valid
    too; ``_target_`` is left out. None: release, configuration or engine not covered.
    """
    content = load("verl_keys")
    if model_engine == "megatron" and config == "ppo_trainer":
        config = "ppo_megatron_trainer"
    elif model_engine not in (None, "dp"):
        config = f"{config} model_engine={model_engine}"
    index = Versions(content["versions"]).find(version)
    owned = content["configs"].get(config)
    if owned is None or index is None:
        return None
    found = {name: _leaf_at(column, content["leaves"], index) for name, column in owned.items()}
    present = {name: _config_key(name, leaf) for name, leaf in found.items() if leaf is not None}
    return MappingProxyType(present) if present else None


def verl_versions() -> tuple[str, ...]:
    """VeRL releases whose keys the data hold, oldest first."""
    return tuple(load("verl_keys")["versions"])


def verl_engines(version: str) -> tuple[str, ...] | None:
    """Values that ``model_engine=`` takes in a veRL release (none before 0.7.1); None: release not covered."""
    content = load("verl_keys")
    versions = Versions(content["versions"])
    index = versions.find(version)
    return None if index is None else tuple(value_at(content["engines"], versions, index) or ())


@cache
def trinity_keys(version: str) -> Mapping[str, ConfigKey] | None:
    """Dotted keys of a Trinity-RFT YAML file, from the fields of its ``Config`` dataclass; None: release not covered.

    Keys above a listed one are valid too; ``*`` in a key stands for any index of a list or any name of the user's.
    """
    content = load("trinity_keys")
    index = Versions(content["versions"]).find(version)
    if index is None:
        return None
    found: dict[str, ConfigKey] = {}
    _flatten("Config", "", content, index, found, ())
    return MappingProxyType(found)


def _flatten(
    cls: str, prefix: str, content: Mapping[str, Any], index: int, found: dict[str, ConfigKey], inside: tuple[str, ...]
) -> None:
    """Add the keys of one dataclass and of the classes nested in it; a class inside itself is not entered again."""
    for name, column in content["classes"][cls].items():
        leaf = _leaf_at(column, content["leaves"], index)
        if leaf is None:
            continue
        key = prefix + name
        nested = leaf[2] if len(leaf) > 2 and isinstance(leaf[2], str) else None
        if nested is None:
            found[key] = _config_key(key, leaf)
        else:
            found[key] = ConfigKey(name=key, type=leaf[0], default=None)
            if nested not in inside:
                _flatten(nested, key + (".*." if leaf[1] else "."), content, index, found, (*inside, cls))


def trinity_versions() -> tuple[str, ...]:
    """Trinity-RFT releases whose keys the data hold, oldest first."""
    return tuple(load("trinity_keys")["versions"])


@cache
def framework_keys(framework: str) -> FrameworkKeys | None:
    """Names of configuration keys of a training framework by release; None where its sources were not read."""
    content = load("framework_keys")["frameworks"].get(framework)
    if content is None:
        return None
    keys = {name: (first, last) for name, (first, last) in content["keys"].items()}
    return FrameworkKeys(tuple(content["releases"]), MappingProxyType(keys), content["source"])


@cache
def defects() -> tuple[Defect, ...]:
    """Defects of releases that show with certain settings, kept by hand, each with its public sources."""
    return tuple(
        Defect(
            id=each["id"], when=MappingProxyType(dict(each["when"])),
            conditions=tuple((key, relation, value) for key, relation, value in each["if"]), severity=each["severity"],
            what=(each["what"], each["what_zh"]), why=(each["why"], each["why_zh"]), fix=(each["fix"], each["fix_zh"]),
            commands=tuple(each["commands"]), links=tuple(each["links"]), open_on=each.get("open_on"),
            shows=tuple(each.get("shows", ())),
        )
        for each in load("defects")["defects"]
    )  # fmt: skip


@cache
def idioms() -> tuple[Idiom, ...]:
    """Code that runs and does something else than it looks like, kept by hand, each with its public sources."""
    return tuple(
        Idiom(each["id"], tuple(_form(form) for form in each["forms"]), tuple(each["links"]))
        for each in load("idioms")["idioms"]
    )


@cache
def published_columns() -> Mapping[str, tuple[str, ...]]:
    """All columns of well-known datasets of the hub, by the name that `load_dataset` takes.

    Kept by hand: a row is listed only where its `link` shows the whole list. The dataset may have changed since, so
    what rests on a row alone is likely at most.
    """
    return MappingProxyType({each["id"]: tuple(each["columns"]) for each in load("datasets")["datasets"]})


def _form(form: Mapping[str, Any]) -> CodeForm:
    code, unless = (
        tuple(PatternPiece(each) if isinstance(each, str) else PatternPiece(**each) for each in form.get(name, ()))
        for name in ("code", "unless")
    )
    return CodeForm(code, unless, form.get("mentions", ""), form.get("model", ""))


# --- the overlay ------------------------------------------------------------------------------------------------------


@cache
def known_bad() -> tuple[KnownBad, ...]:
    """Known-bad pairs and ranges that no metadata state, each with its public sources."""
    return tuple(
        KnownBad(
            id=each["id"],
            when=MappingProxyType(dict(each["when"])),
            conditions=tuple(each.get("conditions", ())),
            conditions_zh=tuple(each.get("conditions_zh", ())),
            cause=each["cause"],
            cause_zh=each["cause_zh"],
            fix=each["fix"],
            confidence=each["confidence"],
            links=tuple(each["links"]),
            symptom=each.get("symptom"),
        )
        for each in load("overlay")["rules"]
    )
