"""What the shipped version knowledge looks like to its readers: frozen records, None where nothing is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import date
from typing import Any

from doctor.base.code_patterns import CodeForm
from doctor.base.record import record
from doctor.data._store import Versions, VersionStanding, value_at

ComputeCapability = tuple[int, int]


@record
class Release:
    """One release of a package, from its own metadata.

    ``requires`` holds the PEP 508 requirements that name packages of the stack, extras and markers kept; requirements
    of extras that only a package's developers use (tests, docs, lint) and of packages outside the stack are left out.
    ``requires`` is None where the metadata could not be read (a package that ships only a source archive).
    """

    package: str
    version: str
    date: date | None
    requires_python: str | None
    requires: tuple[str, ...] | None
    yanked: bool = False


@record
class ArgumentHistory:
    """One argument of a configuration class (or parameter of a constructor) through the releases of its package.

    ``spans`` are (first release, last release or None when it is still there in the newest known one), ``defaults`` are
    (since release, source text of the default, None for a required one). ``inherited`` is true for a TRL argument that
    transformers.TrainingArguments declares too: then an end of the span means "no longer overridden", not "no longer
    accepted", and ``removed_in`` is None. ``removed_in`` is None too when the whole class left with the argument.
    ``replacement`` is the name of the argument to use instead; ``note`` says in words what else to know or do.
    """

    owner: str
    name: str
    spans: tuple[tuple[str, str | None], ...]
    defaults: tuple[tuple[str, str | None], ...]
    removed_in: str | None = None
    deprecated_in: str | None = None
    replacement: str | None = None
    note: str | None = None
    inherited: bool = False
    _versions: Versions = field(default=Versions(()), repr=False, compare=False)

    @property
    def first(self) -> str:
        """Earliest known release that has the argument (the data do not reach back for ever: see the first listed
        release).
        """
        return self.spans[0][0]

    @property
    def last(self) -> str | None:
        """Last release that has the argument, None while the newest known release still has it."""
        return self.spans[-1][1]

    def standing(self, version: str) -> VersionStanding:
        """Whether the data can answer for ``version`` at all."""
        return self._versions.standing(version)

    def predated_by(self, version: str) -> bool:
        """Whether a release is older than all that the data list, of which the oldest lacks the argument still."""
        return self.standing(version) is VersionStanding.OLDER and self._versions.position(self.first) > 0

    def exists_in(self, version: str) -> bool | None:
        """True or False for a known release, None for one that the data do not know."""
        index = self._versions.find(version)
        return None if index is None else self._covers(index)

    def default_in(self, version: str) -> str | None:
        """Source text of the default in a release, None when the argument is absent there, required, or the release
        unknown.
        """
        index = self._versions.find(version)
        if index is None or not self._covers(index):
            return None
        text: str | None = value_at(self.defaults, self._versions, index)
        return text

    def deprecated_at(self, version: str) -> bool | None:
        """True when a known release warns about the argument, None for a release that the data do not know."""
        index = self._versions.find(version)
        if index is None:
            return None
        return self.deprecated_in is not None and self._versions.position(self.deprecated_in) <= index

    def _covers(self, index: int) -> bool:
        place = self._versions.position
        return any(place(first) <= index and (last is None or index <= place(last)) for first, last in self.spans)


@record
class TrlClass:
    """A configuration class of TRL: where it lives, and since when."""

    name: str
    spans: tuple[tuple[str, str | None], ...]
    modules: tuple[tuple[str, str], ...]  # (since release, dotted module); a class that moved has several
    exports: tuple[tuple[str, bool], ...]  # (since release, whether `from trl import NAME` is meant to work)
    bases: tuple[tuple[str, tuple[str, ...]], ...]  # (since release, names of the base classes outside TRL)
    _versions: Versions = field(default=Versions(()), repr=False, compare=False)

    def exists_in(self, version: str) -> bool | None:
        """True or False for a known TRL release, None for one that the data do not know."""
        index = self._versions.find(version)
        if index is None:
            return None
        place = self._versions.position
        return any(place(first) <= index and (last is None or index <= place(last)) for first, last in self.spans)

    def module_in(self, version: str) -> str | None:
        """Dotted module that defines the class in a release, None when it has none there or the release is unknown."""
        index = self._versions.find(version)
        if index is None or not self.exists_in(version):
            return None
        module: str | None = value_at(self.modules, self._versions, index)
        return module

    def exported_in(self, version: str) -> bool | None:
        """Whether ``from trl import NAME`` works in a release (experimental classes need their own module), None when
        unknown.
        """
        index = self._versions.find(version)
        if index is None:
            return None
        return bool(self.exists_in(version) and value_at(self.exports, self._versions, index))

    def inherits_training_arguments(self, version: str) -> bool | None:
        """Whether the class takes transformers.TrainingArguments' fields too in a release, None when not known."""
        index = self._versions.find(version)
        if index is None or not self.exists_in(version):
            return None
        return "TrainingArguments" in (value_at(self.bases, self._versions, index) or ())


