"""Finds a model's folder as the libraries do, and reads config, tokenizer and sizes from it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import Any

from doctor.base.evidence import Place
from doctor.base.fact import BrokenFile
from doctor.base.patterns import later
from doctor.base.record import distinct
from doctor.facts.model import Model
from doctor.readers.files import model_weights
from doctor.readers.files.settings import settings_of
from doctor.readers.machine.hub import cache_folder
from doctor.readers.script.python_source import SourceNotReadable, read_regular

_JSON_LIMIT_BYTES = 16 << 20
_REPOSITORY = later(r"[\w][\w.\-]*(/[\w][\w.\-]*)?")
_TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
    "vocab.json",
    "spiece.model",
    "vocab.txt",
)
#: where multimodal models keep the language model's part
#: (https://github.com/huggingface/transformers, `PretrainedConfig.get_text_config`)
_TEXT_PARTS = ("text_config", "llm_config", "language_config", "thinker_config")


# --- where ---


def find(
    name: str,
    cwd: Path,
    variables: Mapping[str, str],
    *,
    revision: str | None = None,
    cache_dir: str | None = None,
    expand_home: bool = False,
) -> str | None:
    """Folder with the files of a model: a local folder first, then ModelScope's cache, then the hub's."""
    try:
        local = cwd / (_expanded(name, variables) if expand_home else name)
        if local.exists():
            return str(local)
        if not _REPOSITORY.fullmatch(name):
            return None
        if variables.get("VLLM_USE_MODELSCOPE", "").lower() in {"1", "true"}:
            return _in_modelscope(name, variables)
        caches = [cache_dir or cache_folder(variables), variables.get("TRANSFORMERS_CACHE", "")]
        found = (_in_hub_cache(name, Path(_expanded(each, variables)), revision or "main") for each in caches if each)
        return next(filter(None, found), None)
    except (OSError, ValueError):
        return None


def _expanded(path: str, variables: Mapping[str, str]) -> str:
    home = variables.get("HOME")
    return f"{home}{path[1:]}" if home and (path == "~" or path.startswith("~/")) else path


def _in_hub_cache(name: str, cache: Path, revision: str) -> str | None:
    """`models--org--name/snapshots/<sha>`, by the branch's file under `refs` as huggingface_hub does."""
    base = cache / f"models--{name.replace('/', '--')}"
    commit = revision
    with suppress(SourceNotReadable):  # a commit's own hash has no file there
        commit = read_regular(str(base / "refs" / revision), 256).decode("ascii", "ignore").strip() or revision
    snapshot = base / "snapshots" / commit
    return str(snapshot) if snapshot.is_dir() else None


def _in_modelscope(name: str, variables: Mapping[str, str]) -> str | None:
    """Layouts of modelscope's releases, newest first (modelscope/hub/utils/utils.py)."""
    owner, _, model = name.partition("/")
    if not model:
        return None
    root = Path(_expanded(variables.get("MODELSCOPE_CACHE") or "~/.cache/modelscope", variables))
    safe = model.replace(".", "___")
    snapshots = root / "models" / f"{owner}--{model}" / "snapshots"
    candidates = [
        *(snapshots / each for each in ("master", "main")),
        *(
            base / owner / each
            for base in (root / "models", root / "hub" / "models", root / "hub", root)
            for each in (safe, model)
        ),
    ]
    return next((str(each) for each in candidates if each.is_dir()), None)


# --- what ---


@distinct
class _Folder:
    """JSON files of a model's folder; the first broken one and LFS pointers are remembered."""

    path: Path
    broken: BrokenFile | None = None
    pointers: list[str] = field(default_factory=list)

    def json(self, name: str) -> dict[str, Any]:
        """Content of a JSON object, {} when the file is absent or broken."""
        path = self.path / name
        try:
            content = read_regular(str(path), _JSON_LIMIT_BYTES)
        except SourceNotReadable as exc:
            if str(exc) != "does not exist":
                self.broken = self.broken or BrokenFile(Place(str(path)), f"it {exc}")
            return {}
        if content.startswith(model_weights.LFS_POINTER):
            self.pointers.append(name)
            return {}
        try:
            found = json.loads(content.decode("utf-8"))
        except UnicodeDecodeError:
            self._break(path, None, None, "it is not UTF-8 text")
            return {}
        except json.JSONDecodeError as exc:
            self._break(path, exc.lineno, exc.colno, f"not JSON: {exc.msg}")
            return {}
        except (RecursionError, ValueError):
            self._break(path, None, None, "nested too deeply, or a number too long, to be read")
            return {}
        if not isinstance(found, dict):
            self._break(path, 1, 1, "not a JSON object")
            return {}
        return found

    def _break(self, path: Path, line: int | None, column: int | None, message: str) -> None:
        self.broken = self.broken or BrokenFile(Place(str(path), line, column), message)

    def has(self, name: str) -> bool:
        """Whether a file is there."""
        return (self.path / name).is_file()


def read(name: str, path: Path) -> Model:
    """Everything about a model that its folder (or its single weights file) tells."""
    if path.is_file():
        return Model(name=name, folder=str(path.parent), weight_bytes=path.stat().st_size)
    folder = _Folder(path)
    config = folder.json("config.json")
    adapter = folder.json("adapter_config.json") if folder.has("adapter_config.json") else {}
    shape = _shape(config)
    weights = model_weights.read(path, dtype=shape["torch_dtype"], quantization=shape["quantization"])
    tokenizer = _tokenizer(folder)
    base = adapter.get("base_model_name_or_path")
    return Model(
        name=name,
        folder=str(path),
        **shape,
        **tokenizer,
        weight_bytes=weights.total_bytes,
        parameters=weights.parameters,
        missing_weights=weights.missing,
        lfs_pointers=tuple(dict.fromkeys((*folder.pointers, *weights.pointers))),
        is_adapter=bool(adapter) or folder.has("adapter_config.json"),
        base_model=base if isinstance(base, str) else None,
        broken=folder.broken or weights.broken,
        written=settings_of(config, Place(str(path / "config.json"))),
    )


