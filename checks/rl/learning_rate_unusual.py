"""Judges learning-rate-unusual (RLX001), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor import data
from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.courses import Courses
from doctor.catalogue.finding import LIKELY, Finding, Skip, Where, found
from doctor.catalogue.problem import INFO, WARNING
from doctor.catalogue.settings import number, place_of
from doctor.catalogue.shared.trainers import is_grpo, quoted
from doctor.catalogue.words import words_of
from doctor.facts.model import Model
from doctor.facts.packages import Packages
from doctor.facts.script import Script
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
FULL = TOML["full"]
LORA = TOML["lora"]
ABOVE = TOML["above"]
STILL = TOML["still"]
FAR_AWAY = TOML["far"]


#: OpenRLHF's examples, and Open-R1's recipes/Qwen2.5-1.5B-Instruct/grpo/config_demo.yaml
FULL_RANGE = (5e-7, 2e-5)

#: the smallest and the greatest rate of TRL's guide "LoRA without regret"
LORA_RANGE = (1e-6, 5e-5)

#: TRL's default, and ten times that for LoRA as its guide has it; a hundred times as much is no choice of a method
FULL_USUAL, LORA_USUAL = 1e-6, 1e-5
FAR = 100

#: the smallest model of GPT-3's table has 125 million parameters, and rates 10 times those of its largest one
#: (https://arxiv.org/abs/2005.14165, table 2.1); the rates above are of models of half a billion and more
TINY = 100_000_000

#: packages that put adapters on a model
ADAPTERS = {"peft", "unsloth"}


@check(PROBLEM)
def learning_rate_unusual(training: Training, script: Script | None, model: Model | None) -> Judgement:
    """Judge an explicit rate by method; an adapter can come from elsewhere than `LoraConfig`."""
    setting = training.get("learning_rate")
    if not is_grpo(training) or setting is None or _is_tiny(model):
        return
    rate = number(setting.value) if setting.known else None
    if rate is None:
        yield Skip("`learning_rate` could not be read without running the script")
        return
    brings_adapter = script is not None and any(each.split(".")[0] in ADAPTERS for each in script.imports)
    adapter = training.lora is not None or brings_adapter
    low, high = LORA_RANGE if adapter else FULL_RANGE
    if not low <= rate <= high:
        yield found(
            PROBLEM,
            LORA if adapter else FULL,
            where=place_of(setting),
            evidence=quoted(setting),
            severity=WARNING if rate >= FAR * (LORA_USUAL if adapter else FULL_USUAL) else INFO,
            rate=f"{rate:g}",
        )


@check(PROBLEM)
def learning_rate_far_from_the_method(
    training: Training, packages: Packages | None, script: Script | None, model: Model | None
) -> Judgement:
    """Of TRL's other methods: a hundred times what the installed release takes by itself, of adapters a thousand."""
    setting, version = training.get("learning_rate"), packages.version("trl") if packages is not None else None
    history = data.trl_argument(training.config_class or "", "learning_rate")
    if is_grpo(training) or setting is None or not setting.known or history is None or version is None:
        return
    if _is_tiny(model):
        return
    rate, usual = number(setting.value), number(history.default_in(version))
    brings_adapter = script is not None and any(each.split(".")[0] in ADAPTERS for each in script.imports)
    times = FAR * 10 if training.lora is not None or brings_adapter else FAR
    if rate is None or not usual or rate < times * usual:
        return
    yield found(
        PROBLEM, FAR_AWAY, where=place_of(setting), severity=WARNING, confidence=LIKELY, rate=f"{rate:g}",
        usual=f"{usual:g}", times=f"{rate / usual:.0f}", owner=training.config_class,
        commands=(f"learning_rate={usual:g}",),
        evidence=(*quoted(setting), Observed.quoted(_told_by(packages), f"trl {version}: {usual:g}")),
    )  # fmt: skip


def _is_tiny(model: Model | None) -> bool:
    """Whether a model is so small that greater rates are right for it: usual ones fall with the size."""
    return model is not None and model.parameters is not None and model.parameters < TINY


def _told_by(packages: Packages | None) -> str:
    return packages.told_by if packages is not None else "packages"


#: what a rate is set by, the optimizer that is logged first
_SET_BY = ("learning_rate", "actor_rollout_ref.actor.optim.lr", "actor_learning_rate", "optimizer.params.lr", "lr")
#: settings by which a rate is meant to be another one: scaled by ranks or batch, or several groups of parameters
_MEANT = (
    "scale_lr",
    "loraplus_lr_ratio",
    "embedding_learning_rate",
    "lr_scale",
    "auto_scale_lr",
    "vit_lr",
    "aligner_lr",
)

#: a schedule goes up to the rate that was set and down from it; printing rounds to four digits at worst
ABOVE_SET = 1.2


#: settings by which an adapter is trained; nats that a policy is away from its reference after some steps at a rate
#: that moves it (GRPO's reports have 0.01 and more), and rows that say so
_LORA = ("lora_r", "lora_rank", "lora_alpha", "actor_rollout_ref.model.lora_rank", "model.lora_rank")
UNMOVED, ROWS = 1e-3, 3


def of_courses(courses: Courses) -> Finding | None:
    """A rate that runs above the one that was set, or one that leaves an adapter where it was."""
    return _above(courses) or _adapter_stands(courses)


def _adapter_stands(courses: Courses) -> Finding | None:
    """An adapter at a rate below all that are in use, whose KL and reward stand, while its gradients live."""
    rate, kl, norm = (courses.of.get(name) for name in ("learning_rate", "kl", "grad_norm"))
    reward, size = courses.of.get("reward"), courses.number(*_LORA)
    if rate is None or kl is None or norm is None or reward is None or not size or min(rate.count, kl.count) < ROWS:
        return None
    if not 0 < rate.high < LORA_RANGE[0] or not (kl.low >= 0 and kl.high < UNMOVED and norm.low > 0):
        return None
    return found(
        PROBLEM, STILL, confidence=LIKELY, severity=WARNING, where=Where(file=rate.source, step=rate.last_step),
        rate=f"{rate.high:.2g}", kl=f"{kl.high:.1g}", commands=("learning_rate=1e-5",),
    )  # fmt: skip


def _above(courses: Courses) -> Finding | None:
    """A rate that runs above the one that was set: another place has the word."""
    rate = courses.of.get("learning_rate")
    asked = next(((each, value) for each in _SET_BY if (value := courses.number(each)) is not None), None)
    if rate is None or asked is None or any(each in courses.settings for each in _MEANT):
        return None
    name, value = asked
    if not 0 < value * ABOVE_SET < rate.high:
        return None
    return found(
        PROBLEM, ABOVE, confidence=LIKELY, severity=WARNING, where=Where(file=rate.source, step=rate.last_step),
        name=name, asked=f"{value:.3g}", runs=f"{rate.high:.3g}", times=f"{rate.high / value:.2g}",
        scheduler=str(courses.settings.get("scheduler.type") or courses.settings.get("lr_scheduler_type") or ""),
    )  # fmt: skip
