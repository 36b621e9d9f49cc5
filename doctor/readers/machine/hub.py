"""Collects the fact `hub`."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from doctor.base.deadline import within
from doctor.base.fact import Context, fact
from doctor.base.redact import redact_text
from doctor.facts.environment import Environment
from doctor.facts.hub import Hub

_FOLDERS_S = 1.0  # the cache often lies on a network file system
_MAX_MODELS = 2000
_MAX_BYTES = 64 << 10


@fact()
def collect(context: Context, environment: Environment) -> Hub:
    """Hugging Face and Weights & Biases access as the launched command would have it."""
    variables = environment.variables
    home = _home_folder(variables)
    cache = cache_folder(variables)
    netrc = variables.get("NETRC") or context.environ.get("NETRC") or f"{variables.get('HOME', '~')}/.netrc"
    answered, files = within(_FOLDERS_S, lambda: _on_disk(home, cache, variables, netrc))
    models, token_file, wandb = files if answered and files is not None else ((), False, False)
    endpoint = variables.get("HF_ENDPOINT")
    return Hub(
        has_token=token_file or any(variables.get(name) for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")),
        offline=_yes(variables.get("HF_HUB_OFFLINE") or variables.get("TRANSFORMERS_OFFLINE")),
        endpoint=redact_text(endpoint) if endpoint else None,
        cache_dir=cache,
        cached_models=models,
        use_modelscope=variables.get("VLLM_USE_MODELSCOPE", "").lower() in {"1", "true"},
        wandb_logged_in=bool(variables.get("WANDB_API_KEY")) or wandb,
        wandb_mode=variables.get("WANDB_MODE"),
        interactive=any(_is_terminal(number) for number in (0, 1, 2)),
    )


def cache_folder(variables: Mapping[str, str]) -> str:
    """Folder of downloaded repositories, by the rule of huggingface_hub's constants.py. `~` may stand in front."""
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if variables.get(name):
            return variables[name]
    return _home_folder(variables) + "/hub"


def _home_folder(variables: Mapping[str, str]) -> str:
    if variables.get("HF_HOME"):
        return variables["HF_HOME"].rstrip("/") or "/"
    return (variables.get("XDG_CACHE_HOME") or "~/.cache").rstrip("/") + "/huggingface"


def _on_disk(home: str, cache: str, variables: Mapping[str, str], netrc: str) -> tuple[tuple[str, ...], bool, bool]:
    """(cached models, whether a token file lies there, whether W&B's host is in netrc)."""

    def expand(path: str) -> str:
        return variables.get("HOME", "~") + path[1:] if path.startswith("~") else path

    token = expand(variables.get("HF_TOKEN_PATH") or f"{home}/token")
    host = urlsplit(variables.get("WANDB_BASE_URL") or "https://api.wandb.ai").hostname or ""
    entry = re.search(rf"machine\s+{re.escape(host)}\s", _text(expand(netrc)) + " ") if host else None
    return _models(expand(cache)), bool(_text(token).strip()), entry is not None


def _models(folder: str) -> tuple[str, ...]:
    """Repositories with at least one snapshot: "models--Qwen--Qwen2.5-7B" is Qwen/Qwen2.5-7B."""
    found: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if len(found) >= _MAX_MODELS:
                    break
                if entry.name.startswith("models--") and _has_entries(f"{entry.path}/snapshots"):
                    found.append(entry.name[len("models--") :].replace("--", "/"))
    except OSError:
        return ()
    return tuple(sorted(found))


def _has_entries(folder: str) -> bool:
    try:
        with os.scandir(folder) as entries:
            return next(entries, None) is not None
    except OSError:
        return False


def _text(path: str) -> str:
    """Beginning of a small regular file, "" when there is none."""
    try:
        if not Path(path).is_file():
            return ""
        with Path(path).open("rb") as file:
            return file.read(_MAX_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def _yes(value: str | None) -> bool:
    """Read a flag as huggingface_hub does."""
    return (value or "").upper() in {"1", "ON", "YES", "TRUE"}


def _is_terminal(number: int) -> bool:
    try:
        return os.isatty(number)
    except OSError:
        return False
