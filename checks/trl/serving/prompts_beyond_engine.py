"""Judges prompts-beyond-engine (TRL056), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.problem import ERROR, WARNING
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.trainers import installed, is_grpo, quoted, vllm_mode, whole_argument
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.launch import Beside, Launch
from doctor.facts.packages import Packages
from doctor.facts.serving import human_int
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
SERVER = TOML["main"]

_SERVERS = frozenset({"trl-vllm-serve", "vllm-serve", "vllm-api-server", "vllm-openai-server"})


@check(PROBLEM)
def server_window_holds_lengths(launch: Launch | None, training: Training, packages: Packages) -> Judgement:
    """The only server of the same script, against the lengths that the training asks it for."""
    servers = [each for each in (launch.beside if launch else ()) if each.certain and each.kind in _SERVERS]
    window = _window(servers[0]) if len(servers) == 1 else None
    if window is None or not is_grpo(training):
        return
    version = installed(packages, "trl")
    completion = whole_argument(training, "max_completion_length", version)
    if completion is None or vllm_mode(training, version) != "server":
        return
    prompt = whole_argument(training, "max_prompt_length", version) or 0
    if prompt + completion <= window:
        return
    setting = servers[0].arguments["max_model_len"]
    settings = (training.get("max_prompt_length"), training.get("max_completion_length"))
    yield found(
        PROBLEM, SERVER, window=window, prompt=prompt, completion=completion, confidence=LIKELY,
        severity=ERROR if max(prompt, completion) >= window else WARNING, where=place_of(*settings),
        commands=(f"--max_model_len {prompt + completion}",),
        evidence=(Observed.quoted(" ".join(servers[0].argv[:3]), setting.text), *quoted(*settings)),
    )  # fmt: skip


def _window(server: Beside) -> int | None:
    setting = server.arguments.get("max_model_len")
    return human_int(str(setting.value)) if setting is not None and setting.known else None


def explain(hits: Hits) -> Finding | None:
    """Only both together: the warning alone is harmless, the exception alone has other causes."""
    if not (hits.of(0) and hits.of(1)):
        return None
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED,
        length=hits.get("length"), limit=hits.get("limit"),
    )  # fmt: skip
