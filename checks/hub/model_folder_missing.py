"""Judges model-folder-missing (HUB002), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.patterns import later
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.communication import runs_elsewhere
from doctor.catalogue.shared.named_models import named_model, on_machine, quoted
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.launch import Launch
from doctor.facts.model import Model
from doctor.facts.script import Script
from doctor.facts.serving import Serving
from doctor.facts.training import Training
from doctor.facts.trinity_config import TrinityConfig
from doctor.facts.verl_config import VerlConfig

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
MISSING = TOML["missing"]
TILDE = TOML["tilde"]
TAG = TOML["tag"]


#: a name with something behind a colon, which is neither a drive nor a path
_TAGGED = later(r"(?P<name>(?![A-Za-z]:)[\w.\-]{1,96}(?:/[\w.\-]{1,96})?):(?P<tag>[\w.\-]{1,96})$")


def _is_path(name: str) -> bool:
    return name.startswith(("/", "./", "../", "~")) or (name.count("/") > 1 and not name.endswith(".gguf"))


@check(PROBLEM)
def model_folder_missing(
    launch: Launch,
    model: Model | None,
    training: Training | None,
    serving: Serving | None,
    verl_config: VerlConfig | None,
    trinity_config: TrinityConfig | None,
    script: Script | None,
) -> Judgement:
    """Judge paths only; veRL and Trinity-RFT may run on machines that this one does not see."""
    named = named_model(training, serving, verl_config, trinity_config)
    if on_machine(model) or named is None or runs_elsewhere(launch) or _downloads(script):
        return
    path = str(named.value).strip()
    if not _is_path(path) or "://" in path or "$" in path or "{" in path:
        return
    message = TILDE if path.startswith("~") and launch.kind not in {"verl", "trinity"} else MISSING
    yield found(PROBLEM, message, path=path, confidence=LIKELY, where=place_of(named), evidence=(quoted(named),))


def _downloads(script: Script | None) -> bool:
    """Whether the script fetches models into folders itself before it loads them."""
    return script is not None and any(name.rpartition(".")[2] == "snapshot_download" for name in script.imports)


def explain(hits: Hits) -> Finding | None:
    """Tell what is wrong with the path."""
    told = hits.get("path") or ""
    tagged = _TAGGED.match(told)
    if tagged:
        return found(
            PROBLEM, TAG, where=hits.where(), evidence=hits.evidence(), path=told, name=tagged["name"],
            tag=tagged["tag"],
        )  # fmt: skip
    message = TILDE if told.startswith("~") else LOG_MESSAGE
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), path=told)
