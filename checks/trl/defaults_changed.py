"""Defaults that this release of TRL changed and that the run relies on.

## What it means
TRL changes defaults of GRPOConfig between releases (`temperature` and `top_k` in 0.18, `beta` in 0.19,
`loss_type` in 0.22, `max_completion_length` in 1.10 ...). A script that does not set them trains
differently after an upgrade.
## What it does to a run
Nothing fails. Results are not comparable with those of the same script under an earlier release.
## What to do
Write the values that you want into the configuration.
## How it is found
Arguments that nobody set, whose default changed in the installed minor release of TRL, and that take effect
in this run.
## References
https://github.com/huggingface/trl/releases
https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/grpo_config.py
"""

from __future__ import annotations

from itertools import pairwise

from doctor import data
from doctor.checks.trl._helpers import argument, config_place, installed, is_grpo, listing
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Skip, Words, found
from doctor.core.problem import INFO, Problem
from doctor.core.reading import place_of
from doctor.facts.packages import Packages
from doctor.facts.training import Training

PROBLEM = Problem(id="TRL034", name="grpo-defaults-changed", severity=INFO, since="0.1", affects={"trl": ">=0.15"})

MESSAGE = Message(
    en=Words(
        "TRL {series} changed defaults that nobody sets here: {changes}",
        "The same script trains differently than under an earlier TRL. Nothing is wrong if the new values are meant.",
        "Write down the values that are meant, so that an upgrade no longer changes the run.",
    ),
    zh=Words(
        "TRL {series} 更改了此处未设置的默认值:{changes}",
        "同一脚本的训练行为与更早的 TRL 不同。如果新值正合本意,则没有问题。",
        "把想要的值写明,使升级不再改变训练。",
    ),
)

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
            evidence=tuple(Evidence("TRL", f"{name}: {old} -> {new}") for name, (old, new) in changes.items()),
            commands=tuple(f"{name}={new}" for name, (_, new) in changes.items()),
            changes=listing(changes),
            series=".".join(version.split(".")[:2]),
        )
