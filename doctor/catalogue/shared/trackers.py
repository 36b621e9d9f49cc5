"""What the checks of experiment trackers share: which ones the run will report to, and what each needs installed."""

from __future__ import annotations

from collections.abc import Mapping

from doctor.base.evidence import Observed
from doctor.catalogue.finding import Where
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.trinity_config import TrinityConfig
from doctor.facts.verl_config import VerlConfig

#: name in `report_to` -> distributions, one of which must be there
#: (https://github.com/huggingface/transformers/blob/v5.23.0/src/transformers/integrations/integration_utils.py)
NEEDS: Mapping[str, tuple[str, ...]] = {
    "azure_ml": ("azureml-core",),
    "clearml": ("clearml",),
    "codecarbon": ("codecarbon",),
    "comet_ml": ("comet-ml",),
    "dagshub": ("dagshub",),
    "dvclive": ("dvclive",),
    "flyte": ("flytekit",),
    "mlflow": ("mlflow", "mlflow-skinny"),
    "neptune": ("neptune", "neptune-client"),
    "swanlab": ("swanlab",),
    "tensorboard": ("tensorboard", "tensorboardx", "tb-nightly"),
    "trackio": ("trackio",),
    "wandb": ("wandb",),
}
#: name in veRL's `trainer.logger` -> the same
#: (https://github.com/verl-project/verl/blob/main/verl/utils/tracking.py)
VERL_NEEDS: Mapping[str, tuple[str, ...]] = {
    "clearml": ("clearml",),
    "mlflow": ("mlflow", "mlflow-skinny"),
    "swanlab": ("swanlab",),
    "tensorboard": ("tensorboard", "tb-nightly"),
    "trackio": ("trackio",),
    "tracking": ("wandb",),
    "wandb": ("wandb",),
}


def words_of(value: object) -> tuple[str, ...]:
    """A name or a list of names."""
    if isinstance(value, str):
        return (value,)
    return tuple(str(each) for each in value) if isinstance(value, (list, tuple)) else ()


def chosen(training: Training) -> tuple[str, ...]:
    """Trackers that `report_to` names; none for a default, for "all" and for "none"."""
    setting = training.get("report_to")
    names = words_of(setting.value) if setting is not None and setting.known else ()
    return tuple(name for name in names if name not in {"all", "none", "None", ""})


def takes_all(training: Training, packages: Packages) -> bool:
    """Whether the run reports to every tracker that is installed: "all", and the default before Transformers 5."""
    setting = training.get("report_to")
    if setting is not None and (not setting.known or setting.value is not None):
        return setting.known and words_of(setting.value) == ("all",)
    if setting is None and (not training.complete or training.config_class is None):
        return False
    return packages.matches("transformers", "<5.0.0") is True


def verl_loggers(verl: VerlConfig, packages: Packages) -> tuple[tuple[str, ...], Observed | None]:
    """Loggers of a veRL run and the setting that names them, None for veRL's default."""
    setting = verl.get("trainer.logger")
    if setting is not None:
        return (words_of(setting.value) if setting.known else ()), setting
    version = packages.version("verl")
    if version is None:
        return (), None
    from doctor import data

    keys = data.verl_keys(version)
    default = keys.get("trainer.logger") if keys else None
    return (words_of(default.default) if default is not None else ()), None


def monitor(trinity: TrinityConfig) -> Observed | None:
    """Trinity-RFT's tracker, None where its default holds."""
    return trinity.settings.get("monitor.monitor_type")


def place(setting: Observed | None) -> Where | None:
    """Place of a setting in a file."""
    at = setting.place if setting is not None else None
    return Where(at.file, at.line, at.column) if at is not None else None


def quoted(setting: Observed | None) -> tuple[Observed, ...]:
    """The setting as it is written."""
    if setting is None:
        return ()
    text = setting.text or f"{setting.name}={setting.value}"
    at = setting.place
    return (Observed.quoted(at.file, text, at.line),) if at is not None else (Observed.quoted("launch command", text),)
