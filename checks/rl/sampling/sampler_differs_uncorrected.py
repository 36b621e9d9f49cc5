"""Judges sampler-differs-uncorrected (RLX8389), whose words stand in the TOML beside it."""

from __future__ import annotations

from collections.abc import Mapping

from doctor.base.ranges import within
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.courses import PROGRAM, Courses
from doctor.catalogue.finding import LIKELY, Finding, Skip, found
from doctor.catalogue.settings import number, place_of
from doctor.catalogue.shared.trainers import argument, is_grpo, quoted, vllm_mode
from doctor.catalogue.shared.verl_settings import ACTOR, ROLLOUT, UNKNOWN, Verl, place_settings, verl_of
from doctor.catalogue.words import words_of
from doctor.facts.launch import Launch
from doctor.facts.model import Model
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.verl_config import VerlConfig

TOML = words_of(__name__)
PROBLEM = TOML.problem
QUANTISED, EXPERTS, CUT, DELAYED = TOML["quantised"], TOML["experts"], TOML["cut"], TOML["delayed"]

_CORRECTION = "algorithm.rollout_correction."
#: any of them bounds what such samples do; with `bypass_mode` the loss's own ratio is that to the sampler
#: (https://verl.readthedocs.io/en/latest/algo/rollout_corr.html)
_WEIGHTS, _REJECTION, _BYPASS = (_CORRECTION + each for each in ("rollout_is", "rollout_rs", "bypass_mode"))
_LOSS, _QUANTISATION = ACTOR + "policy_loss.loss_mode", ROLLOUT + "quantization"
#: where the mode of replay stands in one release or another, with one engine or another
_REPLAYS = tuple(ACTOR + each + "router_replay.mode" for each in ("", "megatron.", "veomni."))

#: how TRL gets its log probabilities -> first release that asks vLLM for those of what was left ("processed"); before,
#: they were those of the whole distribution (https://github.com/huggingface/trl/pull/4163, and for servers
#: https://github.com/huggingface/trl/pull/4873)
_PROCESSED_SINCE = {"colocate": "0.24.0", "server": "0.28.0"}

#: settings that cut a sampling off, with the value that cuts nothing; all do from above 0 on, top_p below 1 alone
#: (https://docs.vllm.ai/en/latest/api/vllm/sampling_params/)
_CUTS = {"top_p": "1.0", "top_k": "0", "min_p": "None"}


@check(PROBLEM)
def sampler_differs(
    packages: Packages, verl_config: VerlConfig | None, launch: Launch | None, model: Model | None,
    training: Training | None,
) -> Judgement:  # fmt: skip
    """Judge the settings of whichever of the two trains."""
    if verl_config is not None and launch is not None:
        yield from _in_verl(verl_of(verl_config, packages, launch), model)
    elif training is not None:
        yield from _cut_in_trl(training, packages)


def _in_verl(verl: Verl | tuple[Skip, ...], model: Model | None) -> Judgement:
    """Judge quantised rollouts and experts where it is sure that nothing corrects."""
    if not isinstance(verl, Verl):
        yield from verl
        return
    if _WEIGHTS not in verl.keys or not _uncorrected(verl):
        return
    precision = verl.value(_QUANTISATION)
    if isinstance(precision, str) and precision.lower() not in ("", "none", "null"):
        yield found(
            PROBLEM, QUANTISED, confidence=LIKELY, where=place_of(*place_settings(verl, _QUANTISATION)),
            evidence=verl.quoted(_QUANTISATION, _WEIGHTS), commands=(f"{_WEIGHTS}=token",), precision=precision,
        )  # fmt: skip
        return
    replays = [each for each in _REPLAYS if each in verl.keys]
    if model is None or not model.experts or not replays:
        return
    if all(str(verl.value(each)) in ("disabled", "None") for each in replays):
        yield found(
            PROBLEM, EXPERTS, confidence=LIKELY, evidence=verl.quoted(*replays, _WEIGHTS),
            commands=(f"{_WEIGHTS}=token",), experts=model.experts,
        )  # fmt: skip


def _uncorrected(verl: Verl) -> bool:
    """Whether a run learns by the ordinary loss, from samples that nothing weighs."""
    values = [verl.value(each) for each in (_WEIGHTS, _REJECTION, _BYPASS, _LOSS)]
    if any(each is UNKNOWN for each in values) or verl.is_on("trainer.val_only") is True:
        return False
    return values[:2] == [None, None] and not values[2] and values[3] == "vanilla"


