"""Engines in the trainer's own process: vLLM's `LLM`, or anything whose functions are handed over.

`LLM.generate` takes prompts by their ids; `SamplingParams` has `prompt_logprobs` and `logprobs`:
https://docs.vllm.ai/en/latest/api/vllm/#vllm.LLM https://docs.vllm.ai/en/latest/api/vllm/#vllm.SamplingParams

Runs inside the patient: Python 3.9, the patient's own objects.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Any, Callable, Mapping, Optional, Sequence

from doctor.monitors.witness.asked import TOP, CannotAsk, Continued, Engine, Logps

#: from the `LLM` to the module whose weights are loaded, in the engine that works in this process
MODULE = "llm_engine.model_executor.driver_worker.model_runner.model"

#: attribute of a module that is watched as it receives weights (`doctor.monitors.witness.received`)
RECEIVED = "_doctor_received"


def follow(owner: Any, path: str) -> Any:
    """An attribute of an attribute.

    Raises:
        AttributeError: there is none.

    """
    for name in path.split("."):
        owner = getattr(owner, name)
    return owner


class LocalLlm(Engine):
    """vLLM's `LLM`.

    Args:
        llm: the object.
        generate: its own `generate`, where another one is laid over it; None: the one it has.
        adapter: a `LoRARequest` with which rollouts are made; None: merged, or none.

    """

    inside = True

    def __init__(self, llm: Any, generate: Optional[Callable[..., Any]] = None, adapter: Any = None) -> None:
        self.name = "vLLM in this process"
        self._llm, self._generate, self._request = llm, generate, adapter
        self.adapter = None if adapter is None else str(getattr(adapter, "lora_name", "adapter"))

    def open(self) -> None:
        """Learn precision and the longest sequence, and that one process holds the whole model."""
        config = getattr(getattr(self._llm, "llm_engine", None), "model_config", None)
        self.longest = getattr(config, "max_model_len", None)
        dtype = getattr(config, "dtype", None)
        self.precision = None if dtype is None else str(dtype).rpartition(".")[2]
        parallel = getattr(getattr(self._llm, "llm_engine", None), "vllm_config", None)
        size = getattr(getattr(parallel, "parallel_config", None), "world_size", 1)
        if isinstance(size, int) and size > 1:
            raise CannotAsk("the engine spreads over the trainers' processes, which would all have to ask together")
        with suppress(AttributeError):  # its weights are compared with the trainer's own from now on
            getattr(follow(self._llm, MODULE), RECEIVED).leave()

    def _run(self, ids: Sequence[Sequence[int]], base: bool, salt: Optional[str], **sampling: Any) -> list[Any]:
        prompts: list[dict[str, Any]] = [{"prompt_token_ids": list(each)} for each in ids]
        if salt is not None:
            for each in prompts:
                each["cache_salt"] = salt
        keywords: dict[str, Any] = {"sampling_params": self._sampling(**sampling), "use_tqdm": False}
        if self._request is not None and not base:
            keywords["lora_request"] = self._request
        outputs = (self._generate or self._llm.generate)(prompts, **keywords)
        if len(outputs) != len(ids):
            raise CannotAsk("it answers a different number of prompts")
        return list(outputs)

    def _sampling(self, **values: Any) -> Any:
        """The engine's own class of parameters; without importing what the program has not imported."""
        module = sys.modules.get("vllm")
        made = getattr(module, "SamplingParams", None)
        if made is None:
            default = getattr(self._llm, "get_default_sampling_params", None)
            made = type(default()) if default is not None else None
        if made is None:
            raise CannotAsk("it has no sampling parameters")
        return made(temperature=0.0, ignore_eos=True, **values)

    def score(self, sequences: Sequence[Sequence[int]], *, base: bool = False) -> list[Logps]:
        """By `prompt_logprobs`."""
        outputs = self._run(sequences, base, None, max_tokens=1, prompt_logprobs=0)
        return [scored(*each) for each in zip(sequences, outputs)]  # noqa: B905 - Python 3.9

    def go_on(self, prompts: Sequence[Sequence[int]], tokens: int, *, salt: Optional[str] = None) -> list[Continued]:
        """By a greedy generation."""
        return [continued(each) for each in self._run(prompts, False, salt, max_tokens=tokens, logprobs=TOP)]

    def tensors(self) -> Mapping[str, Any]:
        """Weights of the engine's own module."""
        try:
            module = follow(self._llm, MODULE)
        except AttributeError:
            raise CannotAsk("the engine's weights are in another process") from None
        return dict(module.named_parameters())


def scored(ids: Sequence[int], output: Any) -> Logps:
    """Log probabilities of the tokens of a prompt, from vLLM's answer.

    Raises:
        CannotAsk: it has none.

    """
    places = getattr(output, "prompt_logprobs", None)
    if not places:
        raise CannotAsk("it gives no log probabilities of a prompt")
    return [_logp(place, each) for each, place in zip(ids, places)]  # noqa: B905 - Python 3.9


def continued(output: Any) -> Continued:
    """A continuation, from vLLM's answer.

    Raises:
        CannotAsk: it has no log probabilities.

    """
    first = output.outputs[0]
    if not first.logprobs:
        raise CannotAsk("it gives no log probabilities")
    places = [{int(key): float(value.logprob) for key, value in place.items()} for place in first.logprobs]
    return Continued(list(first.token_ids), places)


def _logp(place: Any, token: int) -> Optional[float]:
    told = (place or {}).get(token)
    return None if told is None else float(told.logprob)


class Given(Engine):
    """An engine of somebody's own, by the functions that were handed over.

    Args:
        score: sequences of ids -> log probabilities of each token, None for the first.
        go_on: prompts, count of tokens, salt or None -> `Continued` of each; None: it cannot.
        tensors: gives name -> tensor; None: out of reach.
        version: gives its word on the version of its weights.
        precision: of its weights.

    """

    inside = True

    def __init__(
        self,
        score: Callable[..., Any],
        go_on: Optional[Callable[..., Any]] = None,
        tensors: Optional[Callable[[], Mapping[str, Any]]] = None,
        version: Optional[Callable[[], Any]] = None,
        precision: Optional[str] = None,
    ) -> None:
        self.name, self.precision = "the engine", precision
        self._score, self._go_on, self._tensors, self._version = score, go_on, tensors, version

    def score(self, sequences: Sequence[Sequence[int]], *, base: bool = False) -> list[Logps]:
        """By the function handed over."""
        if base:
            raise CannotAsk("it has no model without the adapter")
        return [list(each) for each in self._score(sequences)]

    def go_on(self, prompts: Sequence[Sequence[int]], tokens: int, *, salt: Optional[str] = None) -> list[Continued]:
        """By the function handed over."""
        if self._go_on is None:
            raise CannotAsk("it was passed without a way to generate")
        return [Continued(*each) for each in self._go_on(prompts, tokens, salt)]

    def tensors(self) -> Mapping[str, Any]:
        """By the function handed over."""
        if self._tensors is None:
            return super().tensors()
        return self._tensors()

    def version(self) -> Optional[str]:
        """By the function handed over."""
        told = None if self._version is None else self._version()
        return None if told is None else str(told)
