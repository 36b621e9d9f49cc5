"""The witness of a TRL trainer: where its engine is, when it pushes weights, and what its batches hold.

Found by what an object has, for these paths have changed from release to release:
https://github.com/huggingface/trl/blob/v1.16.0/trl/generation/vllm_generation.py
https://github.com/huggingface/trl/blob/v0.22.0/trl/trainer/grpo_trainer.py

Runs inside the patient: Python 3.9, the patient's own objects.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Callable, Optional, Sequence

from doctor.monitors.guard.guard import Guard
from doctor.monitors.guard.shield import shielded
from doctor.monitors.guard.wrapping import wrap
from doctor.monitors.witness.asked import CannotAsk, Engine
from doctor.monitors.witness.inside import LocalLlm, follow
from doctor.monitors.witness.judge import Batch
from doctor.monitors.witness.policy import TrainedModel
from doctor.monitors.witness.served import engine_at
from doctor.monitors.witness.together import ranks_compute_together
from doctor.monitors.witness.witness import Witness

#: from a trainer to the object that generates, and to the one that pushes with the name of what does
CLIENTS = ("vllm_generation.vllm_client", "vllm_client")
LLMS = ("vllm_generation.llm", "llm")
PUSHES = (("vllm_generation", "sync_weights"), ("", "_move_model_to_vllm"))
GENERATES = ("generate", "chat")

#: sequences of an engine that are kept for a batch to be looked up among; where there were more, none is looked up
MOST_SEQUENCES = 2048

#: parts of a batch that tell of images, whose places each side fills with tokens of its own
_IMAGES = ("pixel_values", "image_grid_thw", "image_sizes")


def witness_of(trainer: Any, guard: Guard) -> Optional[TrainerWitness]:
    """The witness of a trainer that samples with an engine; None where it has none, or none is wanted."""
    if guard.rank or not guard.options.witness:
        return None
    client, llm = _first(trainer, CLIENTS), _first(trainer, LLMS)
    if client is None and llm is None:
        return None
    return TrainerWitness(trainer, guard, client, llm)


def _first(owner: Any, paths: Sequence[str]) -> Any:
    for path in paths:
        with suppress(AttributeError):
            found = follow(owner, path)
            if found is not None:
                return found
    return None


class TrainerWitness:
    """Hooks on one trainer; taken off when the training ends."""

    def __init__(self, trainer: Any, guard: Guard, client: Any, llm: Any) -> None:
        self._trainer = trainer
        self._talks = client if client is not None else llm
        self._inside = client is None
        self._tokenizer = _tokenizer(trainer)
        self._sequences: list[list[int]] = []
        self._episodes: tuple[Any, Any] = (None, None)
        self._undo: list[Callable[[], None]] = []
        self._original = getattr(self._talks, "generate", None)
        policy = TrainedModel(
            trainer.model, _context(trainer), lambda: getattr(trainer, "model_wrapped", None),
            together=forwards_together(trainer),
        )  # fmt: skip
        self.witness = Witness(
            guard, policy, self._engine, lambda: int(trainer.state.global_step), self._tokenizer,
            every=guard.options.witness_every, temperature=lambda: getattr(trainer, "temperature", None),
        )  # fmt: skip

    @shielded
    def attach(self) -> None:
        """Put the hooks on, and look at the engine before anything is pushed, where it is awake."""
        for path, name in PUSHES:
            with suppress(AttributeError):
                owner = follow(self._trainer, path) if path else self._trainer
                if callable(getattr(owner, name, None)):
                    self._undo.append(wrap(owner, name, self._around_push))
        for name in GENERATES:
            if callable(getattr(self._talks, name, None)):
                self._undo.append(wrap(self._talks, name, self._around_generate))
        if callable(getattr(self._trainer, "_calculate_rewards", None)):
            self._undo.append(wrap(self._trainer, "_calculate_rewards", self._around_rewards))
        if callable(getattr(self._trainer, "_generate_and_score_completions", None)):
            self._undo.append(wrap(self._trainer, "_generate_and_score_completions", self._around_batch))
        if not self._sleeps():
            self.witness.begin()

    def close(self) -> None:
        """Take the hooks off and say the last word."""
        while self._undo:
            self._undo.pop()()
        self.witness.close()
        self._sequences.clear()

    def _sleeps(self) -> bool:
        """Whether an engine in this process has no weights before the first push (sleep mode)."""
        asked = getattr(getattr(self._trainer, "args", None), "vllm_enable_sleep_mode", False)
        return self._inside and bool(asked)

    def _engine(self) -> Engine:
        if self._inside:
            return LocalLlm(self._talks, generate=self._original)
        url = getattr(self._talks, "base_url", None)
        if not isinstance(url, str):
            raise CannotAsk("the trainer does not expose its engine")
        model = getattr(self._talks, "model", None)
        return engine_at(url, model if isinstance(model, str) else None)

    def _around_push(self, original: Any) -> Any:
        def pushes(*args: Any, **kwargs: Any) -> Any:
            self.witness.pushing()
            result = original(*args, **kwargs)
            self.witness.pushed()
            return result

        return pushes

    def _around_generate(self, original: Any) -> Any:
        def generates(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            self._keep(result)
            self.witness.look()
            return result

        return generates

    @shielded
    def _keep(self, result: Any) -> None:
        """Remember what the engine had, prompt and answer, where it will be asked for."""
        if not self.witness.wants_sequences:
            return
        if isinstance(result, dict):
            prompts, answers = result.get("prompt_ids") or [], result.get("completion_ids") or []
            each = len(answers) // len(prompts) if prompts else 0
            for at, answer in enumerate(answers):
                if each:
                    self._take([*prompts[at // each], *answer])
            return
        for output in result if isinstance(result, list) else []:
            for answer in getattr(output, "outputs", ()):
                self._take([*(output.prompt_token_ids or ()), *answer.token_ids])

    def _take(self, sequence: list[int]) -> None:
        if len(self._sequences) <= MOST_SEQUENCES:
            self._sequences.append(sequence)

    def _looked_up(self, count: int, told: Any) -> Optional[list[list[int]]]:
        """What the engine had of a batch; None where that is not known whole."""
        if any(name in told for name in _IMAGES) or not count <= len(self._sequences) <= MOST_SEQUENCES:
            return None
        return list(self._sequences)

    def _around_rewards(self, original: Any) -> Any:
        def calculates(inputs: Any, prompts: Any, completions: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(inputs, prompts, completions, *args, **kwargs)
            if self.witness.wants_batch:
                self._keep_episodes(completions, result)
            return result

        return calculates

    @shielded
    def _keep_episodes(self, completions: Any, rewards: Any) -> None:
        """Answers of this rank with the sum of their rewards; those of other ranks stand in the same table."""
        if not isinstance(completions, list) or len(getattr(rewards, "shape", ())) != 2:
            return
        table = rewards[: len(completions)].tolist()
        sums = [[value for value in row if value == value] for row in table]  # noqa: PLR0124 - NaN: not meant for it
        self._episodes = completions, [sum(row) if row else None for row in sums]

    def _around_batch(self, original: Any) -> Any:
        def generate_and_score(*args: Any, **kwargs: Any) -> Any:
            self._sequences.clear()
            result = original(*args, **kwargs)
            self.witness.settle()
            if self.witness.wants_batch:
                self._look_at(result)
            return result

        return generate_and_score

    @shielded
    def _look_at(self, told: Any) -> None:
        """A batch of TRL: ids with padding, the masks, and log probabilities of both sides where both are there."""
        if not isinstance(told, dict) or "completion_ids" not in told or "prompt_ids" not in told:
            return
        prompts = _unpadded(told["prompt_ids"], told["prompt_mask"])
        answers = _unpadded(told["completion_ids"], told["completion_mask"])
        tools = told.get("tool_mask")
        counted = told["completion_mask"] if tools is None else told["completion_mask"] * tools
        masks = _unpadded(counted, told["completion_mask"])
        whole = [[*prompt, *answer] for prompt, answer in zip(prompts, answers)]  # noqa: B905 - Python 3.9
        trained = [[0] * len(prompt) + mask for prompt, mask in zip(prompts, masks)]  # noqa: B905
        batch = Batch(
            engine_ids=self._looked_up(len(whole), told), trained_ids=whole,
            trained_mask=trained, sampled_logps=told.get("sampling_per_token_logps"),
            trained_logps=told.get("old_per_token_logps"), mask=counted,
            classes=_classes(told["completion_ids"], tools, self._tokenizer), answers=self._episodes[0],
            rewards=self._episodes[1],
        )  # fmt: skip
        self.witness.batch(batch, self._name)

    def _name(self, token: int) -> str:
        """A token as the tokenizer writes it."""
        try:
            text = repr(self._tokenizer.decode([token]))[1:-1]
        except Exception:  # noqa: BLE001 - a tokenizer of somebody's own
            text = ""
        return f"{text} ({token})" if text else str(token)


def _tokenizer(trainer: Any) -> Any:
    """The tokenizer, also within a processor of images."""
    found = getattr(trainer, "processing_class", None) or getattr(trainer, "tokenizer", None)
    return getattr(found, "tokenizer", found)


def forwards_together(trainer: Any) -> bool:
    """Whether a forward on one rank alone would wait for others: each takes a part of a sequence, or of a layer.

    https://github.com/huggingface/accelerate/blob/v1.15.0/src/accelerate/parallelism_config.py
    """
    config = getattr(getattr(trainer, "accelerator", None), "parallelism_config", None)
    sizes = [getattr(config, name, 1) for name in ("sp_size", "cp_size", "tp_size")]
    sizes.append(getattr(getattr(trainer, "args", None), "sequence_parallel_size", 1))
    return any(isinstance(size, int) and size > 1 for size in sizes) or ranks_compute_together()


def _context(trainer: Any) -> Optional[Callable[[], Any]]:
    accelerator = getattr(trainer, "accelerator", None)
    return getattr(accelerator, "autocast", None)


def _unpadded(ids: Any, mask: Any) -> list[list[int]]:
    rows, kept = ids.tolist(), mask.tolist()
    return [[each for each, keep in zip(*pair) if keep] for pair in zip(rows, kept)]  # noqa: B905 - Python 3.9


def _classes(ids: Any, tools: Any, tokenizer: Any) -> list[list[str]]:
    """The kind of each token: of a tool, special, or text."""
    special = set(getattr(tokenizer, "all_special_ids", None) or ())
    others = tools.tolist() if tools is not None else None
    found = []
    for row, line in enumerate(ids.tolist()):
        kinds = ["special" if each in special else "text" for each in line]
        if others is not None:
            kinds = [kind if own else "tool" for kind, own in zip(kinds, others[row])]  # noqa: B905 - Python 3.9
        found.append(kinds)
    return found
