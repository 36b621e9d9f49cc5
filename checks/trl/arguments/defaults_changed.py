"""Judges grpo-defaults-changed (TRL034), whose words stand in the TOML beside it."""

from __future__ import annotations

from itertools import pairwise

from doctor import data
from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Skip, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.trainers import argument, config_place, installed, is_grpo, listing
from doctor.catalogue.words import words_of
from doctor.facts.packages import Packages
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


#: arguments whose default decides what is trained
NAMES = (
    "beta", "loss_type", "max_completion_length", "max_prompt_length", "ref_model_mixup_alpha", "ref_model_sync_steps",
    "temperature", "top_k", "use_bias_correction_kl", "vllm_gpu_memory_utilization", "vllm_importance_sampling_cap",
    "vllm_mode",
)  # fmt: skip

#: changes of spelling that mean the same
SAME = {("None", "0"), ("3.0", "None")}

#: prefix of an argument -> what must be on for it to take effect
SWITCHES = {"vllm_": "use_vllm", "ref_model_": "sync_ref_model", "use_bias_correction_kl": "beta"}


def _changed(history: data.ArgumentHistory, version: str) -> tuple[str, str] | None:
    """Return (old, new) where the default changed in the same minor series."""
    series = version.split(".")[:2]
    for (_, old), (since, new) in pairwise(history.defaults):
        if since.split(".")[:2] == series and history.default_in(version) == new and (old, new) not in SAME:
            return str(old), str(new)
    return None


def _matters(training: Training, name: str, version: str) -> bool:
    """Tell whether an argument takes effect: those of vLLM or a reference model do only with them."""
    switch = next((each for prefix, each in SWITCHES.items() if name.startswith(prefix)), None)
    value = argument(training, switch, version) if switch else None
    return switch is None or (value is not None and bool(value.value))


@check(PROBLEM)
def defaults_changed(training: Training, packages: Packages) -> Judgement:
    """List the changes of the installed minor release in one finding."""
    if not is_grpo(training):
        return
    version = installed(packages, "trl")
    if not training.complete:
        yield Skip("not all arguments could be read without running the script")
        return
    changes = {}
    for name in NAMES:
        history = data.trl_argument("GRPOConfig", name)
        change = _changed(history, version) if history is not None and training.get(name) is None else None
        if change and _matters(training, name, version):
            changes[name] = change
    if changes:
        yield found(
            PROBLEM,
            MESSAGE,
            where=place_of(otherwise=config_place(training)),
            evidence=tuple(Observed.quoted("TRL", f"{name}: {old} -> {new}") for name, (old, new) in changes.items()),
            commands=tuple(f"{name}={new}" for name, (_, new) in changes.items()),
            changes=listing(changes),
            series=".".join(version.split(".")[:2]),
        )
