"""Judges best-model-strategies-differ (TRF010), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Skip, found
from doctor.catalogue.settings import place_of, truth, whole
from doctor.catalogue.shared.trainers import argument, quoted
from doctor.catalogue.words import words_of
from doctor.facts.packages import Packages
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
STRATEGIES = TOML["strategies"]
STEPS = TOML["steps"]


NAMES = ("eval_strategy", "save_strategy", "eval_steps", "save_steps")


def _alike(training: Training, evaluated: str, saved: str) -> str:
    """What makes the two alike; without a dataset to evaluate on there is no best model to be found."""
    if evaluated != "no":
        return f'save_strategy="{evaluated}"'
    return (
        f'eval_strategy="{saved}"' if "eval_dataset" in training.trainer_arguments else "load_best_model_at_end=False"
    )


@check(PROBLEM)
def best_model_strategies(training: Training, packages: Packages) -> Judgement:
    """Compute the rule with explicit values and defaults that never changed."""
    switch = training.get("load_best_model_at_end")
    if switch is None or not truth(switch.value) or training.get("evaluation_strategy"):
        return  # the old name of `eval_strategy` is another problem, and says what is meant here
    values = {name: argument(training, name, packages.version("trl")) for name in NAMES}
    if any(values[name] is None for name in ("eval_strategy", "save_strategy")):
        yield Skip("`eval_strategy` or `save_strategy` could not be read without running the script")
        return
    strategies = [str(value.value) for name in ("eval_strategy", "save_strategy") if (value := values[name])]
    settings = [training.get(name) for name in NAMES]
    if strategies[1] == "best":
        return
    if strategies[0] != strategies[1]:
        yield found(
            PROBLEM,
            STRATEGIES,
            where=place_of(switch, *settings),
            evidence=quoted(switch, *settings),
            commands=(_alike(training, *strategies),),
            eval=strategies[0],
            save=strategies[1],
        )
        return
    every, saved = whole(training.value("eval_steps")), values["save_steps"]
    interval = whole(saved.value) if saved else None
    if strategies[0] == "steps" and every and interval and interval % every:
        yield found(
            PROBLEM,
            STEPS,
            where=place_of(training.get("save_steps"), training.get("eval_steps"), switch),
            evidence=quoted(switch, *settings),
            commands=(f"save_steps={max(1, round(interval / every)) * every}",),
            eval=every,
            save=interval,
        )
