"""Imports that fail in `--deep`: whose fault it is, and what is said of it."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.base.evidence import Observed
from doctor.base.patterns import later
from doctor.catalogue.check import Judgement
from doctor.catalogue.finding import Finding, Message, found
from doctor.catalogue.problem import Problem
from doctor.catalogue.words import words_of
from doctor.facts.deep import Deep, Import
from doctor.facts.packages import Packages

TOML = words_of(__name__)
#: name -> words; each row that uses them declares them as its own
WORDS = TOML.messages

_CUDA_LIBRARY = later(r"lib(?:cudart|cublas|cublasLt|nvrtc|nvJitLink)\.so\.(\d+)")


def judged(problem: Problem, deep: Deep, packages: Packages | None, *modules: str) -> Judgement:
    """A finding for each of `modules` that cannot be imported through its own fault."""
    for each in failures(deep, *modules):
        yield finding(problem, each, packages)


def failures(deep: Deep, *modules: str) -> Iterator[Import]:
    """Yield failed imports of `modules`, except those that fail only because another failed one does."""
    failed = {each.module: each for each in deep.imports if each.outcome not in {"ok", "missing"}}
    for module in modules:
        each = failed.get(module)
        if each is None:
            continue
        origin = (each.raised_in or "").partition(".")[0].replace("flash_attn_2_cuda", "flash_attn")
        same_as_torch = module != "torch" and "torch" in failed
        if not same_as_torch and (origin == module or origin not in failed):
            yield each


def finding(problem: Problem, each: Import, packages: Packages | None) -> Finding:
    """Tell one failed import with the reason that the interpreter gave."""
    message, cuda, wanted = _message(each, packages)
    origin = each.raised_in or each.module
    return found(
        problem,
        message,
        commands=(f"python -c 'import {each.module}'",),
        evidence=(Observed.quoted(f"import {each.module}", each.error or each.signal or each.outcome),),
        module=each.module,
        origin=origin,
        symbol=each.undefined_symbol,
        library=each.missing_library,
        signal=each.signal,
        seconds=round(each.seconds),
        error_type=each.error_type or "an error",
        error=(each.error or "none").rstrip("."),
        cuda=cuda,
        wanted=wanted,
    )


def _message(each: Import, packages: Packages | None) -> tuple[Message, str | None, str | None]:
    """Choose the words, with torch's CUDA and the one that a missing library belongs to."""
    if each.outcome == "signal":
        return WORDS["signal"], None, None
    if each.outcome == "timeout":
        return WORDS["timeout"], None, None
    if each.undefined_symbol:
        return WORDS["symbol"], None, None
    if each.missing_library:
        match = _CUDA_LIBRARY.match(each.missing_library)
        build = packages.torch_build if packages is not None else None
        if match and build is not None and build.cuda and build.cuda.partition(".")[0] != match[1]:
            return WORDS["other_cuda"], build.cuda, match[1]
        return WORDS["library"], None, None
    # a missing part of the package itself is told as any other exception
    foreign = (each.raised_in or "").partition(".")[0] not in {"", each.module}
    return (WORDS["absent"] if each.error_type == "ModuleNotFoundError" and foreign else WORDS["raised"]), None, None
