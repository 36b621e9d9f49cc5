"""Engines behind an address: vLLM's OpenAI server, SGLang's, and the server of older TRL.

vLLM: `prompt_logprobs` reads no prefix cache, `cache_salt` separates the cache of a request, `return_token_ids` gives
ids; with VLLM_SERVER_DEV_MODE=1 `/weight_checker` digests every weight.
https://docs.vllm.ai/en/latest/design/prefix_caching/ https://docs.vllm.ai/en/latest/training/weight_checker/
https://github.com/huggingface/trl/blob/v1.16.0/trl/generation/vllm_client.py
SGLang: `/generate` with `return_logprob` and `logprob_start_len`, `extra_key` for the cache, `/get_weights_by_name` for
the first rows of a weight, and `weight_version`.
https://docs.sglang.io/basic_usage/native_api.html https://docs.sglang.io/basic_usage/sampling_params.html
Routes and fields as its source has them: `/generate`, `/get_model_info` and `/get_weight_version` (`weight_version`),
`/get_server_info` (arguments of server and scheduler), `/get_weights_by_name`; a batch takes one `extra_key` and
one `lora_path` for all of its rows (at 0025436e and 001067ff):
https://github.com/sgl-project/sglang/blob/main/python/sglang/srt/entrypoints/http_server.py
https://github.com/sgl-project/sglang/blob/main/python/sglang/srt/managers/io_struct.py
`trl vllm-serve` up to 1.x: `/generate/` with log probabilities of what was sampled, from 0.22 on.
https://github.com/huggingface/trl/blob/v0.22.0/trl/scripts/vllm_serve.py

Runs inside the patient: Python 3.9, the standard library.
"""

from __future__ import annotations

import json
import math
from http.client import HTTPException
from typing import Any, Callable, Mapping, Optional, Sequence
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener, urlopen

from doctor.monitors.witness.asked import TOP, CannotAsk, Continued, Engine, Logps

#: seconds that one request may take
ANSWER_S = 15.0

_PREFIX = "token_id:"