@record
class TrlRelease:
    """Facts of one TRL release that checks need beside its metadata."""

    version: str
    date: date | None
    requires_python: str | None
    transformers: str | None  # specifier of the core requirement
    accelerate: str | None
    datasets: str | None
    vllm_extra: (
        str | None
    )  # specifier of the `vllm` extra (marker dropped), None without such an extra or without a bound
    deepspeed_extra: str | None
    peft_extra: str | None
    has_grpo: bool
    vllm_modes: tuple[str, ...]  # of "in-process", "server", "colocate"; empty without GRPO
    vllm_mode_default: str | None
    vllm_window: tuple[str, str] | None  # lowest and highest vLLM that TRL accepts without a warning, both inclusive
    vllm_window_strips_local: bool  # False: `0.17.1+cu129` is compared as it stands and warned about falsely
    serve: str  # what `trl vllm-serve` is: "absent", "own-v0", "own", "wrapper"
    batch_rule: str | None  # letter A to I of the divisibility rule, None without GRPO
    loss_types: tuple[str, ...]
    liger_minimum: str | None


@record
class VllmRelease:
    """Facts of one vLLM release that checks need beside its metadata."""

    version: str
    date: date | None
    requires_python: str | None
    torch: str | None  # specifier, an exact pin in every release known
    transformers: str | None
    numpy: str | None
    cuda: str | None  # CUDA that the default Linux x86-64 wheel was built with
    cuda_confidence: str | None  # "confirmed" (read in that release) or "likely" (neighbouring releases agree)
    arch_list: (
        tuple[str, ...] | None
    )  # compute capabilities compiled in, as written ("10.0+PTX"); None where nobody read it
    arch_list_confidence: str | None  # "confirmed" (read in that release) or "likely" (neighbouring releases agree)
    min_compute_capability: ComputeCapability | None
    min_compute_capability_confidence: str | None
    api_server: str | None  # vllm.entrypoints.api_server: "works", "latent" (error handler broken), "dead", "gone"
    engine: str | None  # "V0", "V1-with-V0-fallback", "V1-or-V0", "V1"
    auto_dtype_falls_back: bool | None  # dtype=auto turns a bf16 model to fp16 below compute capability 8.0
    fp8_min_compute_capability: ComputeCapability | None
    fp8_native_compute_capability: ComputeCapability | None
    sleep_level2_keeps_buffers: bool | None
    sleep_rejects_expandable_segments: bool | None
    external_launcher_asserts_seed: bool | None
    default_seed: str | None  # "None", "0", "0 under V1"


@record
class TorchRelease:
    """Facts of one torch release; the plain fields speak of the wheel that a plain `pip install torch` takes on Linux
    x86-64.
    """

    version: str
    date: date | None
    requires_python: str | None
    cuda: str | None
    cublas: str | None  # version pins of the NVIDIA wheels, None where the metadata name none directly
    cudnn: str | None
    nccl: str | None
    triton: str | None
    arch_list: tuple[str, ...] | None
    arch_list_confidence: str | None  # "confirmed", "likely", None
    variants: Mapping[str, tuple[str, ...]]  # CUDA tag ("cu126") -> arch list of that build, only those known


