"""What the version data hold against sets of versions: releases that this machine cannot run, pairs that do not fit."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from doctor import data
from doctor.catalogue.shared.torch_builds import major, public, runs_on
from doctor.facts.gpus import Gpus
from doctor.facts.interpreter import Interpreter
from doctor.facts.packages import Packages


@dataclass(frozen=True)
class Limit:
    """Constraints of one package with their reason in English and Chinese."""

    package: str
    constraints: tuple[str, ...]
    reason: str
    reason_zh: str


def least(wanted: Sequence[str], installed: Mapping[str, str]) -> tuple[Limit, ...]:
    """Keep the resolver from going back to before what the data cover; TRL to before it had GRPO."""
    limits = []
    for name in wanted:
        known = list(data.releases(name))
        if name in installed or not known:
            continue
        if name == "trl":
            known = [each for each in known if (found := data.trl_release(each)) is not None and found.has_grpo]
            why, zh = "the first with GRPO", "首个支持 GRPO 的版本"
        else:
            why, zh = "the oldest that the doctor knows", "doctor 已知的最早版本"
        limits.append(Limit(name, (f"{name}>={known[0]}",), why, zh))
    return tuple(limits)


def of_machine(packages: Packages, gpus: Gpus, interpreter: Interpreter) -> tuple[Limit, ...]:
    """Releases of torch and vLLM whose default wheels this driver or these GPUs cannot run (x86-64 wheels only)."""
    if interpreter.machine != "x86_64" or not gpus.gpus:
        return ()
    runs = major(gpus.cuda_driver_version)
    cards = sorted({each.compute_capability for each in gpus.gpus if each.compute_capability is not None})
    limits = []
    for name, built_for, unfit in (("torch", _torch_cuda, _torch_lacks), ("vllm", _vllm_cuda, _vllm_lacks)):
        own = _own_build(name, packages, runs)
        listed = list(data.releases(name))
        if runs is not None:
            built = [built_for(each) for each in listed]
            bad = _unfit(listed, [None if cuda is None else cuda > runs for cuda in built]) - {own}
            reason = f"the driver ({gpus.driver_version}) runs CUDA {gpus.cuda_driver_version} at most"
            zh = f"驱动({gpus.driver_version})最高支持 CUDA {gpus.cuda_driver_version}"
            limits += _limit(name, listed, bad, reason, zh)
        for card in cards:
            bad = _unfit(listed, [unfit(each, card) for each in listed]) - {own}
            text = ".".join(map(str, card))
            reason = f"other wheels hold no code for compute capability {text}"
            limits += _limit(name, listed, bad, reason, f"其他 wheel 不含计算能力 {text} 的代码")
    return tuple(limits)


def _unfit(listed: Sequence[str], verdicts: Sequence[bool | None]) -> set[str]:
    """Releases that do not fit; one of which nothing is known counts as both of its known neighbours do."""
    bad = set()
    for index, (version, verdict) in enumerate(zip(listed, verdicts, strict=True)):
        before = next((each for each in reversed(verdicts[:index]) if each is not None), None)
        behind = next((each for each in verdicts[index:] if each is not None), None)
        neighbours = {each for each in (before, behind) if each is not None}
        if verdict or (verdict is None and neighbours == {True}):
            bad.add(version)
    return bad


def _own_build(name: str, packages: Packages, runs: int | None) -> str | None:
    """The installed release where it is a build of its own, which the driver can run: it may stay."""
    version = packages.version(name)
    if version is None:
        return None
    build = packages.torch_build if name == "torch" else None
    if "+" not in version or (build is not None and (major(build.cuda) or 0) > (runs or 0)):
        return None
    return public(version)


def _torch_cuda(version: str) -> int | None:
    found = data.torch_release(version)
    return major(found.cuda) if found is not None else None


def _torch_lacks(version: str, card: tuple[int, int]) -> bool | None:
    found = data.torch_release(version)
    return None if found is None or found.arch_list is None else not runs_on(card, found.arch_list)


def _vllm_cuda(version: str) -> int | None:
    found = data.vllm_release(version)
    return major(found.cuda) if found is not None else None


def _vllm_lacks(version: str, card: tuple[int, int]) -> bool | None:
    found = data.vllm_release(version)
    if found is None:
        return None
    if found.min_compute_capability is not None and card < found.min_compute_capability:
        return True
    return None if found.arch_list is None else not runs_on(card, found.arch_list)


def _limit(name: str, listed: Sequence[str], bad: Collection[str], reason: str, reason_zh: str) -> list[Limit]:
    """Constraints as short as they can be: bounds where whole ends are out, single versions else."""
    if not bad or len(bad) == len(listed):
        return []
    good = [index for index, each in enumerate(listed) if each not in bad]
    constraints = []
    if good[0] > 0:
        constraints.append(f"{name}>={listed[good[0]]}")
    if good[-1] + 1 < len(listed):
        constraints.append(f"{name}<{listed[good[-1] + 1]}")
    constraints += [f"{name}!={each}" for each in listed[good[0] : good[-1]] if each in bad]
    return [Limit(name, tuple(constraints), reason, reason_zh)]


# Pairs ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Misfit:
    """Versions that are known not to work together, and the constraints that each avoid it.

    Args:
        when: package -> range in which it happens.
        ways: alternatives, each one constraint.

    """

    when: Mapping[str, str]
    cause: str
    cause_zh: str
    links: tuple[str, ...]
    ways: tuple[str, ...]


def misfits(versions: Mapping[str, str]) -> Iterator[Misfit]:
    """What is known against a set of versions, whatever it is used for."""
    for rule in data.known_bad():
        if rule.when and not rule.conditions and _all_in(rule.when, versions.get):
            ways = tuple(way for name, text in rule.when.items() for way in _outside(name, text))
            yield Misfit(rule.when, rule.cause, rule.cause_zh, rule.links, ways)
    yield from _beyond_window(versions)


def reservations(versions: Mapping[str, str], wanted: Sequence[str]) -> Iterator[data.KnownBad]:
    """What goes wrong with a set of versions in some uses only, and no more in a newer release of what is wanted."""
    for rule in data.known_bad():
        bounded = any("<" in text for text in rule.when.values())
        if rule.conditions and bounded and set(rule.when) & set(wanted) and _all_in(rule.when, versions.get):
            yield rule


def _beyond_window(versions: Mapping[str, str]) -> Iterator[Misfit]:
    """A vLLM outside of what the TRL release says it supports."""
    release = data.trl_release(versions.get("trl", ""))
    vllm = versions.get("vllm")
    if release is None or release.vllm_window is None or vllm is None:
        return
    low, high = release.vllm_window
    if _within(vllm, f">={low},<={high}") is False:
        window = f">={low},<={high}"
        yield Misfit(
            {"trl": f"=={release.version}", "vllm": f"=={public(vllm)}"},
            f"TRL {release.version} supports vLLM {low} to {high}",
            f"TRL {release.version} 支持 vLLM {low} 至 {high}",
            (f"https://github.com/huggingface/trl/blob/v{release.version}/trl/import_utils.py",),
            (f"vllm{window}", f"trl!={release.version}"),
        )


def _all_in(ranges: Mapping[str, str], version_of: Callable[[str], str | None]) -> bool:
    return all((version := version_of(name)) is not None and _within(version, text) for name, text in ranges.items())


def _within(version: str, specifier: str) -> bool | None:
    try:
        return SpecifierSet(specifier).contains(Version(public(version)), prereleases=True)
    except ValueError:
        return None


def _outside(name: str, specifier: str) -> Iterator[str]:
    """Constraints that each leave a range: below its least, above its greatest."""
    opposite = {">=": "<", "<": ">=", "<=": ">", ">": "<=", "==": "!="}
    for each in sorted(SpecifierSet(specifier), key=lambda one: one.operator):
        if each.operator in opposite:
            yield f"{name}{opposite[each.operator]}{each.version}"
