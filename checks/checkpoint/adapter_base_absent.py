"""Judges adapter-base-absent (CKP018), whose words stand in the TOML beside it."""

from __future__ import annotations

from pathlib import PurePath

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Where, found
from doctor.catalogue.words import words_of
from doctor.checks.checkpoint._pieces import quoted, severity, shown
from doctor.facts.checkpoints import ADAPTER, Checkpoint, Checkpoints

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def adapter_base_absent(checkpoints: Checkpoints) -> Judgement:
    """One finding a base model, at the newest adapter."""
    newest: dict[str, Checkpoint] = {}
    for each in checkpoints.found:
        if each.kind == ADAPTER and each.base:
            known = newest.get(each.base)
            newest[each.base] = each if known is None or (each.step or 0) > (known.step or 0) else known
    for base, each in newest.items():
        yield found(
            PROBLEM,
            MESSAGE,
            severity=severity(checkpoints),
            where=Where(file=str(PurePath(each.folder) / "adapter_config.json"), step=each.step),
            commands=(_merge(each),),
            evidence=(
                Observed.quoted(str(PurePath(each.folder) / "adapter_config.json"), f"base_model_name_or_path: {base}"),
            ),
            folder=shown(each.folder),
            base="/".join(PurePath(base).parts[-2:]),
        )


def _merge(each: Checkpoint) -> str:
    code = (
        "import sys; from peft import PeftModel; from transformers import AutoModelForCausalLM as M; "
        "PeftModel.from_pretrained(M.from_pretrained(sys.argv[1]), sys.argv[2])"
        ".merge_and_unload().save_pretrained(sys.argv[3])"
    )
    return f'python -c "{code}" BASE_MODEL {quoted(each.folder)} {quoted(each.folder + "-merged")}'
