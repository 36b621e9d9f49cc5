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


def of_courses(courses: Courses) -> Finding | None:
    """The largest difference that somebody tells."""
    if not courses.compared:
        return None
    most = max(courses.compared, key=_factor)
    plain = TOML.phrases("plain").get(most.metric) or TOML.phrase("values", metric=most.metric)
    message = next((each for pattern, each in _KINDS if pattern.search(most.other)), MESSAGE)
    course = courses.of[most.metric]
    factor = _factor(most)
    return found(
        PROBLEM, message, confidence=LIKELY, where=Where(file=course.source, step=course.last_step),
        evidence=(most.evidence,), metric=most.metric, other=most.other, here=f"{most.here:.4g}",
        there=f"{most.there:.4g}", factor=f"{factor:.2g}" if factor < 1e6 else "10^6", plain=plain,
    )  # fmt: skip


def _factor(each: Compared) -> float:
    small, large = sorted((abs(each.here), abs(each.there)))
    return large / small if small > 0 else float("inf")
