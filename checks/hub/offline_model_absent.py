"""Judges offline-model-absent (HUB001), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Skip, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.named_models import means_yes, missing_repository, quoted
from doctor.catalogue.words import words_of
from doctor.facts.host import Host
from doctor.facts.hub import Hub
from doctor.facts.model import Model
from doctor.facts.serving import Serving
from doctor.facts.training import Training
from doctor.facts.trinity_config import TrinityConfig
from doctor.facts.verl_config import VerlConfig

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


SWITCHES = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
#: where the cache lies; the machine's own is looked into
_FOLDERS = ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME")


@check(PROBLEM)
def offline_model_absent(
    hub: Hub,
    host: Host | None,
    model: Model | None,
    training: Training | None,
    serving: Serving | None,
    verl_config: VerlConfig | None,
    trinity_config: TrinityConfig | None,
) -> Judgement:
    """Judge names of repositories; a path that is missing is another problem."""
    own = training.environment_set if training is not None else {}
    offline = hub.offline or any(each in own and means_yes(own[each].value) for each in SWITCHES)
    named = missing_repository(model, training, serving, verl_config, trinity_config) if offline else None
    if named is None:
        return
    name = str(named.value)
    if name in hub.cached_models or (hub.use_modelscope and training is None):
        return
    moved = next((each for each in _FOLDERS if each in own), None)
    if moved is not None:
        yield Skip(f"the script sets {moved}, and that cache was not looked into")
        return
    disk = host.disk("hf cache") if host is not None else None
    if disk is not None and disk.error:
        yield Skip(f"the cache {disk.path} {disk.error}")
        return
    cache = hub.cache_dir or "the cache"
    yield found(
        PROBLEM,
        MESSAGE,
        model=name,
        cache=cache,
        where=place_of(named),
        commands=(f"HF_HUB_OFFLINE=0 hf download {name}",),
        evidence=(quoted(named), Observed.quoted("cache", f"{cache}: {len(hub.cached_models)} models")),
    )
