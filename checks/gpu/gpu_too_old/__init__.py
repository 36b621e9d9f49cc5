"""What rows of gpu-too-old share that take judgement of their own."""

from __future__ import annotations

from collections.abc import Iterable

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement
from doctor.catalogue.finding import Skip, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.trainers import quoted
from doctor.catalogue.words import MAIN, ProblemWords
from doctor.facts.gpus import Gpu


def first_older_than(
    oldest: tuple[int, int], words: ProblemWords, attention: Observed, gpus: Iterable[Gpu]
) -> Judgement:
    """The first card of a compute capability below `oldest` stands for all."""
    for gpu in gpus:
        if gpu.compute_capability is None:
            yield Skip(f"{gpu.label} does not report its compute capability")
        elif gpu.compute_capability < oldest:
            capability = ".".join(map(str, gpu.compute_capability))
            yield found(
                words.problem,
                words[MAIN],
                where=place_of(attention),
                evidence=(
                    *quoted(attention),
                    Observed.quoted("NVML", f"compute capability of GPU {gpu.index}: {capability}"),
                ),
                commands=('attn_implementation="sdpa"',),
                attention=attention.value,
                gpu=gpu.label,
                capability=capability,
            )
            return
