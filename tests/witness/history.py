"""Twenty silent bugs with public fixes, each put back in.

The twenty were drawn after the witness was built, and two of its detectors came after them (temperature, and the gap
that grows with the position), so that they are no blind sample. The eleven of `LATER` were drawn when it was complete,
and put back in before it had seen any. The mechanism of each is injected again as it was before its fix, into an
engine or a loop that computes for real.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .loop import Case, run

POLICY, CACHE, ADAPTER = "engine-not-the-policy", "engine-cache-outlives-weights", "adapter-not-in-engine"
CUT, TOKENS, EPISODES = "sampled-logps-renormalised", "trained-tokens-not-sampled", "rewards-of-failed-episodes"


class Bug(NamedTuple):
    """One bug: where it was reported or mended, what it was, how it is put back, and what must be named."""

    url: str
    what: str
    case: Case
    problem: str


_GITHUB = "https://github.com/"


def _bug(at: str, what: str, problem: str, fault: str, **case: Any) -> Bug:
    return Bug(_GITHUB + at, what, Case(fault, **case), problem)


BUGS = (
    _bug("huggingface/trl/issues/5312", "waking up reloads the weights on disk", POLICY, "never-pushed"),
    _bug("rllm-org/rllm/issues/291", "nothing is pushed with a setting", POLICY, "never-pushed", protocol="sglang"),
    _bug("allenai/open-instruct/pull/1627", "initial weights after a resume", POLICY, "never-pushed", resumed=True),
    _bug("huggingface/trl/issues/2856", "merged weights of an adapter are not pushed", ADAPTER, "adapter-dropped",
         adapter=True),
    _bug("radixark/miles/pull/2075", "requests do not name the adapter", ADAPTER, "adapter-dropped", adapter=True,
         protocol="sglang"),
    _bug("vllm-project/vllm/issues/42125", "old blocks under an adapter's name", CACHE, "prefix-cache", adapter=True),
    _bug("NVIDIA-NeMo/RL/pull/112", "prefix cache kept over a push", CACHE, "prefix-cache"),
    _bug("InternLM/lmdeploy/issues/4917", "prefix cache kept by an update", CACHE, "prefix-cache", protocol="sglang"),
    _bug("NVIDIA-NeMo/RL/pull/4018", "cached state of earlier weights", CACHE, "prefix-cache", seed=9, rate=1e-2),
    _bug("NovaSky-AI/SkyRL/issues/1680", "experts corrupt after the first push", POLICY, "halves", experts=True),
    _bug("areal-project/AReaL/pull/1595", "experts of other ranks are never named", POLICY, "experts-unsent",
         experts=True, protocol="sglang"),
    _bug("huggingface/trl/issues/6789", "a correction that ignores top_p", CUT, "top-p"),
    _bug("PrimeIntellect-ai/prime-rl/pull/697", "log probabilities divided by the temperature", CUT, "scaled-logps"),
    _bug("NVIDIA-NeMo/RL/pull/1337", "turns encoded again from text", TOKENS, "retokenised"),
    _bug("NovaSky-AI/SkyRL/issues/123", "answers encoded again from text", TOKENS, "retokenised", protocol="sglang"),
    _bug("NovaSky-AI/SkyRL/issues/2075", "the head of an observation is cut off", TOKENS, "observation"),
    _bug("jingyaogong/minimind/issues/850", "special tokens vanish between turns", TOKENS, "separator"),
    _bug("verl-project/verl/pull/3595", "a kernel that is wrong far back", TOKENS, "long-context", answer=80),
    _bug("rllm-org/rllm/pull/710", "time-outs are graded 0", EPISODES, "time-outs"),
    _bug("NVIDIA-NeMo/Gym/pull/2015", "a grader that fails gives 0", EPISODES, "grader"),
)  # fmt: skip

LATER = (
    _bug("verl-project/verl/pull/4248", "a flag of the cache switches the push off", POLICY, "never-pushed",
         experts=True, rate=1e-2),
    _bug("unslothai/unsloth-zoo/issues/941", "one half of an adapter in the place of the other", ADAPTER,
         "adapter-halves", adapter=True),
    _bug("vllm-project/vllm/issues/47724", "served with the adapter of somebody else", ADAPTER, "adapter-other",
         adapter=True),
    _bug("sgl-project/sglang/issues/14178", "derived tensors of weights that have not arrived", POLICY, "derived",
         protocol="sglang"),
    _bug("sgl-project/sglang/issues/14158", "loaded into tensors that are discarded", POLICY, "experts-discarded",
         experts=True, protocol="sglang"),
    _bug("verl-project/verl/issues/3960", "tool calls are cleared in what is trained", TOKENS, "call-cleared"),
    _bug("verl-project/verl/pull/6921", "a separator lost on both sides", TOKENS, "separator-both"),
    _bug("NVIDIA-NeMo/RL/pull/935", "the trainer's log probabilities at another temperature", CUT, "temperature"),
    _bug("NVIDIA-NeMo/RL/pull/2586", "experts in the layout of another kernel", POLICY, "experts-layout",
         experts=True),
    _bug("NVIDIA-NeMo/RL/issues/2100", "a sixth of the sequences diverges", TOKENS, "outliers", answer=40),
    _bug("unslothai/unsloth/issues/2009", "an adapter without effect", ADAPTER, "adapter-dropped", adapter=True, seed=6,
         protocol="sglang"),
)  # fmt: skip


def named(bug: Bug) -> tuple[bool, list[str]]:
    """Whether the bug is named, and first, within three updates; and what was said."""
    ran = run(bug.case)
    first = ran.findings[0] if ran.findings else None
    right = first is not None and first.problem.name == bug.problem and (first.where.step or 0) <= 3
    return right, ran.headlines
