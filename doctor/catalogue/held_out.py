"""Scores on data that the reward does not see: which metrics are such, whatever the framework calls them.

TRL and Transformers print `eval_reward` and `eval_rewards/<function>/mean`, veRL `val-core/<data>/<score>/mean@N`
(https://github.com/verl-project/verl/blob/main/verl/trainer/ppo/metric_utils.py), OpenRLHF `eval_<data>_pass1`, SkyRL
`eval/<data>/avg_score`, slime `eval/<data>`, NeMo-RL `validation/accuracy`.

Runs inside the patient too, so it keeps to Python 3.9 and the standard library.
"""

from __future__ import annotations

import re

from doctor.base.patterns import later

#: how such names begin; one star stands for anything, as in `doctor.catalogue.series.rule`
HELD_OUT = ("eval_*", "eval/*", "val/*", "val-core/*", "validation/*", "validation_*", "test/*", "test_*")

_SCORE = later(r"acc|score|reward|pass|solve|correct|success|exact|\bem\b|\bf1\b", re.IGNORECASE)
_ABOUT = later(
    r"std|var\b|\bmin\b|\bmax\b|worst|best@|maj@|loss|time|per_second|length|num_|clip|tokens|epoch|kl\b|entropy",
    re.IGNORECASE,
)


def is_score(name: str) -> bool:
    """Whether a held-out metric is a score, rather than a deviation, a length or a time."""
    return _SCORE.search(name) is not None and _ABOUT.search(name) is None
