"""Judges assistant-tokens-not-marked (DAT033), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, found
from doctor.catalogue.settings import place_of, truth
from doctor.catalogue.shared.trainers import quoted
from doctor.catalogue.words import words_of
from doctor.facts.model import Model
from doctor.facts.packages import Packages
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
#: later releases bring training templates of their own for well-known models
#: (https://github.com/huggingface/trl/tree/main/trl/chat_templates)
WITHOUT_TEMPLATES = "<=0.29"


@check(PROBLEM)
def template_marks_nothing(training: Training, model: Model, packages: Packages) -> Judgement:
    """The template in the model's folder; the script may hand over another tokenizer."""
    setting = training.get("assistant_only_loss")
    if setting is None or not setting.known or not truth(setting.value) or model.marks_assistant is not False:
        return
    if not packages.matches("trl", WITHOUT_TEMPLATES) or "processing_class" in training.trainer_arguments:
        return
    evidence = Observed.quoted(f"{model.folder}/tokenizer_config.json", "chat_template without `generation`")
    yield found(PROBLEM, TOML["log"], where=place_of(setting), confidence=LIKELY, evidence=(*quoted(setting), evidence))
