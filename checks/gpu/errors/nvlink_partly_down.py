"""Judges gpu-nvlink-partly-down (GPU014), whose words stand in the TOML beside it."""

from __future__ import annotations

from collections import Counter

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Where, found
from doctor.catalogue.words import words_of
from doctor.facts.gpus import Gpus

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def nvlink_partly_down(gpus: Gpus) -> Judgement:
    """A card is compared with the others of its model: how many links a board wires up differs."""
    for name in {gpu.name for gpu in gpus.that_report("nvlinks_active")}:
        same = [gpu for gpu in gpus.that_report("nvlinks_active") if gpu.name == name]
        counts = Counter(gpu.nvlinks_active or 0 for gpu in same)
        usual = max(counts, key=lambda count: (counts[count], count))
        for gpu in same:
            if (gpu.nvlinks_active or 0) < usual and len(same) > 2:
                yield found(
                    PROBLEM,
                    MESSAGE,
                    gpu=gpu.label,
                    active=gpu.nvlinks_active,
                    usual=usual,
                    where=Where(gpu=gpu.index),
                    commands=(f"nvidia-smi nvlink -s -i {gpu.index}",),
                    evidence=(Observed.quoted("NVML", f"{gpu.nvlinks_active} of {usual} NVLinks active"),),
                    confidence=LIKELY,
                )