def _cut_in_trl(training: Training, packages: Packages) -> Judgement:
    """Judge explicit values; no default cuts anything off."""
    version = packages.version("trl")
    if not is_grpo(training) or version is None:
        return
    since = _PROCESSED_SINCE.get(vllm_mode(training, version) or "")
    if since is None or not within(version, f">={since}"):
        return
    corrected = argument(training, "vllm_importance_sampling_correction", version)
    if corrected is None or corrected.value is not True:
        return
    for name, whole in _CUTS.items():
        setting = training.get(name)
        value = number(setting.value) if setting is not None and setting.known else None
        if setting is not None and value is not None and value > 0 and not (name == "top_p" and value >= 1):
            yield found(
                PROBLEM, CUT, confidence=LIKELY, where=place_of(setting), evidence=quoted(setting),
                commands=(f"{name}={whole}",), name=name, value=f"{value:g}",
            )  # fmt: skip
            return


#: what slime and Miles print of their arguments: any of them weighs what the other engine sampled, or is a loss of
#: sequences; https://github.com/THUDM/slime/blob/main/slime/utils/arguments.py
_SLIME = ("use_tis", "use_rollout_logprobs", "use_rollout_routing_replay")
#: NeMo-RL's, https://docs.nvidia.com/nemo/rl/latest/fp8.html; only the engine's `precision` may be fp8
_NEMO, _PRECISION = "use_importance_sampling_correction", "precision"


def of_courses(courses: Courses) -> Finding | None:
    """The same of settings that a log tells, of the trainers that print all of theirs."""
    told = courses.settings
    if all(told.get(each) is False for each in _SLIME):
        experts = courses.number("num_experts")
        if experts is not None and experts > 1 and told.get("advantage_estimator") != "gspo":
            return found(
                PROBLEM, EXPERTS, confidence=LIKELY, commands=("--use-rollout-routing-replay",), experts=int(experts)
            )
        return _quantised(told.get("sglang_quantization"), "--use-tis")
    if told.get(_NEMO) is False:
        named = (value for name, value in told.items() if name.rpartition(".")[2] == _PRECISION)
        every = (_quantised(each, f"loss_fn.{_NEMO}=true") for each in named)
        return next((each for each in every if each is not None), None)
    return _of_programs(told)


#: samplings that are cut off beside a ratio to what the engine gives, program -> what switches such a ratio on (None:
#: it is always so, the only ratio of TRL's asynchronous trainer); https://github.com/modelscope/ms-swift/pull/8442,
#: https://github.com/huggingface/trl/issues/6945, https://verl.readthedocs.io/en/latest/algo/rollout_corr.html
_RATIOS = {"swift rlhf": "rollout_importance_sampling_mode", "AsyncGRPOConfig": None, "verl.": "rollout_is"}
#: programs that sample while they train -> settings of which any weighs what is old by then, as `_SLIME`
#: https://github.com/radixark/miles/pull/1829 and https://github.com/THUDM/slime/blob/main/slime/utils/arguments.py
_DELAYED = {"train_async.py": ("use_tis", "use_rollout_logprobs", "keep_old_actor", "custom_tis_function_path")}
_OFF = (None, False, "none", "null", "None")
#: veRL's settings of which any bounds what a rollout in another precision does, as `_uncorrected`; the last is of
#: releases before 0.6 (https://github.com/verl-project/verl/pull/2953)
_VERL = ("rollout_is", "rollout_rs", "bypass_mode", "tis_imp_ratio_cap")


def _of_programs(told: Mapping[str, object]) -> Finding | None:
    """What the settings of a command or a class say, where only these are there."""
    programs = str(told.get(PROGRAM, ""))
    for name, corrections in _DELAYED.items():
        if name in programs and all(told.get(each) in _OFF for each in corrections):
            return found(PROBLEM, DELAYED, confidence=LIKELY, commands=("--use-tis",), program=name)
    for name, switch in _RATIOS.items():
        if name in programs and (switch is None or told.get(switch) not in _OFF):
            for setting, whole in _CUTS.items():
                value = number(told.get(setting))
                if value is not None and value > 0 and not (setting == "top_p" and value >= 1):
                    return found(
                        PROBLEM, CUT, confidence=LIKELY, commands=(f"{setting}={whole}",), name=setting,
                        value=f"{value:g}",
                    )  # fmt: skip
    return _quantised_in_verl(told) if "verl." in programs else None


def _quantised_in_verl(told: Mapping[str, object]) -> Finding | None:
    """What a command of veRL's says; where it does not name a correction, there is none."""
    bounded = any(told.get(each) not in (*_OFF, -1) for each in _VERL)
    if bounded or told.get("loss_mode", "vanilla") != "vanilla":
        return None
    return _quantised(told.get("quantization"), f"{_WEIGHTS}=token")


def _quantised(precision: object, command: str) -> Finding | None:
    """Rollouts in a precision of eight bits or fewer."""
    if not isinstance(precision, str) or not precision.lower().startswith(("fp8", "mxfp8", "fp4", "nvfp4", "int8")):
        return None
    return found(PROBLEM, QUANTISED, confidence=LIKELY, commands=(command,), precision=precision)