@record
class DeepspeedRelease:
    """Facts of one DeepSpeed release that checks need beside its metadata."""

    version: str
    cuda_minor_mismatch_ok: Mapping[str, tuple[str, ...]]  # CUDA major -> minors that may be mixed
    missing_cuda_home_error: str  # class of the exception
    import_fails_without_cuda_home: bool  # on a machine with a visible GPU
    ds_grads_remaining_bug: bool
    fp16_defaults: Mapping[str, Any]
    bf16_check_grad_overflow_default: bool | None  # None: no such key
    zero0_fp16_live_scale: str
    zero123_live_scale: str
    bf16_optimizer_has_overflow: bool
    bf16_overflow_checked_zero12: bool
    bf16_overflow_checked_zero3: bool


@record
class ConfigKey:
    """One dotted key of a YAML configuration: type and default as far as the package states them.

    veRL (YAML): ``type`` is that of the default: "bool", "int", "float", "str", "list", "dict", "interpolation"
    (``${...}``), or "null" (the default says nothing of the type). Trinity-RFT (dataclasses): ``type`` is the
    annotation, ``default`` its literal value, the source text where it is no literal, None where there is none; ``*``
    in a name stands for a list's index or a key of the user's. ``free`` is true for a mapping that takes keys of the
    user's own below it.
    """

    name: str
    type: str
    default: Any
    free: bool = False


@record
class Defect:
    """A defect of a release that shows with certain settings; words in English and Chinese.

    ``when`` maps a distribution to a version specifier, with an upper bound. Where that is `<=`, the defect was not
    mended in that release, the newest known on `open_on` (`2026-11-24`).
    ``conditions``: (key, relation, value), all of which hold; `doctor.checks.python.known_defect` says what they mean.
    ``shows``: patterns of what a person quotes or says where it has happened, one of which is enough.
    """

    id: str
    when: Mapping[str, str]
    conditions: tuple[tuple[str, str, object], ...]
    severity: str  # "error", "warning" or "info"
    what: tuple[str, str]
    why: tuple[str, str]
    fix: tuple[str, str]
    commands: tuple[str, ...]
    links: tuple[str, ...]
    open_on: str | None = None
    shows: tuple[str, ...] = ()


@record
class Idiom:
    """Code that runs and does something else than it looks like; `forms` are ways to write it.

    `doctor.base.code_patterns` says what a pattern means; what is said of an idiom stands in the catalogue (DAT3073).
    """

    id: str
    forms: tuple[CodeForm, ...]
    links: tuple[str, ...]


@record
class FrameworkKeys:
    """Names of a framework's configuration keys, wherever they stand.

    `releases` oldest first; `keys`: name -> indices of the first and the last release that has it. None for the last:
    the newest source still has it; the first may be one behind all releases.
    """

    releases: tuple[str, ...]
    keys: Mapping[str, tuple[int, int | None]]
    source: str

    def lacks(self, name: str, version: str) -> str | None:
        """How a release lacks a known name: "not yet", "gone"; None where it has it, or the release is not known."""
        if version not in self.releases or name not in self.keys:
            return None
        at, (first, last) = self.releases.index(version), self.keys[name]
        return "not yet" if at < first else "gone" if last is not None and at > last else None


@record
class KnownBad:
    """A known-bad pair or range that no package's metadata states, kept by hand with its sources.

    ``when`` maps a distribution name to a version specifier; all must hold. ``conditions`` are what must hold besides,
    in words. Both these and ``cause`` come in Chinese too.
    """

    id: str
    when: Mapping[str, str]
    conditions: tuple[str, ...]
    conditions_zh: tuple[str, ...]
    cause: str
    cause_zh: str
    fix: str
    confidence: str  # "confirmed" or "likely"
    links: tuple[str, ...]
    symptom: str | None = None  # regular expression over log text
