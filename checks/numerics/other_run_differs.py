"""Words other-run-differs (NUM1516), whose texts stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.patterns import later
from doctor.catalogue.courses import Compared, Courses
from doctor.catalogue.finding import LIKELY, Finding, Where, found
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]

#: what kind of thing differs, the most telling words first
_KINDS = (
    (later(r"(?i)accum|micro.?batch"), TOML["accumulation"]),
    (later(r"(?i)fp8|fp16|bf16|fp32|int[48]|4.?bit|8.?bit|quant|precision|awq|gptq"), TOML["precision"]),
    (later(r"(?i)vllm|sglang|hugging ?face|\bhf\b|transformers\b(?!.*[<>=\d])|engine"), TOML["engine"]),
    (
        later(r"(?i)(?:context|tensor|sequence|pipeline|expert)[_ -]?parallel|\b[cts]p[_ ]?(?:size)?[ =]?\d"),
        TOML["parallel"],
    ),
    (later(r"(?i)world.?size|\bgpus?\b|\branks?\b|\bprocess(?:es)?\b|\bnodes?\b|\bcards?\b"), TOML["ranks"]),
    (later(r"(?:[<>=]=?\s?v?\d|\bv?\d+\.\d+)"), TOML["release"]),
    (later(r"(?i)zero|stage|fsdp|ddp|deepspeed"), TOML["stage"]),
)
#: what an evaluation counts
_SCORE = later(r"(?i)acc|score|pass@|mean@|reward")
#: an adapter in two forms, of sections that a text sets side by side
_ADAPTER = later(r"(?i)\bmerg\w+.{0,80}(?:adapter|lora|peft)|(?:adapter|lora|peft).{0,200}\bmerg")


def of_courses(courses: Courses) -> Finding | None:
    """The largest difference that somebody tells."""
    if not courses.compared:
        return None
    most = max(courses.compared, key=_factor)
    plain = TOML.phrases("plain").get(most.metric) or TOML.phrase("values", metric=most.metric)
    described = f"{most.against} {most.other}"
    message = next((each for pattern, each in _KINDS if pattern.search(described)), MESSAGE)
    if most.against and _ADAPTER.search(described):
        message = TOML["adapter"]
    elif message is TOML["engine"] and _SCORE.search(most.metric):
        message = TOML["engine_score"]
    if most.loss_agrees:
        message = TOML["gradient_alone"]
    course = courses.of.get(most.metric)
    where = Where(file=most.evidence.source, line=most.evidence.line)
    if course is not None:
        where = Where(file=course.source, step=course.last_step)
    factor = _factor(most)
    return found(
        PROBLEM, message, confidence=LIKELY, where=where, against=most.against,
        evidence=(most.evidence,), metric=most.metric, other=most.other, here=f"{most.here:.4g}",
        there=f"{most.there:.4g}", factor=f"{factor:.2g}" if factor < 1e6 else "10^6", plain=plain,
    )  # fmt: skip


def _factor(each: Compared) -> float:
    small, large = sorted((abs(each.here), abs(each.there)))
    return large / small if small > 0 else float("inf")


#: a sentence that says how the loss goes with the accumulation
_GROWS = later(
    r"(?i)\bloss\b[^.\n]{0,40}\b(?:increas|grow|scal|ris|multipl|proportional)\w*[^.\n]{0,40}\baccumulat"
    r"|\baccumulat[^.\n]{0,60}\bloss\b[^.\n]{0,40}\b(?:increas|grow|larger|higher|bigger|multipl)"
)
#: a similarity of what two programs compute of the same weights; kernels in bf16 leave 0.99 and more
_SIMILAR = later(r"(?i)\b(?:cosine )?similarity\b[^:=\n]{0,60}[:=]\s?(?P<value>0\.\d+)")
_ALIKE = 0.95


def of_quoted(courses: Courses) -> Finding | None:
    """What a person found out by comparing, in words alone."""
    if _GROWS.search(courses.words):
        return found(PROBLEM, TOML["grows"], confidence=LIKELY)
    told = _SIMILAR.search(courses.words)
    if told is None or float(told["value"]) >= _ALIKE:
        return None
    return found(PROBLEM, TOML["unlike"], confidence=LIKELY, similarity=told["value"])
