"""What the checks of vLLM's older API servers share: `vllm serve` takes the place of each."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement
from doctor.catalogue.finding import found
from doctor.catalogue.shared.proofs import COMMAND
from doctor.catalogue.words import MAIN, ProblemWords
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages


def started_by(kind: str, words: ProblemWords, launch: Launch, packages: Packages) -> Judgement:
    """Judge the launch command alone; the engine has compared the version."""
    if launch.kind != kind:
        return
    model = launch.arguments.get("model")
    yield found(
        words.problem,
        words[MAIN],
        version=packages.version("vllm"),
        commands=(f"vllm serve {model.value if model else 'MODEL'}",),
        evidence=(Observed.quoted(COMMAND, " ".join(launch.argv)),),
    )
