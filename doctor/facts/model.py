"""The model named by the command, as far as its files lie on this machine."""

from __future__ import annotations

from dataclasses import field

from doctor.base.fact import BrokenFile, Settings
from doctor.base.record import record


@record
class Model:
    """`config.json`, tokenizer files and weights of a local folder or of the Hugging Face cache. None: not stated.

    Of a model that would have to be downloaded, what public sources state of it (`doctor.data.models`): `folder` is
    empty, and nothing is known of its files.

    Args:
        name: as written by the user; `folder` where its files were found.
        sources: addresses of the public sources, of a model that is not on this machine.
        gated: the hub wants an agreement before it hands the files out; None: nobody says so.
        own_code: the model's repository brings code of its own (`auto_map`); None: nobody says so.
        weight_bytes: size of the weight files; `lfs_pointers` names files that are Git LFS pointers instead of content.
        parameters: number of parameters, from the safetensors index or headers, else None.
        has_chat_template: from tokenizer_config.json or chat_template.jinja; None without tokenizer files.
        missing_weights: files that the weights' index names and that are not there.
        base_model: of an adapter, what it was trained on.
        tokenizer_class: that tokenizer_config.json names.
        marks_assistant: its chat template marks the assistant's words (`{% generation %}`); None without a template.
        rope_type, rope_factor: of `rope_scaling`, by which servers extend `max_position_embeddings`.
        written: what a folder's `config.json` says, dotted; nothing of a model that is not on this machine.

    """

    name: str
    folder: str
    model_type: str | None = None
    architectures: tuple[str, ...] = ()
    hidden_size: int | None = None
    layers: int | None = None
    attention_heads: int | None = None
    kv_heads: int | None = None
    head_dim: int | None = None
    intermediate_size: int | None = None
    vocab_size: int | None = None
    max_position_embeddings: int | None = None
    torch_dtype: str | None = None
    quantization: str | None = None
    tie_word_embeddings: bool | None = None
    experts: int | None = None
    weight_bytes: int | None = None
    parameters: int | None = None
    lfs_pointers: tuple[str, ...] = ()
    has_tokenizer: bool = False
    has_chat_template: bool | None = None
    has_pad_token: bool | None = None
    eos_token: str | None = None
    pad_token: str | None = None
    is_adapter: bool = False
    broken: BrokenFile | None = None
    missing_weights: tuple[str, ...] = ()
    base_model: str | None = None
    rope_type: str | None = None
    rope_factor: float | None = None
    sources: tuple[str, ...] = ()
    gated: bool | None = None
    own_code: bool | None = None
    tokenizer_class: str | None = None
    marks_assistant: bool | None = None
    written: Settings = field(default_factory=dict)

    @property
    def here(self) -> bool:
        """Whether its files lie on this machine."""
        return bool(self.folder)

    @property
    def stated_in(self) -> str:
        """Where its configuration stands: a file, or the first of the public sources."""
        return f"{self.folder}/config.json" if self.folder else next(iter(self.sources), self.name)
