"""A rollout engine that computes for real: vLLM's layout of weights, a prefix cache, decoding; faults on demand.

It speaks vLLM's and SGLang's HTTP protocols as far as the witness asks. What it answers comes from a tiny model, so a
fault shows as it would in a big one: in its log probabilities, not in a script's numbers.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import torch

from .tiny_lm import LONGEST, TinyLM

BLOCK = 16
_HALVES = (("qkv_proj", ("q_proj", "k_proj", "v_proj")), ("gate_up_proj", ("gate_proj", "up_proj")))
_EXPERT = re.compile(r"(.*\.experts)\.(\d+)\.(gate|up|down)_proj\.weight")


class ScriptedEngine:
    """Weights as vLLM holds them.

    Args:
        weights: of a checkpoint, the engine's own from disk.
        precision: of the engine.
        fault: which one is injected; "" for none.

    """

    def __init__(
        self, weights: dict[str, Any], precision: Any = torch.float32, fault: str = "", *, experts: bool = False
    ):
        self.precision, self.fault, self.experts = precision, fault, experts
        self.held: dict[str, Any] = {}
        self.adapters: dict[str, Any] = {}
        self.cache: dict[tuple[Any, ...], Any] = {}
        self.version = self.pushes = self.requests = 0
        self.stalls_s = 0.0
        self._lock = threading.Lock()
        self._load(weights)
        self.graph = self._module()

    def _load(self, weights: dict[str, Any]) -> None:
        """A checkpoint's tensors into the fused ones."""
        parts: dict[str, dict[str, Any]] = {}
        for name, tensor in weights.items():
            tensor = tensor.detach().to(self.precision).clone()  # noqa: PLW2901
            expert = _EXPERT.fullmatch(name)
            fused = next(((f, n) for f, n in _HALVES if any(f".{each}." in name for each in n)), None)
            if expert is not None:
                kind = "w2_weight" if expert[3] == "down" else "w13_weight"
                parts.setdefault(f"{expert[1]}.{kind}", {})[
                    f"{expert[2]} {['gate', 'up', 'down'].index(expert[3])}"
                ] = tensor
            elif fused is not None:
                part = next(each for each in fused[1] if f".{each}." in name)
                parts.setdefault(name.replace(f".{part}.", f".{fused[0]}."), {})[str(fused[1].index(part))] = tensor
            else:
                self.held[name] = tensor
        for name, given in parts.items():
            ordered = [given[key] for key in sorted(given)]
            if "w13" in name:
                self.held[name] = torch.stack([torch.cat(ordered[at : at + 2]) for at in range(0, len(ordered), 2)])
            else:
                self.held[name] = torch.stack(ordered) if "w2" in name else torch.cat(ordered)

    def checkpoint(self) -> dict[str, Any]:
        """The fused tensors as those of a checkpoint."""
        found = {}
        for name, tensor in self.held.items():
            fused = next(((f, n) for f, n in _HALVES if f".{f}." in name), None)
            if fused is not None:
                wide = tensor.shape[0] // (2 if fused[0] == "qkv_proj" else 1)
                sizes = [wide, wide // 2, wide // 2] if fused[0] == "qkv_proj" else [wide // 2] * 2
                for part, rows in zip(fused[1], tensor.split(sizes), strict=True):
                    found[name.replace(f".{fused[0]}.", f".{part}.")] = rows
            elif name.endswith("w13_weight"):
                for number, rows in enumerate(tensor):
                    for half, part in zip(("gate", "up"), rows.chunk(2), strict=True):
                        found[name.replace("w13_weight", f"{number}.{half}_proj.weight")] = part
            elif name.endswith("w2_weight"):
                for number, rows in enumerate(tensor):
                    found[name.replace("w2_weight", f"{number}.down_proj.weight")] = rows
            else:
                found[name] = tensor
        return found

    def _module(self) -> TinyLM:
        """A module with the weights held. Nothing is drawn for it: this process is also that of the training."""
        with torch.device("meta"):
            model = TinyLM(experts=self.experts).to(self.precision).eval()
        model.load_state_dict({name: each.clone() for name, each in self.checkpoint().items()}, assign=True)
        return model

    def push(self, weights: dict[str, Any], version: int) -> None:
        """What a trainer's push does, with the fault."""
        with self._lock:
            self.pushes += 1
            if self.fault == "never-pushed" or (self.fault == "stops-after" and self.pushes > 2):
                return
            before = dict(self.held)
            self._load(self._sent(weights))
            self._spoil()
            if self.fault == "derived":
                self._keep_values_of(before)
            self.version = version
            if self.fault != "prefix-cache":
                self.cache.clear()
            self.model = self._module()
            if self.fault != "decode-state":
                self.graph = self.model

    def _sent(self, weights: dict[str, Any]) -> dict[str, Any]:
        """What arrives of a push: the fault keeps some tensors from it, of which the engine has the old ones."""
        lost = {
            "layer": lambda name: ".layers.1." in name, "head": lambda name: name == "lm_head.weight",
            "experts-unsent": lambda name: ".experts.2." in name or ".experts.3." in name,
            "experts-discarded": lambda name: ".experts." in name,
        }.get(self.fault)  # fmt: skip
        kept = {} if lost is None else {name: each for name, each in self.checkpoint().items() if lost(name)}
        return {**weights, **kept}

    def _spoil(self) -> None:
        """What a fault does to the tensors that arrived."""
        for name in [each for each in self.held if each.endswith(("w13_weight", "w2_weight"))]:
            if self.fault == "experts":
                self.held[name] = self.held[name].roll(1, 0)
            if self.fault == "halves" and name.endswith("w13_weight"):
                self.held[name] = torch.cat(self.held[name].chunk(2, 1)[::-1], 1)
            if self.fault == "experts-layout" and name.endswith("w2_weight"):
                self.held[name] = torch.cat(self.held[name].chunk(2, 2)[::-1], 2)
        if self.fault == "scaled":
            self.held["lm_head.weight"] *= 1.1

    def _keep_values_of(self, before: dict[str, Any]) -> None:
        """What is computed from several weights, from the ones that were there when the first of them arrived."""
        for name, tensor in self.held.items():
            if ".qkv_proj." in name:
                rows = tensor.shape[0] // 4
                tensor[-rows:] = before[name][-rows:]

    def load_adapter(self, name: str, delta: Any) -> None:
        """An adapter on the embedding under a name; one that is there already is kept, where that is the fault."""
        with self._lock:
            if not (self.fault == "adapter-kept" and name in self.adapters):
                self.adapters[name] = self._received(delta.clone())
                if self.fault != "prefix-cache":
                    self.cache.clear()

    def _received(self, delta: Any) -> Any:
        """What a fault does to an adapter that arrives."""
        if self.fault == "adapter-halves":
            delta[len(delta) // 2 :] = delta[: len(delta) // 2]
        return delta.roll(7, 0) if self.fault == "adapter-other" else delta

    def _ready(self, adapter: str | None) -> tuple[TinyLM, TinyLM]:
        """Models of prefill and of decoding."""
        if not hasattr(self, "model"):
            self.model = self._module()
        if adapter not in self.adapters or self.fault == "adapter-dropped":
            return self.model, self.graph
        model = self._module()
        model.model.embed_tokens.weight.data += self.adapters[adapter].to(self.precision)
        return model, model

    @torch.no_grad()
    def score(self, ids: list[int], adapter: str | None = None) -> list[float]:
        """Log probabilities of given tokens, without any cache."""
        with self._lock:
            logits = self._ready(adapter)[0](torch.tensor([ids])).logits[0, :-1].float()
        return logits.log_softmax(-1).gather(1, torch.tensor(ids[1:]).unsqueeze(1)).squeeze(1).tolist()

    @torch.no_grad()
    def generate(
        self, ids: list[int], tokens: int, *, temperature: float = 0.0, top_p: float = 1.0, salt: Any = None,
        adapter: str | None = None, source: Any = None,
    ) -> tuple[list[int], list[Any]]:  # fmt: skip
        """Tokens, and at each place the log probabilities of all of them as they were sampled from."""
        with self._lock:
            prefill, decode = self._ready(adapter)
            past, known = self._cached(ids, (salt, adapter))
            output = prefill(torch.tensor([ids[known:]]), past)
            self._keep(ids, (salt, adapter), output.past)
            taken, places = [], []
            for _ in range(tokens):
                logps = (output.logits[0, -1].float() / (temperature or 1.0)).log_softmax(-1)
                logps = self._cut(logps, top_p)
                chosen = (
                    int(logps.argmax()) if not temperature else int(torch.multinomial(logps.exp(), 1, generator=source))
                )
                taken.append(chosen)
                places.append(logps)
                output = decode(torch.tensor([[chosen]]), output.past)
        return taken, places

    @staticmethod
    def _cut(logps: Any, top_p: float) -> Any:
        """top_p, with what is left scaled up."""
        if top_p >= 1.0:
            return logps
        ordered, where = logps.exp().sort(descending=True)
        keep = ordered.cumsum(0) - ordered < top_p
        return torch.full_like(logps, -math.inf).scatter(0, where[keep], logps[where[keep]]).log_softmax(-1)

    def _cached(self, ids: list[int], key: tuple[Any, ...]) -> tuple[Any, int]:
        """Keys and values of the longest run of whole blocks that was seen before; the last token is computed."""
        for size in range((len(ids) - 1) // BLOCK * BLOCK, 0, -BLOCK):
            kept = self.cache.get((key, tuple(ids[:size])))
            if kept is not None:
                return kept, size
        return None, 0

    def _keep(self, ids: list[int], key: tuple[Any, ...], past: Any) -> None:
        for size in range(BLOCK, len(ids) + 1, BLOCK):
            self.cache.setdefault((key, tuple(ids[:size])), [(k[:, :, :size], v[:, :, :size]) for k, v in past])

    @contextmanager
    def served(self, protocol: str = "vllm") -> Iterator[str]:
        """Its address while it serves."""
        engine = self
        answers = {"vllm": _vllm, "sglang": _sglang}[protocol]

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer(None)

            def do_POST(self) -> None:
                size = int(self.headers.get("Content-Length", 0))
                self._answer(json.loads(self.rfile.read(size) or b"null"))

            def _answer(self, body: Any) -> None:
                engine.requests += 1
                time.sleep(engine.stalls_s)
                told = answers(engine, self.path.partition("?")[0], body)
                data = json.dumps(told).encode()
                try:
                    self.send_response(404 if told is None else 200)
                    self.send_header("Content-Length", str(len(data)))
                    self.end_headers()
                    self.wfile.write(data)
                except OSError:
                    return  # the client has given up

            def log_message(self, *_: Any) -> None:
                """Nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


def _top(logps: Any, taken: int, count: int) -> dict[int, float]:
    values, where = logps.topk(count)
    return {**dict(zip(where.tolist(), values.tolist(), strict=True)), taken: float(logps[taken])}


def _vllm(engine: ScriptedEngine, path: str, body: Any) -> Any:
    if path == "/v1/models":
        names = ["base", *engine.adapters]
        return {"data": [{"id": name, "max_model_len": LONGEST} for name in names]}
    if path == "/server_info":
        return {"vllm_config": {"model_config": {"dtype": str(engine.precision)}}}
    if path.rstrip("/") == "/get_world_size":  # its framework sends on who asks with a slash
        return {"world_size": 1}
    if path == "/weight_checker":
        return {"checksums": {f"dp0:pp0:pcp0:tp0:{name}": _sha(each) for name, each in engine.held.items()}}
    if path != "/v1/completions":
        return None
    adapter, choices = body["model"], []
    for index, ids in enumerate(body["prompt"]):
        choice: dict[str, Any] = {"index": index, "prompt_logprobs": None, "logprobs": None}
        if body.get("prompt_logprobs") is not None:
            logps = engine.score(ids, adapter)
            choice["prompt_logprobs"] = [None] + [
                {str(each): {"logprob": logp, "rank": 1}} for each, logp in zip(ids[1:], logps, strict=True)
            ]
        else:
            taken, places = engine.generate(ids, body["max_tokens"], salt=body.get("cache_salt"), adapter=adapter)
            tops = [_top(place, each, body["logprobs"]) for each, place in zip(taken, places, strict=True)]
            choice["logprobs"] = {
                "tokens": [f"token_id:{each}" for each in taken],
                "token_logprobs": [top[each] for each, top in zip(taken, tops, strict=True)],
                "top_logprobs": [{f"token_id:{each}": value for each, value in top.items()} for top in tops],
            }
        choices.append(choice)
    return {"choices": choices[::-1]}  # in any order, as servers may


def _sha(tensor: Any) -> str:
    return hashlib.sha256(tensor.contiguous().view(-1).view(torch.uint8).numpy().tobytes()).hexdigest()


def _sglang(engine: ScriptedEngine, path: str, body: Any) -> Any:
    if path == "/server_info":
        return {"tp_size": 1, "context_length": LONGEST, "dtype": str(engine.precision).rpartition(".")[2]}
    if path == "/model_info":
        return {"weight_version": str(engine.version)}
    if path == "/get_weights_by_name":
        held = engine.checkpoint().get(body["name"])
        return None if held is None else held[: body["truncate_size"]].float().tolist()
    if path != "/generate":
        return None
    told = []
    for ids in body["input_ids"]:
        adapter = body.get("lora_path")
        if body["logprob_start_len"] == 0:
            rows = [[None, ids[0], None]] + [
                [logp, each, None] for each, logp in zip(ids[1:], engine.score(ids, adapter), strict=True)
            ]
            told.append({"meta_info": {"input_token_logprobs": rows, "weight_version": str(engine.version)}})
            continue
        tokens = body["sampling_params"]["max_new_tokens"]
        taken, places = engine.generate(ids, tokens, salt=body.get("extra_key"), adapter=adapter)
        tops = [_top(place, each, body["top_logprobs_num"]) for each, place in zip(taken, places, strict=True)]
        told.append({"meta_info": {
            "output_token_logprobs": [[top[each], each, None] for each, top in zip(taken, tops, strict=True)],
            "output_top_logprobs": [[[value, each, None] for each, value in top.items()] for top in tops],
        }})  # fmt: skip
    return told
