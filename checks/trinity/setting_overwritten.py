"""Judges trinity-setting-overwritten (TRI6251), whose words stand in the TOML beside it."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.proofs import proofs
from doctor.catalogue.shared.trinity_settings import UNKNOWN, Trinity, trinity_of
from doctor.catalogue.words import words_of
from doctor.facts.packages import Packages
from doctor.facts.trinity_config import TrinityConfig

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE, UNSAID = TOML["main"], TOML["unsaid"]

_INSIDE = "trainer.trainer_config."
_BATCH = "buffer.train_batch_size"
#: key of veRL's configuration -> key of Trinity-RFT whose value is written there in any case, and the releases in which
#: it is (`synchronize_config`): https://github.com/modelscope/Trinity-RFT/blob/v0.4.1/trinity/common/verl_config.py
_MERGED = {
    "trainer.sync_freq": "synchronizer.sync_interval",
    "trainer.save_freq": "trainer.save_interval",
    "trainer.project_name": "project",
    "trainer.experiment_name": "name",
    "data.train_batch_size": _BATCH,
    "critic.model.path": "model.critic_model_path",
    "critic.ppo_mini_batch_size": _BATCH,
}
#: the same, of the actor, whose configuration Trinity-RFT 0.5 began to make anew
_ACTOR = {
    "actor_rollout_ref.model.path": "model.model_path",
    "actor_rollout_ref.actor.ppo_mini_batch_size": _BATCH,
    "actor_rollout_ref.rollout.n": "algorithm.repeat_times",
}
#: up to 0.2.0 the batch was another key
_BATCH_BEFORE = "buffer.batch_size"


def _written(trinity: Trinity) -> Iterator[tuple[str, Observed]]:
    """VeRL's settings as the user wrote them, in the file itself or in the one that it names."""
    for key, setting in trinity.config.settings.items():
        if key.startswith(_INSIDE):
            yield key.removeprefix(_INSIDE), setting
    yield from trinity.config.trainer_config.items()


@check(PROBLEM)
def setting_overwritten(trinity_config: TrinityConfig, packages: Packages) -> Judgement:
    """A value that agrees with what replaces it harms nobody; a default that is 0 or empty is filled in later."""
    trinity = trinity_of(trinity_config, packages)
    if not isinstance(trinity, Trinity):
        yield from trinity
        return
    if packages.matches("trinity-rft", ">=0.6"):
        return  # veRL's configuration is made anew there, and keys that may not be set are refused or told
    table = _MERGED if packages.matches("trinity-rft", ">=0.5") else _MERGED | _ACTOR
    for key, setting in _written(trinity):
        decides = table.get(key)
        if decides == _BATCH and packages.matches("trinity-rft", "<0.2.1"):
            decides = _BATCH_BEFORE
        if decides is None or not setting.known:
            continue
        theirs, said = trinity.value(decides), trinity.setting(decides)
        if theirs is UNKNOWN or theirs == setting.value:
            continue
        yield found(
            PROBLEM,
            MESSAGE if said is not None else UNSAID,
            key=key,
            value=setting.value,
            decides=decides,
            theirs=theirs,
            version=trinity.version,
            where=place_of(setting),
            evidence=proofs(setting, said),
        )
