"""Judges VRL3088/skyrl, a row of batch-sizes-unfit; its words stand in the TOML of the table."""

from __future__ import annotations

from math import gcd

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, found
from doctor.catalogue.settings import place_of, whole
from doctor.catalogue.shared.proofs import proofs
from doctor.catalogue.words import words_of
from doctor.facts.framework_config import FrameworkConfig
from doctor.facts.launch import Launch

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


#: other entry points have trainers of their own, the asynchronous one without this cut
ENTRY = "skyrl.train.entrypoints.main_base"
ASKED = ("trainer.train_batch_size", "generator.n_samples_per_prompt", "trainer.placement.policy_num_gpus_per_node")
#: with their defaults
OTHERS = {"trainer.placement.policy_num_nodes": 1, "trainer.policy.sequence_parallel_size": 1}
STRATEGY = "trainer.strategy"


@check(PROBLEM)
def batch_cut_to_nothing(framework_config: FrameworkConfig, launch: Launch) -> Judgement:
    """By the policy alone: the processes of reference and critic can only make the number larger."""
    given = framework_config.settings
    if framework_config.framework != "skyrl" or ENTRY not in launch.argv:
        return
    if framework_config.files or framework_config.absent or any(name not in given for name in ASKED):
        return
    if STRATEGY in given and given[STRATEGY].value not in {"fsdp", "fsdp2"}:
        return
    batch, answers, each = (_number(framework_config, name, None) for name in ASKED)
    machines, parallel = (_number(framework_config, name, default) for name, default in OTHERS.items())
    if not batch or not answers or not each or not machines or not parallel or each * machines % parallel:
        return
    processes = each * machines // parallel
    stride = processes // gcd(processes, answers)
    if batch >= stride or batch * answers < processes:  # SkyRL itself refuses fewer samples than processes
        return
    settings = [given[name] for name in (*ASKED, *OTHERS) if name in given]
    yield found(
        PROBLEM,
        MESSAGE,
        confidence=LIKELY,
        batch=batch,
        answers=answers,
        processes=processes,
        stride=stride,
        where=place_of(*settings),
        commands=(f"{ASKED[0]}={stride}",),
        evidence=proofs(*settings),
    )


def _number(config: FrameworkConfig, name: str, default: int | None) -> int | None:
    setting = config.settings.get(name)
    if setting is None:
        return default
    return whole(setting.value) if setting.known else None
