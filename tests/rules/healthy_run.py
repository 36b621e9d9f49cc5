"""A GRPO run that is well: noisy, with outliers, warm-up, longer completions, and fp16 that calibrates and breathes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from random import Random

from doctor.catalogue.series import Point


def healthy_run(seed: int, steps: int) -> Iterator[Point]:
    """About 20 points a step, in TRL's order; every fourth seed is fp16 with a live loss scale."""
    random = Random(seed)  # noqa: S311 - noise, not a secret
    gauss, uniform = random.gauss, random.random
    fp16 = _scale(random) if seed % 4 == 0 else None
    for step in range(1, steps + 1):
        done = step / steps
        norm = 0.3 * math.exp(gauss(0, 0.5)) * (10 if uniform() < 0.002 else 1)
        skipped = False
        if fp16 is not None:
            scale, skips, skipped = next(fp16)
            yield Point("loss_scale", scale, step)
            yield Point("skipped_steps", skips, step)
        reward = 0.2 + 0.6 * (1 - math.exp(-5 * done)) + gauss(0, 0.08)
        length = 300 * (1 + done) * math.exp(gauss(0, 0.15))
        row = (
            ("loss", gauss(0, 0.02)),
            ("grad_norm", math.inf if skipped else norm),
            ("learning_rate", 1e-6 * min(1.0, (step - 1) / 50) * (0.5 + 0.5 * math.cos(math.pi * done))),
            ("completions/mean_length", length),
            ("completions/clipped_ratio", min(1.0, abs(gauss(0.05, 0.05)))),
            ("rewards/accuracy/mean", math.nan if uniform() < 0.05 else reward),
            ("rewards/format/mean", min(1.0, 0.5 + done)),
            ("reward", reward),
            ("reward_std", 0.0 if uniform() < 0.1 else abs(gauss(0.3, 0.1))),
            ("frac_reward_zero_std", 1.0 if uniform() < 0.15 else min(1.0, abs(gauss(0.4, 0.2)))),
            ("kl", abs(gauss(0.02 + 0.1 * done, 0.02)) * (200 if uniform() < 0.002 else 1)),
            ("entropy", (1.2 - 0.9 * done) * math.exp(gauss(0, 0.1))),
            ("clip_ratio/region_mean", abs(gauss(0.01, 0.01))),
            ("sampling/sampling_logp_difference/mean", 0.012 * math.exp(gauss(0, 0.3))),
            ("sampling/importance_sampling_ratio/mean", gauss(0.99, 0.05)),
            ("step_time", 20 * (1 + 0.5 * done) * math.exp(gauss(0, 0.2)) * (6 if step % 500 == 0 else 1)),
        )
        for name, value in row:
            yield Point(name, value, step)


def _scale(random: Random) -> Iterator[tuple[float, int, bool]]:
    """(scale, steps skipped so far, this one skipped) of DeepSpeed's scaler: down from 2^16, then up and down.

    A gradient overflows because it is large for the scale, so the chance falls with each halving.
    """
    scale, skips, good, bears = 2.0**16, 0, 0, 2.0**12
    hysteresis = 2
    while True:
        overflow = scale * math.exp(random.gauss(0, 0.15)) > bears
        if overflow:
            skips, good = skips + 1, 0
            if hysteresis == 1:
                scale /= 2
            else:
                hysteresis -= 1
        else:
            good += 1
            if good % 1000 == 0:
                scale, hysteresis = scale * 2, 2
        yield scale, skips, overflow
