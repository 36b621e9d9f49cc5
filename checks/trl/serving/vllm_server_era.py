"""Judges vllm-server-of-another-era (TRL013), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, Skip, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.trainers import installed, is_grpo, vllm_mode
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.checks.trl.serving.vllm_server_silent import start_command
from doctor.facts.network import Network
from doctor.facts.packages import Packages
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_NATIVE = TOML["log_native"]
MESSAGE = TOML["main"]
#: servers that no release of TRL can train against, as `Endpoint.http_kind` names them
OUTSIDERS = {"vllm-demo": TOML["demo"], "vllm-openai": TOML["plain"], "other": TOML["other"]}


#: TRL range -> kind of server that its client can talk to, as `Endpoint.http_kind` names them
ERAS = ((">=0.16,<0.17", "trl-0.16"), (">=0.17,<1.11", "trl-0.17"), (">=1.11", "vllm-native"))


@check(PROBLEM)
def vllm_server_era(training: Training, network: Network, packages: Packages) -> Judgement:
    """Compare the server's kind with the trainer's era."""
    version = installed(packages, "trl")
    endpoint = network.endpoint("vllm_server")
    if not is_grpo(training) or vllm_mode(training, version) != "server" or endpoint is None or not endpoint.answers:
        return
    ours = next((kind for specifier, kind in ERAS if packages.matches("trl", specifier)), None)
    if endpoint.http_kind is None or ours is None:
        yield Skip("the routes of the vLLM server could not be read")
        return
    if endpoint.http_kind == ours:
        return
    message = OUTSIDERS.get(endpoint.http_kind, MESSAGE)
    model = training.model.text if training.model and training.model.known else "MODEL"
    yield found(
        PROBLEM,
        message,
        confidence=LIKELY if endpoint.http_kind == "other" else CONFIRMED,
        commands=(start_command(version, model),),
        where=place_of(training.get("vllm_server_host"), training.get("vllm_mode"), training.get("use_vllm")),
        evidence=(Observed.quoted(f"{endpoint.host}:{endpoint.port}", f"routes of {endpoint.http_kind}"),),
        host=endpoint.host,
        port=endpoint.port,
        theirs=endpoint.http_kind,
        ours=ours,
        version=version,
    )


def explain(hits: Hits) -> Finding | None:
    """Tell the server of vLLM itself, which TRL 1.11 and newer names, from a route that is not there."""
    address = hits.get("address")
    message = LOG_MESSAGE_NATIVE if address else LOG_MESSAGE
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), address=address)
