"""The installed vLLM is outside the range that TRL was made for.

## What it means
TRL reaches deep into vLLM (weight loading, sleep mode, log probabilities) and each release names the vLLM
versions that it was tested with. It warns about others and goes on.
## What it does to a run
Imports, weight synchronisation or the arguments of the engine can break, sometimes with no message.
## What to do
Install a vLLM inside the range, or a TRL whose range holds the installed vLLM.
## How it is found
The range that the installed TRL states in its `import_utils.py`, against the installed vLLM.
In a log: by an import from vLLM that fails inside TRL, where TRL has warned of the version before.
## References
https://github.com/huggingface/trl/blob/v1.16.0/trl/import_utils.py
https://huggingface.co/docs/trl/vllm_integration
"""

from __future__ import annotations

from doctor import data
from doctor.checks.trl._helpers import imports_grpo, installed, is_grpo, vllm_mode
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Evidence, Finding, Message, Skip, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.core.signature import Hits, Signature
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.script import Script
from doctor.facts.training import SWIFT, SWIFT_MEGATRON, Training

PROBLEM = Problem(
    id="TRL025",
    name="vllm-outside-trl-window",
    severity=WARNING,
    since="0.1",
    affects={"trl": ">=0.24", "vllm": ">=0.1"},
)

_ELSEWHERE = ("TRL026", "TRL027", "TRL029")

SIGNATURES = (
    Signature(
        r"^(?:ModuleNotFoundError: No module named|ImportError: cannot import name) "
        r"'(?P<name>[\w.]{1,120})'[^\n]{0,20}vllm",
        frame=r"[\\/]trl[\\/]",
        symptom_of=_ELSEWHERE,
    ),
    Signature(
        r"^ModuleNotFoundError: No module named '(?P<name>vllm\.[\w.]{1,120})'",
        frame=r"[\\/]trl[\\/]",
        symptom_of=_ELSEWHERE,
    ),
    Signature(
        r"TRL currently (?:only )?supports vLLM versions? (?:from )?(?P<low>\d[\w.]{0,14}\w)(?: "
        r"to |, )(?P<high>\d[\w.]{0,14}\w)"
        r"\. You have version (?P<have>\d[\w.+]{0,40}\w)",
        kind="sign",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "vLLM {have} lacks `{name}`, which this TRL imports; TRL supports {low} to {high}",
        "TRL reaches into vLLM and each of its releases fits only some of vLLM's.",
        'Install a vLLM inside the range, `pip install "vllm=={high}"`, or the TRL that names the vLLM which you '
        "have; `doctor check` knows the pairs.",
    ),
    zh=Words(
        "vLLM {have} 没有此 TRL 所导入的 `{name}`;TRL 支持 {low} 到 {high}",
        "TRL 深入使用 vLLM 的内部,每个版本只适配部分 vLLM。",
        '安装该范围内的 vLLM:`pip install "vllm=={high}"`,或安装支持现有 vLLM 的 TRL;`doctor check` 知道配对关系。',
    ),
)

MESSAGE = Message(
    en=Words(
        "vLLM {vllm} is outside the range {low} to {high} of TRL {version}",
        "TRL warns and goes on; what it takes from inside vLLM can be missing or behave differently.",
        "Install a vLLM in that range, or a TRL that names this vLLM.",
    ),
    zh=Words(
        "vLLM {vllm} 不在 TRL {version} 支持的范围 {low} 到 {high} 之内",
        "TRL 只会警告然后继续;它使用的 vLLM 内部接口可能缺失或行为不同。",
        "安装该范围内的 vLLM,或支持此 vLLM 的 TRL。",
    ),
)

MESSAGE_ONE = Message(
    en=Words(
        "vLLM {vllm} is not {high}, the one that TRL {version} supports",
        "TRL warns and goes on; what it takes from inside vLLM can be missing or behave differently.",
        "Install the vLLM that this TRL supports, or a TRL that supports this vLLM.",
    ),
    zh=Words(
        "vLLM {vllm} 不是 TRL {version} 支持的 {high}",
        "TRL 只会警告然后继续;它使用的 vLLM 内部接口可能缺失或行为不同。",
        "安装此 TRL 支持的 vLLM,或支持此 vLLM 的 TRL。",
    ),
)


def _accepting(vllm: str) -> str | None:
    """Return the newest TRL whose range holds a vLLM."""
    from packaging.version import InvalidVersion, Version

    try:
        wanted = Version(Version(vllm).base_version)
    except InvalidVersion:
        return None
    for listed in reversed(tuple(data.releases("trl"))):
        release = data.trl_release(listed)
        window = release.vllm_window if release else None
        if window and Version(window[0]) <= wanted <= Version(window[1]):
            return listed
    return None


@check(PROBLEM, requires=("TRL026", "TRL029"))
def vllm_outside_window(
    packages: Packages, training: Training | None, launch: Launch | None, script: Script | None
) -> Judgement:
    """Judge the environment, unless the command certainly does without TRL's use of vLLM."""
    version, vllm = installed(packages, "trl"), installed(packages, "vllm")
    if training is not None and training.config_origin in {SWIFT, SWIFT_MEGATRON}:
        training = None  # its own arguments do not say what TRL imports
    if training is not None and (not is_grpo(training) or vllm_mode(training, version) == "off"):
        return
    if training is None and imports_grpo(launch, None, script) is False:
        return
    release = data.trl_release(version)
    if release is None:
        yield Skip(f"the vLLM range of TRL {version} is not in the doctor's data")
        return
    if release.vllm_window is None or packages.matches("vllm", ">={},<={}".format(*release.vllm_window)):
        return
    low, high = release.vllm_window
    other = _accepting(vllm)
    yield found(
        PROBLEM,
        MESSAGE if low != high else MESSAGE_ONE,
        evidence=(Evidence("installed packages", f"trl {version}, vllm {vllm}"),),
        commands=(f'pip install "vllm=={high}"', *((f'pip install "trl=={other}"',) if other else ())),
        vllm=vllm,
        low=low,
        high=high,
        version=version,
    )


def explain(hits: Hits) -> Finding | None:
    """Speak where TRL itself has named the range; else the import alone does not tell which side is old."""
    if hits.get("have") is None:
        return None
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, severity=ERROR,
        have=hits.get("have"), low=hits.get("low"), high=hits.get("high"), name=hits.get("name") or "vllm",
        commands=(f'pip install "vllm=={hits.get("high")}"',),
    )  # fmt: skip
