"""An argument of GRPO has a value that TRL does not know.

## What it means
Some arguments take one of a few words, and TRL checks several of them late: when the trainer is built, or
at the first loss.
## What it does to a run
TRL raises ValueError, sometimes after a whole batch was generated.
## What to do
Write one of the words that the installed release knows.
## How it is found
Before launch, by the words that the installed TRL lists in its own refusal. In a log: by TRL's own exception.
## References
https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/grpo_config.py
https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/grpo_trainer.py
"""

from __future__ import annotations

from doctor.checks.trl._helpers import certainty, is_grpo, quoted
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of, truth
from doctor.core.signature import Hits, Signature
from doctor.facts.choices import Choices
from doctor.facts.training import Training

PROBLEM = Problem(id="TRL036", name="grpo-value-refused", severity=ERROR, since="0.1", affects={"trl": ">=0.20"})

SIGNATURES = (
    Signature(
        r"ValueError: (?P<mode>vllm_mode) must be either 'server' or 'colocate', got"
        r" '(?P<value>[^'\n]{0,60})'",
    ),
    Signature(
        r"ValueError: Invalid value for (?P<name>scale_rewards): (?P<value>[^\s]{1,40})\. Must be one of",
    ),
    Signature(
        r"ValueError: Unknown (?P<level>importance sampling level): (?P<value>[^\s]{1,40})\. Possible"
        r" values",
    ),
    Signature(
        r"ValueError: Unknown (?P<vllm_level>vLLM importance sampling level):"
        r" (?P<value>[^\s]{1,40})\. Possible values",
    ),
    Signature(r"ValueError: Invalid (?P<name>multi_objective_aggregation): (?P<value>[^\s]{1,40})\. Must be"),
)

LOG_MESSAGE = Message(
    en=Words(
        "`{name}` is `{value}`, which TRL does not know",
        "Only {known} can be chosen; newer releases may know more.",
        "Write `{name}` as one of {known}, or upgrade TRL if the value comes from the documentation of a "
        "newer release: `pip install -U trl`.",
    ),
    zh=Words(
        "`{name}` 的值为 `{value}`,TRL 不认识",
        "只能选择 {known};更新的版本可能支持更多。",
        "把 `{name}` 写成 {known} 之一;若该值来自更新版本的文档,升级 TRL:`pip install -U trl`。",
    ),
)

#: https://github.com/huggingface/trl/issues/3885
OWN = Message(
    en=Words(
        "TRL refuses `{name}={value!r}` although it is one of the values that it takes",
        "The value is right and the release is not: between 0.21 and 0.22 TRL's own branch for `server` was taken by "
        "the first process only, and all others raised.",
        "Install a release in place of the state of git: `pip install -U 'trl>=0.22'`. Until then start one training "
        'process, or use `vllm_mode="colocate"`.',
    ),
    zh=Words(
        "TRL 拒绝 `{name}={value!r}`,尽管它是允许的值",
        "值是正确的,问题在于版本:在 0.21 与 0.22 之间,TRL 的 `server` 分支只有第一个进程会进入,其余进程都会抛出异常。",
        "安装正式版代替 git 版本:`pip install -U 'trl>=0.22'`。在此之前只启动一个训练进程,或使用 "
        '`vllm_mode="colocate"`。',
    ),
)

#: argument -> words that TRL takes (grpo_trainer.py and vllm_generation.py of 1.16.0)
_KNOWN = {
    "vllm_mode": ("colocate", "server"),
    "scale_rewards": ("batch", "group", "none"),
    "importance_sampling_level": ("token", "sequence"),
    "vllm_importance_sampling_mode": ("token_truncate", "token_mask", "sequence_truncate", "sequence_mask"),
    "multi_objective_aggregation": ("sum_then_normalize", "normalize_then_sum"),
}


#: looked at only where vLLM generates
_OF_VLLM = {"vllm_mode", "vllm_importance_sampling_mode"}


@check(PROBLEM)
def value_refused(training: Training, choices: Choices) -> Judgement:
    """Judge explicit words; truth values are other spellings of some of them."""
    if not is_grpo(training):
        return
    for name in _KNOWN:
        setting, words = training.get(name), choices.of(f"trl.{name}")
        if setting is None or not setting.known or not isinstance(setting.value, str) or not words:
            continue
        if setting.value in words or "$" in setting.value or truth(setting.value) is not None:
            continue
        if name in _OF_VLLM and truth(training.value("use_vllm")) is not True:
            continue
        known = ", ".join(f'`"{word}"`' for word in words)
        yield found(
            PROBLEM, LOG_MESSAGE, where=place_of(setting), evidence=quoted(setting), confidence=certainty(training),
            commands=tuple(f'{name}="{word}"' for word in words), name=name, value=setting.value, known=known,
        )  # fmt: skip


def explain(hits: Hits) -> Finding | None:
    """Name the argument and its words."""
    name = hits.get("mode") or hits.get("name")
    if name is None:
        name = "vllm_importance_sampling_mode" if hits.get("vllm_level") else "importance_sampling_level"
    known = ", ".join(f'`"{word}"`' for word in _KNOWN[name])
    where, evidence, value = hits.where(), hits.evidence(), hits.get("value")
    if value in _KNOWN[name]:
        return found(PROBLEM, OWN, where=where, evidence=evidence, confidence=LIKELY, name=name, value=value)
    return found(PROBLEM, LOG_MESSAGE, where=where, evidence=evidence, name=name, value=value, known=known)
