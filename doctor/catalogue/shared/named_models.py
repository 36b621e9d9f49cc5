"""What the checks of the hub share: the model that the command names, and whether it is a repository's name."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.base.patterns import later
from doctor.facts.model import Model
from doctor.facts.serving import Serving
from doctor.facts.training import Training
from doctor.facts.trinity_config import TrinityConfig
from doctor.facts.verl_config import VerlConfig

#: letters, digits, "-", "_", ".", at most one "/" (huggingface_hub/utils/_validators.py)
_REPOSITORY = later(r"[A-Za-z0-9][\w.-]{0,95}(/[\w.-]{1,96})?")
_TRUE = frozenset({"1", "ON", "YES", "TRUE"})


def named_model(
    training: Training | None, serving: Serving | None, verl: VerlConfig | None, trinity: TrinityConfig | None
) -> Observed | None:
    """The model as the command or its files write it, None where it cannot be told."""
    found: Observed | None = None
    if training is not None and training.model is not None:
        found = training.model
    elif serving is not None and serving.model:
        found = serving.arguments.get("model") or serving.arguments.get("model_tag")
        found = found or Observed.written("model", serving.model, text=serving.model)
    elif verl is not None:
        found = verl.get("actor_rollout_ref.model.path")
    elif trinity is not None:
        found = trinity.settings.get("model.model_path")
    if found is None or not found.known or not isinstance(found.value, str) or not found.value.strip():
        return None
    return found


def on_machine(model: Model | None) -> bool:
    """Whether the model's files are here; of a well-known one that is not, the facts hold what others state of it."""
    return model is not None and model.here


def is_repository(name: str) -> bool:
    """Whether a name can only be a repository of the hub or a folder beside the script: `Qwen/Qwen2.5-7B`."""
    return bool(_REPOSITORY.fullmatch(name)) and ".." not in name and not name.endswith((".gguf", ".git"))


def missing_repository(
    model: Model | None, training: Training | None, serving: Serving | None, verl: VerlConfig | None,
    trinity: TrinityConfig | None,
) -> Observed | None:  # fmt: skip
    """The repository that the command names and that has to be downloaded; None where its files are here."""
    if on_machine(model):
        return None
    named = named_model(training, serving, verl, trinity)
    return named if named is not None and is_repository(str(named.value)) else None


def means_yes(value: object) -> bool:
    """Read a switch as huggingface_hub does (constants.py)."""
    return str(value or "").upper() in _TRUE


def quoted(setting: Observed) -> Observed:
    """The setting as it is written."""
    text = setting.text or str(setting.value)
    if setting.place is None:
        return Observed.quoted("launch command", text)
    return Observed.quoted(setting.place.file, text, setting.place.line)
