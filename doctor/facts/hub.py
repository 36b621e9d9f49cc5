"""Hugging Face access: token, endpoint, cache, offline switches. Never the token itself."""

from __future__ import annotations

from doctor.base.record import record


@record
class Hub:
    """Args:
    has_token: HF_TOKEN, HUGGING_FACE_HUB_TOKEN or the token file.
    offline: HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE.
    endpoint: HF_ENDPOINT when set (a mirror), without any password.
    cached_models: repository ids that lie in the cache.
    wandb_logged_in: WANDB_API_KEY or an entry in ~/.netrc for the W&B host.

    """

    has_token: bool = False
    offline: bool = False
    endpoint: str | None = None
    cache_dir: str | None = None
    cached_models: tuple[str, ...] = ()
    use_modelscope: bool = False
    wandb_logged_in: bool = False
    wandb_mode: str | None = None
    interactive: bool = False  # a terminal is attached, so a login prompt could be answered