def well_known(name: str) -> Model | None:
    """What public sources say of a model of the hub that is not on this machine; None of others."""
    from doctor.data.models import known_model

    known = known_model(name) if _REPOSITORY.fullmatch(name) else None
    if known is None:
        return None
    return Model(
        name=name,
        folder="",
        **_shape(known.config),
        parameters=known.parameters,
        sources=known.sources,
        gated=known.gated or None,
        own_code=known.own_code or None,
    )


def _shape(config: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of config.json, those of the language model where there are several."""
    text = _text_part(config)

    def number(*names: str) -> int | None:
        found = (part.get(each) for each in names for part in (text, config))
        return next((each for each in found if isinstance(each, int) and not isinstance(each, bool)), None)

    def first(kind: type, *names: str) -> Any:
        found = (part.get(each) for each in names for part in (config, text))
        return next((each for each in found if isinstance(each, kind)), None)

    architectures = config.get("architectures")
    rope = _rope(text)
    return {
        "model_type": first(str, "model_type"),
        "architectures": tuple(map(str, architectures)) if isinstance(architectures, list) else (),
        "hidden_size": number("hidden_size", "n_embd", "d_model"),
        "layers": number("num_hidden_layers", "n_layer", "num_layers", "n_layers"),
        "attention_heads": number("num_attention_heads", "n_head", "n_heads"),
        "kv_heads": number("num_key_value_heads", "n_head_kv", "num_kv_heads", "multi_query_group_num"),
        "head_dim": number("head_dim"),
        "intermediate_size": number("intermediate_size", "n_inner", "ffn_hidden_size"),
        "vocab_size": number("vocab_size", "padded_vocab_size"),
        "max_position_embeddings": number(
            "max_position_embeddings", "n_positions", "max_sequence_length", "seq_length"
        ),
        "torch_dtype": _dtype(first(str, "torch_dtype", "dtype")),
        "quantization": _quantization(config) or _quantization(text),
        "tie_word_embeddings": first(bool, "tie_word_embeddings"),
        "experts": number("num_experts", "num_local_experts", "n_routed_experts"),
        "rope_type": rope[0],
        "rope_factor": rope[1],
    }


def _text_part(config: Mapping[str, Any]) -> Mapping[str, Any]:
    part = config
    for _ in range(2):  # Qwen-Omni: thinker_config.text_config
        inner = next((part[each] for each in _TEXT_PARTS if isinstance(part.get(each), dict)), None)
        if inner is None:
            break
        part = inner
    return part


def _dtype(text: str | None) -> str | None:
    return text.removeprefix("torch.") if text and text != "auto" else None


def _quantization(config: Mapping[str, Any]) -> str | None:
    """Method of `quantization_config`; bitsandbytes' older files name none."""
    found = config.get("quantization_config")
    if not isinstance(found, dict):
        return None
    method = found.get("quant_method")
    if isinstance(method, str):
        return method
    return "bitsandbytes" if found.get("load_in_4bit") or found.get("load_in_8bit") else None


def _rope(config: Mapping[str, Any]) -> tuple[str | None, float | None]:
    """Kind and factor of `rope_scaling` (in newer files `rope_parameters`)."""
    found = config.get("rope_scaling") or config.get("rope_parameters")
    if not isinstance(found, dict):
        return None, None
    kind = found.get("rope_type") or found.get("type")
    factor = found.get("factor")
    number = float(factor) if isinstance(factor, (int, float)) and not isinstance(factor, bool) else None
    return (kind if isinstance(kind, str) else None), number


def _tokenizer(folder: _Folder) -> dict[str, Any]:
    """Template and special tokens; all None when the folder holds no tokenizer."""
    present = [each for each in _TOKENIZER_FILES if folder.has(each)]
    if not present:
        return {}
    config = folder.json("tokenizer_config.json") if "tokenizer_config.json" in present else {}
    special = folder.json("special_tokens_map.json") if folder.has("special_tokens_map.json") else {}
    template = any(folder.has(each) for each in ("chat_template.jinja", "chat_template.json"))
    pad = _token(config.get("pad_token")) or _token(special.get("pad_token"))
    known = bool(config or special)
    named = config.get("tokenizer_class")
    return {
        "marks_assistant": _marks_assistant(folder, config.get("chat_template")),
        "tokenizer_class": named if isinstance(named, str) else None,
        "has_tokenizer": True,
        "has_chat_template": template or bool(config.get("chat_template")) if known or template else None,
        "has_pad_token": pad is not None if known else None,
        "eos_token": _token(config.get("eos_token")) or _token(special.get("eos_token")),
        "pad_token": pad,
    }


def _marks_assistant(folder: _Folder, written: Any) -> bool | None:
    """Of the template's own file, which counts first, else of the configuration; one of several is not known.

    https://huggingface.co/docs/transformers/chat_templating_writing
    """
    text = written
    if folder.has("chat_template.jinja"):
        with suppress(SourceNotReadable):
            text = read_regular(str(folder.path / "chat_template.jinja"), _JSON_LIMIT_BYTES).decode("utf-8", "replace")
    return re.search(r"\{%-?\s*generation\b", text) is not None if isinstance(text, str) else None


def _token(value: Any) -> str | None:
    """A special token, written as text or as `{"content": "<pad>"}`."""
    if isinstance(value, dict):
        value = value.get("content")
    return value if isinstance(value, str) and value else None
