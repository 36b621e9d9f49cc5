"""The idiom about a tokenizer that belongs to another model than the one that is trained."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from doctor.base.patterns import later
from doctor.readers.script.flow.program import named, text_of
from doctor.readers.script.python_source import ParsedFile

_TOKENIZERS = later(r"Tokenizer(?:Fast)?$")
_MODELS = later(r"ForCausalLM$")
#: families whose vocabularies differ, by the names of their models
_FAMILIES = (
    ("Llama 3", later(r"(?i)llama-?3|distill-llama")), ("Llama 2", later(r"(?i)llama-?2|tinyllama")),
    ("Qwen", later(r"(?i)qwen|qwq")), ("Gemma", later(r"(?i)gemma")), ("Mistral", later(r"(?i)mi[sx]tral")),
    ("SmolLM", later(r"(?i)smollm")), ("Phi", later(r"(?i)\bphi-?\d")), ("Pythia", later(r"(?i)pythia")),
    ("OPT", later(r"(?i)\bopt-\d")), ("GPT-2", later(r"(?i)\bgpt2")), ("Falcon", later(r"(?i)falcon")),
)  # fmt: skip
_REPOSITORY = later(r"^[\w.-]+(?:/[\w.-]+)?$")
#: what gives a model another vocabulary on purpose
_CHANGES = ("resize_token_embeddings", "teacher", "student", "draft", "translate")


def tokenizer_of_another_model(
    sources: Sequence[ParsedFile],
) -> Iterator[tuple[ParsedFile, ast.AST, Mapping[str, str]]]:
    """One model and one tokenizer in a project, of families with different vocabularies."""
    if any(word in each.text.lower() for each in sources for word in _CHANGES):
        return
    loaded = [(source, call) for source in sources for call in _loads(source)]
    models = {_named(source, call) for source, call in loaded if _MODELS.search(_owner(call))}
    tokenizers = [(s, c) for s, c in loaded if _TOKENIZERS.search(_owner(c))]
    names = {_named(source, call) for source, call in tokenizers}
    if len(models) != 1 or len(names) != 1:
        return
    (model,), (tokenizer,) = models, names
    families = _family(model), _family(tokenizer)
    if all(families) and families[0] != families[1]:
        source, call = tokenizers[0]
        yield source, call, {"tokenizer": tokenizer, "model": model, "family": families[0]}


def _loads(source: ParsedFile) -> Iterator[ast.Call]:
    if "from_pretrained" in source.text:
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Call) and named(node) == "from_pretrained":
                yield node


def _owner(call: ast.Call) -> str:
    return text_of(call.func.value).rpartition(".")[2] if isinstance(call.func, ast.Attribute) else ""


def _named(source: ParsedFile, call: ast.Call) -> str:
    """The name that a call loads; "" where it is not plain."""
    given = call.args[0] if call.args else None
    if isinstance(given, ast.Name):
        values = [
            each.value for each in ast.walk(source.tree) if isinstance(each, ast.Assign)
            and any(isinstance(e, ast.Name) and e.id == given.id for target in each.targets for e in ast.walk(target))
        ]  # fmt: skip
        given = values[0] if len(values) == 1 else None
    text = given.value if isinstance(given, ast.Constant) else None
    return text if isinstance(text, str) and _REPOSITORY.search(text) else ""


def _family(name: str) -> str:
    found = [family for family, pattern in _FAMILIES if pattern.search(name)]
    return found[0] if len(found) == 1 else ""
