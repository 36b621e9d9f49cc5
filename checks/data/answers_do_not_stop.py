"""Judges answers-do-not-stop (DAT3984), whose words stand in the TOML beside it."""

from __future__ import annotations

from typing import Optional

from doctor.base.patterns import later
from doctor.catalogue.courses import Courses
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE, PADDING, BASE, ROWS, CUT = TOML["main"], TOML["padding"], TOML["base"], TOML["rows"], TOML["cut"]

#: a sentence that says so; what is generated must be named within it, for other things are not stopped either
_COMPLAINT = later(
    r"(?im)^(?=.*(?:generat|answer|output|completion|response|infer|\bmodel\b|\bvllm\b|\beos\b|\u56de\u7b54|\u8f93\u51fa|\u751f\u6210|\u63a8\u7406)).*"
    r"(?:(?:\b(?:never|not|cannot)|n't) (?:\w+ ){0,2}stop(?:s|ping)?\b|\bwithout a stop token\b"
    r"|\bgo(?:es)? on (?:and on|with new)\b"
    r"|\b(?:until|to|till) (?:(?:the|its) )?(?:length limit|limit of (?:the )?length|maximum length"
    r"|max_(?:new_)?tokens)\b"
    r"|\beos(?:[_ ]token)? (?:does not|doesn't) work\b|\u4e0d\u4f1a?\u505c"
    r"|\u505c\u4e0d\u4e0b\u6765|\u4e00\u76f4(?:\u5faa\u73af)?(?:\u91cd\u590d|\u8f93\u51fa))"
)
_PAD_IS_END = later(r"\bpad_token(?:_id)?\s*=\s*[\w.]*\beos_token(?:_id)?\b")
#: names of base models, whose instruct models have another name: Qwen 1.5 to 2.5, Qwen 3, Llama 3, Mistral, Gemma
_BASE_MODEL = later(
    r"(?i)(?<![\w-])(?:Qwen(?:1\.5|2(?:\.5|_5)?)-(?:(?:Math|Coder)-)?\d+(?:\.\d+)?B|(?:Meta-)?Llama-3(?:\.\d)?-\d+B|Mistral-7B"
    r"-v0\.\d|gemma-(?:[23]-)?\d+b)(?![\w.-]*(?:instruct|chat|-it\b|awq|gptq))(?:-(?:base|pt))?(?![\w-])|Qwen3-[\d.]+B-Base"
)
_TRAINED = later(r"(?i)\bsft\b|SFT(?:Trainer|Config)|\btemplate\b|train")
#: what a program says of its labels tells more than a list of what to look at
_SUPERVISED = later(r"(?i)\b(?:targets?|labels?|supervised|in the loss)\b")
_PAIR = later(r"['\"]prompt['\"]\s*:.*['\"]completion['\"]\s*:")


#: a row as a trainer prints it: all labels on one line
_LABELS = later(r"(?m)\b(?:label_ids|labels)['\"]?\s?[:=]\s*(?:tensor\()?\[{1,2}(?P<labels>-?\d[-\d, ]{20,1900})\]")
_INPUTS = later(r"(?m)\b(?:input_ids|inputs)['\"]?\s?[:=]\s*(?:tensor\()?\[{1,2}(?P<ids>\d[\d, ]{20,1900})\]")
#: ids that close a turn or a text: Qwen 2 and 3, Llama 3 (`generation_config.json` of their models)
_ENDS = frozenset({151645, 151643, 128009, 128001, 128008})
_CUTS = ("cutoff_len", "max_length", "max_seq_length", "max_seq_len", "seq_length", "sequence_len")


def _of_a_row(courses: Courses) -> Optional[Finding]:
    """A printed row whose turns are closed but for the last one, which is trained: the length limit cut it off."""
    labels, inputs = _LABELS.search(courses.words), _INPUTS.search(courses.words)
    limit = next((name for name in _CUTS if courses.number(name) is not None), "")
    if labels is None or inputs is None or not limit:
        return None
    last = int(labels["labels"].rstrip(" ,").rpartition(",")[2])
    if last < 0 or last in _ENDS or not _ENDS.intersection(map(int, inputs["ids"].replace(" ", "").split(",")[:-1])):
        return None
    return found(PROBLEM, CUT, confidence=LIKELY, name=limit, limit=f"{courses.number(limit):g}")


def of_quoted(courses: Courses) -> Optional[Finding]:
    """What a person says of the answers, and what else the text shows that explains it."""
    words = courses.words
    if words and (cut := _of_a_row(courses)) is not None:
        return cut
    if not words or _COMPLAINT.search(words) is None:
        return None
    model = _BASE_MODEL.search(words)
    if _PAD_IS_END.search(words) is not None:
        return found(PROBLEM, PADDING, confidence=LIKELY)
    if _PAIR.search(words) is not None and "eos_token" not in words:
        return found(PROBLEM, ROWS, confidence=LIKELY)
    if model is not None and _TRAINED.search(words) is not None:
        return found(PROBLEM, BASE, confidence=LIKELY, model=model[0])
    return None if _SUPERVISED.search(words) is not None else found(PROBLEM, MESSAGE, confidence=LIKELY)
