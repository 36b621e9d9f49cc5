"""Which configuration classes take the fields of transformers.TrainingArguments."""

from __future__ import annotations

from doctor import data


def inherits_training_arguments(owner: str | None, trl_version: str) -> bool:
    """Tell whether a configuration class takes the fields of TrainingArguments."""
    if owner in {"TrainingArguments", "Seq2SeqTrainingArguments"}:
        return True
    known = data.trl_class(owner) if owner else None
    return known is not None and bool(known.inherits_training_arguments(trl_version))


def own_to_trl(owner: str | None, name: str, trl_version: str) -> bool:
    """Tell whether the installed TRL declares a field itself, so that Transformers' history does not decide."""
    history = data.trl_argument(owner, name) if owner else None
    return history is not None and bool(history.exists_in(trl_version))
