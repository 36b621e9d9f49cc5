"""The run reports to a tracker that this release does not know.

## What it means
A name in `report_to` is misspelt, or came with a newer Transformers (swanlab with 4.50, trackio with 4.54).
## What it does to a run
The trainer's constructor ends with `ValueError: ... is not supported, only ... are supported`, after the model was
loaded.
## What to do
Write one of the names that the release knows, or install a newer one.
## How it is found
The argument as the run will have it, against the names of the installed release.
In a log: by the exception of Transformers.
## References
https://github.com/huggingface/transformers/blob/v4.57.1/src/transformers/integrations/integration_utils.py
https://huggingface.co/docs/transformers/main_classes/callback
"""

from __future__ import annotations

from doctor.checks.tracking._helpers import NEEDS, chosen, place, quoted
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature
from doctor.facts.packages import Packages
from doctor.facts.training import Training

PROBLEM = Problem(id="TRK002", name="tracker-unknown", severity=ERROR, since="0.1", affects={"transformers": ">=4.40"})

SIGNATURES = (
    Signature(
        r"ValueError: (?P<tracker>[\w.\- ]{1,40}) is not supported, only (?P<known>[\w, ]{0,200}\b(?:wandb|tensorboard|"
        r"mlflow)\b[\w, ]{0,200}) are supported",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`report_to` names `{tracker}`, which this release of Transformers does not know",
        "Only the trackers of its own list can be named; everything else needs a callback object.",
        "Write one of its names (`wandb`, `tensorboard`, `mlflow`, `swanlab` ...), upgrade Transformers "
        'where the tracker is newer, or set `report_to="none"` and pass the tracker\'s callback in '
        "`callbacks=[...]`.",
    ),
    zh=Words(
        "`report_to` 指定了该版本 Transformers 不认识的 `{tracker}`",
        "只能使用其列表中的追踪器;其他的需要传入回调对象。",
        "使用其列表中的名称(`wandb`、`tensorboard`、`mlflow`、`swanlab` 等);若追踪器较新则升级 "
        'Transformers;或设置 `report_to="none"` 并在 `callbacks=[...]` 中传入其回调。',
    ),
)
#: names that came later than 4.40 (INTEGRATION_TO_CALLBACK of the releases)
SINCE = {"swanlab": "4.50.0", "trackio": "4.54.0"}
OTHERS = frozenset({"kubeflow"})  # known to some release of 5; which one is not told here

MESSAGE = Message(
    en=Words(
        "`report_to` names `{name}`, which Transformers {version} does not know",
        "The trainer's constructor ends with `ValueError: {name} is not supported` on every rank, after the model was "
        "loaded.",
        "Write one of {known}.",
    ),
    zh=Words(
        "`report_to` 写了 Transformers {version} 不认识的 `{name}`",
        "模型加载后,每个 rank 上的训练器构造函数都会以 `ValueError: {name} is not supported` 失败。",
        "改为 {known} 之一。",
    ),
)


@check(PROBLEM)
def tracker_unknown(training: Training, packages: Packages) -> Judgement:
    """A release that is newer than the data may know more names."""
    from doctor import data

    version = packages.version("transformers") or ""
    names = [each for each in chosen(training) if each not in OTHERS and not _known(each, packages)]
    if not names:
        return
    if data.standing("transformers", version) == data.Standing.NEWER:
        yield Skip(f"Transformers {version} is newer than what is known here")
        return
    setting = training.get("report_to")
    known = [each for each in NEEDS if _known(each, packages)]
    for name in names:
        yield found(
            PROBLEM,
            MESSAGE,
            name=name,
            version=version,
            known=", ".join(f"`{each}`" for each in known),
            where=place(setting),
            commands=_nearest(name, known),
            evidence=quoted(setting),
        )


def _known(name: str, packages: Packages) -> bool:
    if name not in NEEDS:
        return False
    since = SINCE.get(name)
    return since is None or packages.matches("transformers", f">={since}") is not False


def _nearest(name: str, known: list[str]) -> tuple[str, ...]:
    from difflib import get_close_matches

    return tuple(f"--report_to {each}" for each in get_close_matches(name.lower(), known, n=1))
