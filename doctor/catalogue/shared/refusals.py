"""What a program says when its own validation refuses a configuration: which settings, which numbers, what relation.

Used by signatures of frameworks that check their settings with plain assertions; the words stay the doctor's own.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from typing import Any, Optional

from doctor.base.patterns import later
from doctor.base.record import record, replace
from doctor.catalogue.finding import LIKELY, Finding, Message, Phrase, Words, found
from doctor.catalogue.problem import Problem
from doctor.catalogue.shared import refused_choices
from doctor.catalogue.shared.shares import unequal_in
from doctor.catalogue.signature import Hits

#: areas of problems that know more about a failure than its own words do
AREAS = (
    "VRL", "TRI", "ORL", "VLL", "RAY", "MEM", "TRF", "HUB", "PYT", "TOR", "CUD", "NCC", "DAT", "TRL", "FSD", "PFT",
    "BNB", "FLA", "CKP", "HST", "LCH", "DSP", "ACC",
)  # fmt: skip
#: what a validation raises, with its message
REFUSED = (
    r"^(?:[\w.]{1,60}\.)?(?P<kind>AssertionError|ValueError|NotImplementedError|VLLMValidationError|KeyError"
    r"|ImportError|RuntimeError): (?P<message>[^\n]{8,600})"
)
#: raised for many other reasons: only a message that names the refused value and its kind is a refusal
_WIDE_KINDS = ("KeyError", "ImportError", "RuntimeError")
_NAMES = 4  # settings and numbers that a sentence can carry
#: a setting as configurations spell it: parts joined by dots or underscores, or an option of the command line
_SETTING = later(
    r"(?<![\w./-])(?:--[a-z][a-z0-9]{1,40}(?:[._-][a-z0-9]{1,40}){0,8}|[a-z][a-z0-9]{0,40}(?:[._][a-z0-9]{1,40}){1,8})"
    r"(?![\w/(-]|\.py)"
)
#: the same in plain words: "tensor parallel size", "world size"
_SPOKEN = later(
    r"\b(?:(?:tensor|pipeline|data|expert|context|sequence)(?:[ -]model)?[ -]parallel|world|(?:global |train |mini "
    r"|micro )?batch)"
    r" size\b|\b[Nn]umber of layers\b|\bcontext parallel(?:ism)?\b(?! size)"
)
#: a setting of one word: only where the sentence begins with it and gives its bounds
_BARE = later(
    r"^['\"`]?(?P<name>[a-z][a-z0-9]{0,30})['\"`]? (?:must|should|has to|needs to) be (?:an? )?(?:>|<|positive"
    r"|non-negative|greater|larger|higher|smaller|less|lower|at least|at most|in [\[(]|between|\d+(?:[ .,]|$))"
)
_INNER = frozenset(
    {"rank", "index", "idx", "shape", "dim", "data", "input", "inputs", "tensor", "values", "size", "scale", "x"}
)
_NUMBER = later(r"(?<![\w.])\d{1,12}(?:\.\d{1,6})?(?![\w.])")
#: an assertion that looks at settings, and the part of it that is asserted
_ASSERTED = later(r"^assert \(?(?P<asked>[^\n\"']{3,160}?)\)?(?:, ?f?[\"'(][^\n]*)?$")
_HOLDER = later(r"\b(?:\w{1,30}_)?(?:args|config|cfg|hparams)\.[a-z]")
#: sign of a comparison -> words
_SIGNS = {
    "==": ("equal to", "等于"), "!=": ("different from", "不等于"), ">=": ("at least", "不小于"),
    "<=": ("at most", "不大于"), ">": ("greater than", "大于"), "<": ("less than", "小于"),
}  # fmt: skip
_COMPARED = later(r" (==|!=|>=|<=|>|<) ")
_SIDES = 3  # left, sign, right
#: a relation that a sentence asks for in the notation of code
_TERM = r"(?:(?:--)?[A-Za-z_][\w.-]{1,60}|\d{1,9})"
_FORMULA = later(
    r"(?:requires?|expect(?:s|ed)?|needs?|must (?:hold|satisfy)|ensure(?: that)?|make sure(?: that)?):? "
    rf"(?P<formula>{_TERM}(?: [*/%+-] {_TERM}){{0,3}} (?:==|>=|<=) {_TERM}(?: [*/%+-] {_TERM}){{0,3}})"
)
_NO_SETTING = frozenset(
    {"res.text", "res.status_code", "e.g", "i.e", "less_than", "non-empty", "pre-trained", "self.config", "self.model"}
)

#: what is split over GPUs, and what it is multiplied or divided by on its way to one of them
#: (veRL: https://github.com/verl-project/verl/blob/v0.5.0/verl/workers/fsdp_workers.py, `normalize`)
_SPLIT = later(r"batch_size(?:_per_gpu)?$|^(?:global|mini|micro|train)_batch")
_FACTOR = later(
    r"(?:^|\.)(?:n_gpus_per_node|nnodes|num_nodes|num_processes|num_gpus|world_size|rollout\.n|num_generations|n_samples_per_prompt"
    r"|gradient_accumulation_steps|\w*(?:tensor|pipeline|context|sequence|ulysses_sequence)_(?:model_)?parallel_size)$"
)

#: what a message speaks of when data, not a setting, is at fault
_DATA = later(
    r"input_ids|position_ids|attention_mask|(?:loss|response)_mask|(?<!max_)log_?probs?\b|\btokens?\b|\bshapes?\b"
    r"|tensor\b(?! (?:model )?parallel)|dtype|indices|offsets|checksum|snapshot|gradients?\b|grad norm"
    r"|\bloss \w{1,12} exceeds|row mismatch|weight parameter|[Ss]hape mismatch|shard_idx|session_id|sync mode"
    r"|batch size mismatch|length mismatch|model tag|route count"
)
#: a setting with the value that somebody gave it
_GIVEN = later(r"\b[a-z][\w.]{2,60}=(?:[Tt]rue|[Ff]alse|'[\w.-]{1,40}'|\"[\w.-]{1,40}\")")

#: relation -> words that tell it, the most telling first
_RELATIONS = (
    ("divisible", later(r"divisible|multiple of|evenly|equal chunk| % ", re.IGNORECASE)),
    (
        "exclusive",
        later(
            r"cannot be (?:used|enabled|set|combined) (?:together|with|both)|mutually exclusive|conflict|only one of"
            r"|not compatible|incompatible|at the same time|simultaneously|(?:does|do|is)? ?not support(?!ed)"
            r"|^disable .{1,80} if ",
            re.IGNORECASE,
        ),
    ),
    (
        "missing",
        later(
            r"(?:must|should|need(?:s)? to|have to|has to) be (?:set|specified|provided|given|configured|enabled)"
            r"|(?:is|are) required|requires|Please set|is None\b|is not (?:set|configured|defined|provided)"
            r"|cannot be (?:None|empty)|not None|must specify|need to specify"
            r"|[Pp]lease (?:either )?(?:set|provide|specify|enable|add) ",
            re.IGNORECASE,
        ),
    ),
    (
        "order",
        later(
            r"(?:greater|larger|smaller|less|more|fewer|higher|lower) than|at least|at most|exceed|>=|<=|>|<|positive"
            r"|must be equal|must equal|should be equal|not equal to|does not match|mismatch| == |!=",
            re.IGNORECASE,
        ),
    ),
    (
        "value",
        later(
            r"not supported|unsupported|not implement|only supports?|only .{1,40} (?:is|are) supported|Unknown"
            r"|Invalid|must be one of"
            r"|should be (?:one of|in)|must be in|not in \[|not included in|expected|must be|should be",
            re.IGNORECASE,
        ),
    ),
)

MESSAGES = {
    "divisible": Message(
        en=Words(
            "{program} refuses the configuration: {settings} must divide without a remainder"
            "[?numbers| (it met {numbers})?]",
            "What is split over processes, micro batches, stages or parallel groups (a batch, layers, heads) must give "
            "each the same share. The numbers it compared do not divide: batch sizes, samples per prompt, GPUs and "
            "parallel sizes belong together.",
            "Choose {settings} so that the larger number is a multiple of the smaller one: change the batch size "
            "(times samples per prompt), the number of GPUs and nodes, or a parallel size (tensor, pipeline, "
            "sequence). For layers Megatron also takes other numbers for the first and last stage.",
        ),
        zh=Words(
            "{program} 拒绝该配置:{settings} 必须整除[?numbers|(实际为 {numbers})?]",
            "分给各进程、micro batch、流水级或并行组的东西(批次、层、注意力头)每份必须相同。它比较的数不能整除:批大"
            "小、每个 prompt 的样本数、GPU 数与并行大小要相互配合。",
            "调整 {settings},使较大的数是较小数的整数倍:修改批大小(乘以每个 prompt 的样本数)、"
            "GPU 与节点数,或并行大小(张量、流水线、序列)。对于层,Megatron 也可以为首末两级指定不同的层数。",
        ),
    ),
    "exclusive": Message(
        en=Words(
            "{program} refuses the configuration: {settings} cannot be used in this combination"
            "[?numbers| (it met {numbers})?]",
            "Its validation ends the run before training, because two of the chosen options exclude each other or "
            "one does not support the other.",
            "Turn one of {settings} off, or choose the variant that the documentation of this release lists as "
            "supported together.",
        ),
        zh=Words(
            "{program} 拒绝该配置:{settings} 不能这样组合使用[?numbers|(实际为 {numbers})?]",
            "其校验在训练开始前终止运行,因为所选的两个选项互相排斥,或其中一个不支持另一个。",
            "关闭 {settings} 之一,或改用该版本文档列为可同时使用的组合。",
        ),
    ),
    "missing": Message(
        en=Words(
            "{program} refuses the configuration: {settings} is not set as required[?numbers| (it met {numbers})?]",
            "Its validation ends the run before training: the chosen mode or algorithm requires this setting, and "
            "it is empty, misspelled or at another place in the configuration.",
            "Set {settings} in the configuration or on the command line, and compare its place with the default "
            "configuration of the installed release.",
        ),
        zh=Words(
            "{program} 拒绝该配置:{settings} 未按要求设置[?numbers|(实际为 {numbers})?]",
            "其校验在训练开始前终止运行:所选模式或算法要求该设置,而它为空、拼写有误或放在了配置的其他位置。",
            "在配置或命令行中设置 {settings},并与所装版本的默认配置核对其位置。",
        ),
    ),
    "order": Message(
        en=Words(
            "{program} refuses the configuration: {settings} do not fit together[?numbers| (it met {numbers})?]",
            "Its validation compares these sizes, and one is larger or smaller than the other allows: a mini batch "
            "within the batch, a length within the model's limit, GPUs within what the cluster has.",
            "Raise the one that is too small or lower the one that is too large of {settings}, until they stand in "
            "the relation that is required.",
        ),
        zh=Words(
            "{program} 拒绝该配置:{settings} 互不相符[?numbers|(实际为 {numbers})?]",
            "其校验比较这些大小,其中一个超出或低于另一个允许的范围:mini batch 不超过批大小,长度不超过模型上限,"
            "GPU 不超过集群所有。",
            "提高 {settings} 中过小的一个或降低过大的一个,直到满足要求的关系。",
        ),
    ),
    "bounds": Message(
        en=Words(
            "{program} refuses the configuration: {settings} is out of bounds[?numbers| (it met {numbers})?]",
            "Its validation knows the smallest or largest value that is valid for this setting, and the given value "
            "is outside. Often it was computed: a length that is left after the prompt, a size divided by the GPUs."
            "[?zero| A size that came out as 0 was divided among more GPUs (or parts) than it has to give.?]",
            "Set {settings} within the bounds that the installed release documents; where it is computed, correct "
            "the settings that it is computed from[?zero|: raise it, or what multiplies it (samples per prompt), until "
            "each GPU that shares it has at least 1, or use fewer GPUs?].",
        ),
        zh=Words(
            "{program} 拒绝该配置:{settings} 超出允许范围[?numbers|(实际为 {numbers})?]",
            "其校验限定了该设置的最小或最大值,而收到的值在范围之外。该值往往是计算得到的:"
            "prompt 之后剩余的长度,或除以 GPU 数后的大小。"
            "[?zero|结果为 0 说明它被分给了多于其数量的 GPU(或份)。?]",
            "把 {settings} 设在所装版本文档给出的范围内;若为计算所得,请更正参与计算的设置"
            "[?zero|:提高它或与之相乘的量(每个 prompt 的样本数),使分担它的每个 GPU 至少得到 1,或使用更少的 GPU?]。",
        ),
    ),
    "formula": Message(
        en=Words(
            "{program} refuses the configuration: `{left}` must be {relation} `{right}`[?numbers| (it met {numbers})?]",
            "Its code requires this before it continues, and the values here do not satisfy it: some are set, others "
            "are defaults or computed from the model, the batch or the number of GPUs.",
            "Change {settings} until `{left}` is {relation} `{right}`; one that you left out has a default, which "
            "counts as well.",
        ),
        zh=Words(
            "{program} 拒绝该配置:`{left}` 必须{relation} `{right}`[?numbers|(实际为 {numbers})?]",
            "其代码在继续之前要求这一关系,而此处的取值不满足:有的是设置的,有的是默认值,"
            "或由模型、批大小、GPU 数计算得到。",
            "修改 {settings},使 `{left}` {relation} `{right}`;没有设置的项取默认值,同样参与比较。",
        ),
    ),
    "choice": Message(
        en=Words(
            "{program} refuses the configuration: it knows no {kind}`{value}`[?allowed|, only {allowed}?]",
            "Its validation looks a name up among those that this release registers, and the one that was chosen "
            "is not there: it is misspelled, belongs to another release, or is your own and was not registered.",
            "Choose a name that the installed release has[?allowed|: {allowed}?]. A name from newer documentation "
            "needs that release; one of your own has to be registered, and its module imported, before it is looked "
            "up.",
        ),
        zh=Words(
            "{program} 拒绝该配置:不认识 {kind}`{value}`[?allowed|,仅有 {allowed}?]",
            "其校验在该版本注册的名称中查找所选名称,但没有找到:名称拼写有误、属于其他版本,或是尚未注册的自定义名称。",
            "改用所装版本已有的名称[?allowed|({allowed} 之一)?]。取自较新文档的名称需要相应版本;自定义名称须先注册,"
            "并在查找之前导入其模块。",
        ),
    ),
    "value": Message(
        en=Words(
            "{program} refuses the configuration: it does not support the value of {settings}"
            "[?numbers| (it met {numbers})?]",
            "Its validation ends the run before training: this release does not know or not support the value that "
            "was chosen, or it is under the wrong key.",
            "Choose a value that the installed release lists for {settings}, correct its spelling, or upgrade to a "
            "release that supports it.",
        ),
        zh=Words(
            "{program} 拒绝该配置:不支持 {settings} 的取值[?numbers|(实际为 {numbers})?]",
            "其校验在训练开始前终止运行:该版本不认识或不支持所选的值,或该值放在了错误的键下。",
            "改用所装版本为 {settings} 列出的取值,更正拼写,或升级到支持它的版本。",
        ),
    ),
}

_QUOTED = later(r"'<[^'\n]{1,40}>'|\"<[^\"\n]{1,40}>\"|<\|?[/\w]{1,30}\|?>")
#: words of sentences that are about a package, a device or an object in code, where no setting is at fault
_OTHER_CAUSES = later(
    r"[<>=]=\s?v?\d+\.\d"
    r"|\b(?:upgrade|install|installed|library|instance|callable|of type|vocab_size|requires a device)\b",
    re.IGNORECASE,
)


@record
class StatedRefusal:
    """What a message of a validation says: a relation of MESSAGES, settings and numbers in its order."""

    relation: str
    settings: tuple[str, ...]
    numbers: tuple[str, ...]
    sides: tuple[str, ...] = ()  # of a comparison in the notation of code: left, sign, right


def read(text: str) -> Optional[StatedRefusal]:
    """Understand a message, None where it names no setting or tells no relation."""
    formula = _FORMULA.search(text)
    if formula and _SETTING.search(formula["formula"]):
        return _asked(formula["formula"], text)
    plain = _QUOTED.sub("''", text)  # the sign in '</think>' compares nothing
    relation = next((name for name, pattern in _RELATIONS if pattern.search(plain)), None)
    settings = list(dict.fromkeys(_plain(name) for name in _SETTING.findall(text) if name not in _NO_SETTING))
    settings += [each for each in dict.fromkeys(_spoken(text)) if each not in settings]
    bare = _BARE.match(text)
    if bare and bare["name"] not in _INNER:
        relation, settings = "order", [bare["name"], *settings]
    settings = [each for each in settings if not any(other.endswith(f".{each}") for other in settings)]
    if relation == "order" and len(settings) == 1:
        relation = "bounds"
    if relation is None or not settings:
        return None
    numbers = list(dict.fromkeys(_NUMBER.findall(text)))
    return StatedRefusal(relation, tuple(settings[:_NAMES]), tuple(numbers[:_NAMES]))


def asserted_in(code: str) -> Optional[StatedRefusal]:
    """Understand `assert args.a % args.b == 0`, None where it does not look at settings of its own program."""
    match = _ASSERTED.match(code.strip())
    if match is None or not _HOLDER.search(match["asked"]):
        return None
    asked = re.sub(r"\b(?:self\.)?(?:\w{1,30}_)?(?:args|config|cfg|hparams)\.(?=[a-z])", "", match["asked"])
    return _asked(asked, "")


def _asked(formula: str, text: str) -> StatedRefusal:
    """What a relation in the notation of code asks for."""
    settings = dict.fromkeys(_plain(name) for name in _SETTING.findall(formula) if name not in _NO_SETTING)
    numbers = dict.fromkeys(_NUMBER.findall(text.replace(formula, "")))
    sides = _COMPARED.split(formula)
    if "%" in formula:
        relation = "divisible"
    elif len(sides) == _SIDES:
        relation = "formula"
    else:
        relation = "exclusive" if formula.startswith("not ") else "missing" if len(settings) == 1 else "order"
    return StatedRefusal(
        relation, tuple(settings)[:_NAMES], tuple(numbers)[:_NAMES], tuple(each.strip() for each in sides)
    )


def _spoken(text: str) -> list[str]:
    """Settings that a sentence names in plain words, as they are written in a configuration."""
    return [re.sub("[ -]", "_", name.lower()) for name in _SPOKEN.findall(text)]


def _plain(name: str) -> str:
    """A setting as the user writes it: without the object that the code keeps it in."""
    return re.sub(r"^(?:self\.)?(?:config|args|cfg)\.", "", name).strip(".")


def finding(
    problem: Problem, program: str, hits: Hits, text: str, relations: Container[str] = MESSAGES
) -> Optional[Finding]:
    """The words for a refusal, None where the message is not understood or tells another relation."""
    choice = refused_choices.read(text)
    if choice is not None:
        return _choice_finding(problem, program, hits, choice)
    refusal = None if hits.get("kind") in _WIDE_KINDS else _without_functions(read(text), hits)
    return None if refusal is None or refusal.relation not in relations else _worded(problem, program, hits, refusal)


def about_data(text: str) -> bool:
    """Whether a message speaks of what the code computes with, and quotes no setting with its value."""
    return bool(_DATA.search(text)) and not _GIVEN.search(text)


def _without_functions(refusal: Optional[StatedRefusal], hits: Hits) -> Optional[StatedRefusal]:
    """A refusal less the names of functions that the traceback went through: those are no settings."""
    if refusal is None:
        return None
    functions = {frame.rpartition(":")[2] for frame in hits.first.frames}
    settings = tuple(each for each in refusal.settings if each not in functions)
    return replace(refusal, settings=settings) if settings else None


def _compared(sides: tuple[str, ...]) -> dict[str, Any]:
    """The two sides of a comparison and the word between them."""
    if len(sides) != _SIDES:
        return {}
    left, sign, right = sides
    return {"left": left, "right": right, "relation": Phrase(*_SIGNS[sign])}


def _worded(problem: Problem, program: str, hits: Hits, refusal: StatedRefusal) -> Optional[Finding]:
    """The words for a relation; None where no setting could be named."""
    if not refusal.settings:
        return None
    met = ", ".join(refusal.numbers)
    here = values_of(refusal.settings, hits.config)
    return found(
        problem,
        _with_values(MESSAGES[refusal.relation]) if here else MESSAGES[refusal.relation],
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        program=program,
        settings=", ".join(f"`{each}`" for each in refusal.settings),
        **_compared(refusal.sides),
        numbers=met,
        zero="0" in refusal.numbers,
        here=", ".join(f"`{each}`" for each in here),
    )


def values_of(settings: Sequence[str], config: Mapping[str, str]) -> tuple[str, ...]:
    """What logs or context give the settings of a refusal; of a batch also what multiplies or divides it.

    Args:
        settings: as the message names them: whole, or by the end of a dotted name.
        config: every setting that is known, by its whole name.

    """
    wanted = tuple(_last(each) for each in settings)
    named = [f"{name}={value}" for name, value in config.items() if _last(name) in wanted]
    if not named or not any(_SPLIT.search(each) for each in wanted):
        return tuple(named[:_NAMES])
    return tuple(
        dict.fromkeys([*named[:_NAMES], *(f"{name}={value}" for name, value in config.items() if _FACTOR.search(name))])
    )


def _last(name: str) -> str:
    return name.lstrip("-").replace("-", "_").rpartition(".")[2]


def _with_values(message: Message) -> Message:
    """The message with a sentence on what is set, which is there only where something is known."""
    en, zh = message.en, message.zh
    return Message(
        replace(en, explanation=f"{en.explanation} What is set here: {{here}}."),
        replace(zh, explanation=f"{zh.explanation}此处的设置:{{here}}。") if zh is not None else None,
    )


def _choice_finding(problem: Problem, program: str, hits: Hits, choice: refused_choices.Choice) -> Finding:
    """The words for a name that is not among those that exist."""
    names = ", ".join(f"`{each}`" for each in choice.allowed)
    return found(
        problem,
        MESSAGES["choice"],
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        program=program,
        value=choice.value,
        kind=f"{choice.kind} " if choice.kind and choice.kind != "value" else "",
        allowed=names,
    )


def raised_in(hits: Hits, pattern: str) -> bool:
    """Whether the innermost frame of the first hit is in these files; a hit without frames says nothing."""
    frames = hits.first.frames
    return bool(frames) and re.search(pattern, frames[-1]) is not None


def refused(problem: Problem, program: str, hits: Hits, frame: str) -> Optional[Finding]:
    """The finding for a refusal in files that match `frame`, or for an assertion that a log quotes (`asserted`)."""
    asserted = hits.first.groups.get("asserted")
    if not asserted and not raised_in(hits, frame):
        return None
    if unequal_in(hits.get("message") or ""):
        return None  # two shapes that differ: a tensor is refused, no setting
    if not asserted and not hits.get("message"):
        refusal = asserted_in(hits.first.code)
        return None if refusal is None else _worded(problem, program, hits, refusal)
    return finding(problem, program, hits, asserted or hits.get("message") or "")


def setting_refused(problem: Problem, program: str, hits: Hits, frame: str) -> Optional[Finding]:
    """The same for libraries whose validation also looks at versions, devices and objects: those say nothing here."""
    if _OTHER_CAUSES.search(hits.get("message") or ""):
        return None
    return refused(problem, program, hits, frame)
