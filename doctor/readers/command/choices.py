"""Collects the fact `choices`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from doctor.base.fact import DoesNotApply, fact
from doctor.base.patterns import later
from doctor.facts.choices import _MEMBER, Choices, names
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages

#: no file that is read here is larger than a third of this
LIMIT_BYTES = 1 << 20
_COMMENT = later(r"#.*")
_WORD = later(r"""["']([^"'\n]*)["']""")
_REGISTERED = later(r"@\w+ParserManager\.register_module\(\s*(\[[^\]]*\]|[^)]*)\)")
_KEY = later(r"""^    ["']([\w.\-]+)["']\s*:\s*\(""", re.MULTILINE)
_JOINED = later(r"""["']\s*\n\s*f?["']""")


def members(text: str, name: str) -> tuple[str, ...]:
    """Values of an enumeration of words; nothing where one of them is computed."""
    head = re.search(rf"^class {name}\(.*\):\n", text, re.MULTILINE)
    if head is None:
        return ()
    body = re.split(r"^\S", text[head.end() :], maxsplit=1, flags=re.MULTILINE)[0]
    values = [_WORD.fullmatch(value.partition("  #")[0].strip()) for _, value in _MEMBER.findall(body)]
    return tuple(each[1] for each in values if each) if all(values) else ()


def literal(text: str, name: str) -> tuple[str, ...]:
    """Values of an alias of a Literal, or of a list or tuple of constants."""
    head = re.search(rf"^ *{name}(?:\s*:[^=\n]+)?\s*=\s*(?:Literal)?[\[(]", text, re.MULTILINE)
    if head is None:
        return ()
    # a comment may hold a bracket, and what goes on behind the bracket (`| Literal[...]`, `+ MORE`) is not read
    whole = re.match(r"([^\])]*)[\])] *(?:\n|$)", _COMMENT.sub("", text[head.end() :]))
    entries = [each.strip() for each in whole[1].split(",")] if whole else []
    values = [_constant(each) for each in entries if each]
    return tuple(each for each in values if each is not None) if all(values) else ()


def _constant(text: str) -> str | None:
    quoted = _WORD.fullmatch(text)
    return quoted[1] if quoted else text if text.isdigit() else None


def sentence(text: str, beginning: str) -> tuple[str, ...]:
    """Quoted words of an error message that lists what is allowed, behind its `beginning`."""
    at = text.find(beginning)
    if at < 0:
        return ()
    told = _JOINED.sub("", text[at + len(beginning) : at + 600]).split("\n")[0]
    allowed = re.split(r"Must be|Possible values are|must be either", beginning + told, maxsplit=1)
    return tuple(re.findall(r"'(\w+)'", allowed[-1].partition(", got")[0]))


def keys(text: str, name: str) -> tuple[str, ...]:
    """Keys of a dictionary of words that a function makes, one a line."""
    match = re.search(rf"^ *{name} = \{{\n(.*?)^ *\}}", text, re.MULTILINE | re.DOTALL)
    return tuple(re.findall(r"""^ *["'](\w+)["']\s*:""", match[1], re.MULTILINE)) if match else ()


def registered(text: str) -> tuple[str, ...]:
    """Names under which a module registers parsers: the table of newer releases, the decorators of older ones."""
    table = text.partition("_PARSERS_TO_REGISTER")[2]
    decorated = [word for each in _REGISTERED.findall(text) for word in _WORD.findall(each)]
    return (*_KEY.findall(table), *decorated)


#: package, files in it (several: where releases keep it; a pattern: all of them), how it is read, names
_Reader = Callable[[str, str], tuple[str, ...]]
_SOURCES: tuple[tuple[str, tuple[str, ...], _Reader, tuple[str, ...]], ...] = (
    ("transformers", ("training_args.py",), members, ("OptimizerNames",)),
    (
        "transformers",
        ("trainer_utils.py",),
        members,
        ("IntervalStrategy", "SaveStrategy", "HubStrategy", "SchedulerType"),
    ),
    ("trl", ("scripts/grpo.py",), keys, ("reward_funcs_registry",)),
    ("verl", ("trainer/ppo/core_algos.py",), members, ("AdvantageEstimator",)),
    ("vllm", ("config/lora.py", "config/__init__.py"), literal, ("MaxLoRARanks",)),
    ("vllm", ("config.py",), literal, ("possible_max_ranks",)),
    ("vllm", ("model_executor/layers/quantization/__init__.py",), literal, ("QuantizationMethods",)),
    ("vllm", ("model_executor/layers/quantization/__init__.py",), literal, ("QUANTIZATION_METHODS",)),
    ("vllm", ("v1/attention/backends/registry.py", "attention/backends/registry.py"), names, ("AttentionBackendEnum",)),
    ("vllm", ("config/model.py",), literal, ("ModelDType",)),
)
_TRL_MODULES = ("generation/vllm_generation.py", "trainer/grpo_trainer.py")
_TRL_SENTENCES = {
    "vllm_mode": "vllm_mode must be either",
    "scale_rewards": "Invalid value for scale_rewards: ",
    "importance_sampling_level": "Unknown importance sampling level: ",
    "vllm_importance_sampling_mode": "Unknown vLLM importance sampling level: ",
    "multi_objective_aggregation": "Invalid multi_objective_aggregation: ",
}
_PARSERS = {
    "tool_call_parser": ("tool_parsers", "entrypoints/openai/tool_parsers"),
    "reasoning_parser": ("reasoning",),
}


@fact()
def collect(packages: Packages, launch: Launch) -> Choices:
    """Read the few files that hold them; a library that is not installed has none.

    Raises:
        Unavailable: there is no command that could set something.

    """
    if not (launch.trains or launch.serves):
        raise DoesNotApply("the command starts neither training nor a server")
    roots = {name: Path(path) for name, path in packages.modules.items() if path and name not in packages.namespaces}
    return Choices({name: words for name, words in _all(roots) if words})


def _all(roots: Mapping[str, Path]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for package, files, read, kinds in _SOURCES:
        text = _first(roots.get(package), files)
        for kind in kinds if text else ():
            yield f"{package}.{kind}", read(text, kind)
    for module in _TRL_MODULES:
        text = _first(roots.get("trl"), (module,))
        for name, beginning in _TRL_SENTENCES.items() if text else ():
            yield f"trl.{name}", sentence(text, beginning)
    for name, folders in _PARSERS.items():
        for folder in folders:
            yield f"vllm.{name}", _parsers(roots.get("vllm"), folder)


def _parsers(root: Path | None, folder: str) -> tuple[str, ...]:
    """Of the package's own module, else of all modules beside it."""
    if root is None:
        return ()
    table = registered(_read(root / folder / "__init__.py"))
    return table or tuple(
        word for path in sorted((root / folder).glob("*_parser.py")) for word in registered(_read(path))
    )


def _first(root: Path | None, files: tuple[str, ...]) -> str:
    return next((text for each in files if root is not None and (text := _read(root / each))), "")


def _read(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return stream.read(LIMIT_BYTES).decode(errors="replace")
    except OSError:
        return ""
