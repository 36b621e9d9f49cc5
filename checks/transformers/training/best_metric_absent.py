"""Judges best-metric-absent (TRF013), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, found
from doctor.catalogue.settings import place_of, truth
from doctor.catalogue.shared.trainers import quoted
from doctor.catalogue.words import words_of
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
UNMADE = TOML["unmade"]

#: trainers whose evaluation gives a loss, its speed and a few figures of their own, which are none of the names below
#: (https://github.com/huggingface/transformers/blob/v4.57.1/src/transformers/trainer.py, `evaluation_loop`)
TRAINERS = ("Trainer", "SFTTrainer", "GRPOTrainer", "DPOTrainer", "RLOOTrainer")
#: names that only a `compute_metrics` gives
MADE_BY_THE_USER = frozenset({
    "accuracy", "acc", "f1", "precision", "recall", "bleu", "rouge", "rouge1", "rouge2", "rougeL", "perplexity", "wer",
    "cer", "exact_match", "em", "mcc", "auc", "bertscore", "meteor",
})  # fmt: skip


@check(PROBLEM)
def best_metric_absent(training: Training) -> Judgement:
    """Judge a call whose keywords are all seen; a class of the user's may compute metrics itself."""
    best, name = training.get("load_best_model_at_end"), training.get("metric_for_best_model")
    if best is None or not truth(best.value) or name is None or not isinstance(name.value, str):
        return
    own = training.trainer_origin.rpartition(".")[2] not in TRAINERS
    if own or not training.trainer_arguments or not training.complete:
        return
    metric = name.value.removeprefix("eval_")
    given = training.trainer_arguments.get("compute_metrics")
    if metric not in MADE_BY_THE_USER or (given is not None and not (given.known and given.value is None)):
        return
    yield found(
        PROBLEM, UNMADE, where=place_of(name), evidence=quoted(best, name, given), confidence=LIKELY, metric=name.value,
        trainer=training.trainer or "Trainer", commands=('metric_for_best_model="eval_loss"',),
    )  # fmt: skip
