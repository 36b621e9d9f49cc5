"""Judges TRF0073/tokenizer_class, a row of file-of-newer-release; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Finding, Where, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.model import Model
from doctor.facts.packages import Packages

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
NEWER = TOML["newer"]

#: what Transformers 5 writes in the place of a class of its own
#: (https://github.com/huggingface/transformers/blob/v5.0.0/src/transformers/tokenization_utils_tokenizers.py)
OF_FIVE = ("TokenizersBackend", "SentencePieceBackend", "PythonBackend")


@check(PROBLEM)
def tokenizer_of_five(model: Model, packages: Packages) -> Judgement:
    """Only what Transformers 5 wrote: a repository may bring any other class itself."""
    if model.tokenizer_class not in OF_FIVE or not packages.matches("transformers", "<5"):
        return
    file = f"{model.folder}/tokenizer_config.json"
    yield found(
        PROBLEM, NEWER, where=Where(file=file), name=model.tokenizer_class,
        version=f" {packages.version('transformers')}", commands=("pip install -U transformers",),
        evidence=(Observed.quoted(file, f"tokenizer_class: {model.tokenizer_class}"),),
    )  # fmt: skip


def explain(hits: Hits) -> Finding | None:
    """`TokenizersBackend` tells who wrote it."""
    name, installed = hits.get("name") or "", hits.versions.get("transformers")
    message = NEWER if name in OF_FIVE else LOG_MESSAGE
    version = f" {installed}" if installed else " 4" if message is NEWER else ""
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), name=name, version=version)