class _Server(Engine):
    """Requests in JSON to one address."""

    kind = "engine"

    def __init__(self, url: str, model: Optional[str] = None, adapter: Optional[str] = None) -> None:
        self.url = url.rstrip("/")
        self.model, self.adapter = model, adapter
        self.name = f"{self.kind} at {self.url}"
        self._open_url: Callable[..., Any] = urlopen  # http and https only, see `engine_at`

    def past_proxies(self) -> None:
        """Ask it without the proxy of the environment: its address is of a node of the cluster."""
        self._open_url = build_opener(ProxyHandler({})).open

    def _ask(self, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = Request(self.url + path, data=data, headers={"Content-Type": "application/json"})  # noqa: S310
        left_s = self.left_s()
        try:
            timeout_s = ANSWER_S if left_s is None else min(left_s, ANSWER_S)
            with self._open_url(request, timeout=timeout_s) as answer:
                return json.loads(answer.read() or b"null")
        except HTTPError as error:
            raise CannotAsk(f"{path} answers {error.code}") from None
        except (OSError, ValueError, HTTPException) as error:
            self.left_s()  # a connection that is given up in time ends its request in the server as well
            raise CannotAsk(f"{path} gives no answer ({type(error).__name__})") from None


class VllmServer(_Server):
    """`vllm serve`."""

    kind = "vLLM"

    def open(self) -> None:
        """Learn the model's name and the longest sequence."""
        models = _of(self._ask("/v1/models"), "data")
        first = next((each for each in models if each.get("id") == self.model), models[0] if models else None)
        if first is None:
            raise CannotAsk("it serves no model")
        self.model = first["id"]
        self.longest = first.get("max_model_len")
        try:
            info = self._ask("/server_info?config_format=json")
            self.precision = str(
                info["vllm_config"]["model_config"]["dtype"] if "vllm_config" in info else info["model_config"]["dtype"]
            )
        except (CannotAsk, KeyError, TypeError):
            self.precision = None  # only in the server's development mode

    def _served(self, base: bool) -> Optional[str]:
        return self.model if base or self.adapter is None else self.adapter

    def score(self, sequences: Sequence[Sequence[int]], *, base: bool = False) -> list[Logps]:
        """By `prompt_logprobs`."""
        body = {
            "model": self._served(base), "prompt": [list(each) for each in sequences], "max_tokens": 1,
            "temperature": 0.0, "prompt_logprobs": 0,
        }  # fmt: skip
        choices = sorted(_of(self._ask("/v1/completions", body), "choices"), key=lambda each: each.get("index", 0))
        if len(choices) != len(sequences) or not choices[0].get("prompt_logprobs"):
            raise CannotAsk("it gives no log probabilities of a prompt")
        pairs = zip(sequences, choices)  # noqa: B905 - Python 3.9
        return [_of_prompt(ids, choice["prompt_logprobs"]) for ids, choice in pairs]

    def go_on(self, prompts: Sequence[Sequence[int]], tokens: int, *, salt: Optional[str] = None) -> list[Continued]:
        """By a greedy completion."""
        body: dict[str, Any] = {
            "model": self._served(False), "prompt": [list(each) for each in prompts], "max_tokens": tokens,
            "temperature": 0.0, "logprobs": TOP, "ignore_eos": True, "return_tokens_as_token_ids": True,
        }  # fmt: skip
        if salt is not None:
            body["cache_salt"] = salt
        choices = sorted(_of(self._ask("/v1/completions", body), "choices"), key=lambda each: each.get("index", 0))
        if len(choices) != len(prompts):
            raise CannotAsk("it answers a different number of prompts")
        return [_of_completion(each.get("logprobs")) for each in choices]

    def digests(self) -> Mapping[str, str]:
        """By the weight checker; of one shard, where the model is whole in it."""
        told = _of(self._ask("/weight_checker", {"action": "checksum"}), "checksums")
        shards = {key.rpartition(":")[0] for key in told}
        if any(not each.endswith("tp0") for each in shards):
            raise CannotAsk("its weights are sharded")
        return {key.rpartition(":")[2]: value for key, value in told.items()}

    def version(self) -> Optional[str]:
        """Its own word, of versions that have one."""
        try:
            told = self._ask("/weight_info")
        except CannotAsk:
            return None
        found = told.get("weight_version", told.get("version")) if isinstance(told, dict) else None
        return None if found is None else str(found)


def _of(answer: Any, name: str) -> Any:
    if not isinstance(answer, dict) or name not in answer:
        raise CannotAsk(f"its answer has no `{name}`")
    return answer[name]


def _of_prompt(ids: Sequence[int], places: Sequence[Any]) -> Logps:
    """Log probability of each id: the server gives it with those of the most probable ones."""
    found: Logps = []
    for each, place in zip(ids, places):  # noqa: B905 - Python 3.9
        told = (place or {}).get(str(each))
        found.append(None if told is None else _number(told["logprob"]))
    return found


def _of_completion(logprobs: Any) -> Continued:
    if not logprobs or not logprobs.get("tokens"):
        raise CannotAsk("it gives no log probabilities of what it samples")
    ids = [_id(each) for each in logprobs["tokens"]]
    places = [
        {**{_id(token): float(value) for token, value in (top or {}).items()}, taken: float(logp)}
        for taken, logp, top in zip(ids, logprobs["token_logprobs"], logprobs["top_logprobs"])  # noqa: B905
    ]
    return Continued(ids, places)


def _id(token: str) -> int:
    if not token.startswith(_PREFIX):
        raise CannotAsk("it identifies tokens by text, not by id")
    return int(token[len(_PREFIX) :])


def _number(value: Any) -> Optional[float]:
    return float(value) if value is not None and math.isfinite(value) else None


class SglangServer(_Server):
    """`sglang.launch_server`."""

    kind = "SGLang"

    def open(self) -> None:
        """Learn precision and the longest sequence."""
        try:
            info = self._ask("/server_info")
        except CannotAsk:
            info = self._ask("/get_server_info")
        self.longest = info.get("context_length")
        dtype = info.get("dtype")
        self.precision = None if dtype in (None, "auto") else str(dtype)

    def _generate(
        self, ids: Sequence[Sequence[int]], tokens: int, start: int, base: bool, salt: Optional[str]
    ) -> list[Any]:
        body: dict[str, Any] = {
            "input_ids": [list(each) for each in ids], "return_logprob": True, "logprob_start_len": start,
            "top_logprobs_num": TOP if start < 0 else 0,
            "sampling_params": {"temperature": 0.0, "max_new_tokens": tokens, "ignore_eos": True},
        }  # fmt: skip
        if salt is not None:
            body["extra_key"] = salt
        if self.adapter is not None and not base:
            body["lora_path"] = self.adapter
        answer = self._ask("/generate", body)
        if not isinstance(answer, list) or len(answer) != len(ids):
            raise CannotAsk("it answers a different number of prompts")
        return [_of(each, "meta_info") for each in answer]

    def score(self, sequences: Sequence[Sequence[int]], *, base: bool = False) -> list[Logps]:
        """By the log probabilities of the input."""
        told = self._generate(sequences, 1, 0, base, None)
        found: list[Logps] = []
        for ids, meta in zip(sequences, told):  # noqa: B905 - Python 3.9
            rows = _of(meta, "input_token_logprobs")
            if [row[1] for row in rows] != list(ids):
                raise CannotAsk("it scores different tokens from those it was given")
            found.append([None if row[0] is None else _number(row[0]) for row in rows])
        return found

    def go_on(self, prompts: Sequence[Sequence[int]], tokens: int, *, salt: Optional[str] = None) -> list[Continued]:
        """By a greedy generation."""
        found = []
        for meta in self._generate(prompts, tokens, -1, False, salt):
            taken, tops = _of(meta, "output_token_logprobs"), meta.get("output_top_logprobs") or []
            places = [{row[1]: float(row[0])} for row in taken]
            for place, top in zip(places, tops):  # noqa: B905 - Python 3.9
                place.update((row[1], float(row[0])) for row in top or () if row[1] not in place)
            found.append(Continued([row[1] for row in taken], places))
        return found

    def version(self) -> Optional[str]:
        """Its `weight_version`; the one that it starts with tells nothing."""
        for path in ("/model_info", "/get_weight_version", "/get_model_info"):
            try:
                told = self._ask(path).get("weight_version")
            except (CannotAsk, AttributeError):
                continue
            return None if told in (None, "default") else str(told)
        return None

    def values(self, name: str, count: int) -> Any:
        """By `/get_weights_by_name`, which gives the first rows."""
        told = self._ask("/get_weights_by_name", {"name": name, "truncate_size": max(1, count)})
        if not isinstance(told, list) or not told:
            raise CannotAsk(f"it has no weight `{name}`")
        return told


class TrlServer(_Server):
    """The server of TRL 0.14 to 1.x: it generates, and later ones give log probabilities of what they sampled."""

    kind = "TRL's vLLM server"

    def go_on(self, prompts: Sequence[Sequence[int]], tokens: int, *, salt: Optional[str] = None) -> list[Continued]:
        """By a greedy generation; it knows no salt."""
        if salt is not None:
            raise CannotAsk("it cannot bypass its prefix cache")
        body = {
            "prompts": [list(each) for each in prompts], "n": 1, "temperature": 0.0, "max_tokens": tokens,
            "logprobs": TOP, "generation_kwargs": {"ignore_eos": True},
        }  # fmt: skip
        answer = self._ask("/generate/", body)
        logps = answer.get("logprobs") if isinstance(answer, dict) else None
        if not logps:
            raise CannotAsk("it gives no log probabilities")
        ids, names = answer["completion_ids"], answer.get("logprob_token_ids")
        return [_of_trl(each, logps[at], names[at] if names else None) for at, each in enumerate(ids)]


def _of_trl(ids: Sequence[int], logps: Sequence[Any], names: Optional[Sequence[Any]]) -> Continued:
    """One completion: a number a token, or a list of them with the ids beside it."""
    places = []
    for at, taken in enumerate(ids):
        row = logps[at] if isinstance(logps[at], list) else [logps[at]]
        of = names[at] if names is not None and isinstance(names[at], list) else [taken]
        places.append({int(each): float(value) for each, value in zip(of, row) if value is not None})  # noqa: B905
    return Continued(list(ids), places)


#: asked one after the other: a path, whose server it is, and what its answer has there. Models are listed by SGLang and
#: vLLM; vLLM in its development mode also tells its world size, by which the old server of TRL is known
#: https://github.com/vllm-project/vllm/blob/main/vllm/entrypoints/serve/rlhf/api_router.py
_KINDS = (
    ("/server_info", SglangServer, "tp_size"),
    ("/v1/models", VllmServer, "data"),
    ("/get_world_size/", TrlServer, "world_size"),
)


def engine_at(
    url: str, model: Optional[str] = None, adapter: Optional[str] = None, *, past_proxies: bool = False
) -> Engine:
    """The engine behind an address, whichever it is.

    Args:
        url: the address.
        model: that it serves.
        adapter: name of the one that is trained.
        past_proxies: whether the address is of a node of the cluster, to which the environment's proxy leads nobody.

    Raises:
        CannotAsk: nobody answers there, or nobody that is known.

    """
    if not url.startswith(("http://", "https://")):
        raise CannotAsk(f"`{url}` is no address")
    probe = _Server(url)
    if past_proxies:
        probe.past_proxies()
    for path, kind, sign in _KINDS:
        try:
            told = probe._ask(path)  # noqa: SLF001 - of this module
        except CannotAsk as error:
            if "answers" not in str(error):
                raise
            continue
        if isinstance(told, dict) and sign in told:
            return _opened(kind(url, model, adapter), past_proxies)
    return _opened(VllmServer(url, model, adapter), past_proxies)


def _opened(server: _Server, past_proxies: bool) -> Engine:
    if past_proxies:
        server.past_proxies()
    server.open()
    return server
