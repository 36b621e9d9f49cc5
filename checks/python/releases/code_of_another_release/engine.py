"""Judges PYT5808/engine, a row of code-of-another-release; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.patterns import later
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


_IMPORTS = {3, 4}  # places of the import errors among the signatures
NAMES = {
    "openrlhf": "OpenRLHF",
    "verl": "veRL",
    "trl": "TRL",
    "unsloth": "Unsloth",
    "unsloth_zoo": "Unsloth",
    "art": "ART",
    "trinity": "Trinity-RFT",
    "swift": "ms-swift",
    "ray": "Ray",
    "xinference": "Xinference",
    "nemo_rl": "NeMo-RL",
    "roll": "ROLL",
    "skyrl_train": "SkyRL",
    "skyrl": "SkyRL",
    "areal": "AReaL",
}
#: the package of an installed file
INSTALLED = later(r"(?:site-packages|dist-packages)[\\/](?P<package>\w{1,60})")
#: folders of checkouts that are a package; trainers have folders by the engines' names (`verl/utils/vllm/`)
TRAINER = later(
    r"[\\/](openrlhf|verl|trl|unsloth_zoo|unsloth|art|trinity|swift|nemo_rl|skyrl_train|skyrl|areal|rllm|prime_rl|rlinf|ragen"
    r"|(?:roll|slime|miles)(?=[\\/](?:backends|distributed|pipeline|ray|rollout|third_party|utils)))(?=[\\/])"
)
ENGINE = later(r"[\\/](vllm|sglang|megatron)(?=[\\/])")


def explain(hits: Hits) -> Finding | None:
    """Who asked is the innermost frame outside the engine, maybe the user's own.

    A package that misses a part of its own is PYT043.
    """
    owner = hits.get("owner") or "SamplingParams"
    callee = owner.partition(".")[0] if "." in owner or owner.islower() else _engine_of(hits)
    if hits.first.signature in _IMPORTS and hits.first.frames and _package(hits.first.frames[-1]) == callee:
        return None
    frames = [each for each in reversed(hits.first.frames) if _package(each) != callee]
    asking = next((name for each in frames if (name := _package(each)) or each in hits.first.own), "")
    caller = NAMES.get(asking, f"`{asking}`") if asking else ""
    version = hits.versions.get(callee)
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        caller=caller or TOML.phrase("code"),
        callee=callee,
        version=f" {version}" if version else "",
        name=hits.get("name") or owner,
    )


def _engine_of(hits: Hits) -> str:
    """The engine whose class it is."""
    return "sglang" if any("sglang" in frame for frame in hits.first.frames) else "vllm"


def _package(frame: str) -> str:
    """The package that a frame lies in, "" where it is the user's own; of a checkout the folder nearest to the file."""
    installed = INSTALLED.search(frame)
    return installed["package"] if installed else (TRAINER.findall(frame) or ENGINE.findall(frame) or [""])[-1]
