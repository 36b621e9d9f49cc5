"""Judges accelerate-config-file-beside-fields (ACC001), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, Finding, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.proofs import options_are_plain, proof, proofs, unread_config, written
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.launch import Launch
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
LOG_MESSAGE = TOML["log"]


#: what accelerate's DeepSpeedPlugin compares with ACCELERATE_CONFIG_DS_FIELDS
FIELDS = (
    "gradient_accumulation_steps", "gradient_clipping", "zero_stage", "offload_optimizer_device",
    "offload_param_device", "offload_param_nvme_path", "offload_optimizer_nvme_path", "zero3_save_16bit_model",
)  # fmt: skip


@check(PROBLEM)
def config_file_beside_fields(
    launch: Launch, accelerate: AccelerateConfig | None, training: Training | None
) -> Judgement:
    """The JSON of the YAML or of the training arguments, both go through the same test of accelerate."""
    if accelerate is None:
        yield from unread_config(launch)
        return
    settings = accelerate.settings
    kind = settings.get("distributed_type")
    if launch.kind not in {"accelerate", "trl"} or kind is None or kind.value != "DEEPSPEED":
        return
    file = settings.get("deepspeed_config.deepspeed_config_file") or launch.option("deepspeed_config_file")
    if file is None and training is not None:
        file = training.get("deepspeed")
    if file is None or file.value in {None, "none", ""}:
        return
    beside = [settings[name] for name in (f"deepspeed_config.{each}" for each in FIELDS) if name in settings]
    precision = settings.get("mixed_precision")
    plain = options_are_plain(launch) and launch.option("mixed_precision") is None
    if precision is not None and precision.known and precision.value is not None and plain:
        beside.append(precision)
    if beside:
        names = ", ".join(f"`{each.name.removeprefix('deepspeed_config.')}`" for each in beside)
        yield found(
            PROBLEM,
            MESSAGE,
            fields=names,
            place=written(file),
            where=place_of(*beside),
            evidence=(*proofs(*beside), proof(file)),
        )


def explain(hits: Hits) -> Finding:
    """With the fields that the exception names, as far as its first line goes."""
    names = [each.strip().strip("'\"") for each in (hits.get("fields") or "").split(",")]
    fields = ", ".join(f"`{each}`" for each in names if each)
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED, fields=fields
    )
