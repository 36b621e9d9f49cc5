"""TRL's GRPO with an engine that computes for real: trl_engine.py DOCTOR MODEL CASE MODE PARTS.

DOCTOR is the folder that holds the carried doctor; "none" runs without. The engine is a second model of transformers
behind vLLM's protocol; the package `vllm` that TRL asks for is made here, with as much as TRL takes from it. CASE is
the fault, or "well". MODE is "server" or "colocate" (in this process). PARTS is "whole", or "fsdp2" or "zero3" where
torchrun has started several processes, of which each holds a part of the policy; the first one has the engine.
"""

import hashlib
import json
import math
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

CARRIED, MODEL, CASE, MODE, PARTS = sys.argv[1:6]
RANK = int(os.environ.get("RANK", "0"))
STUB = Path(f"stub-{RANK}").absolute()
FILES = {
    "vllm/__init__.py": ("from vllm_engine import LLM, RequestOutput, SamplingParams\n__version__ = '0.27.0'\n"),
    "vllm/sampling_params.py": "class StructuredOutputsParams: ...\n",
    "vllm/utils/__init__.py": "",
    "vllm/utils/network_utils.py": "def get_ip():\n    return '127.0.0.1'\n",
    "vllm/distributed/__init__.py": "",
    "vllm/distributed/weight_transfer/__init__.py": "",
    "vllm/distributed/weight_transfer/nccl_engine.py": (
        "from vllm_engine import sent\nclass NCCLTrainerSendWeightsArgs:\n    def __init__(self, **_): ...\n"
        "class NCCLWeightTransferEngine:\n"
        "    trainer_send_weights = staticmethod(lambda iterator, trainer_args: sent(iterator))\n"
    ),
    "vllm-0.27.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: vllm\nVersion: 0.27.0\n",
}
for name, text in FILES.items():
    (STUB / name).parent.mkdir(parents=True, exist_ok=True)
    (STUB / name).write_text(text)
sys.path.insert(0, str(STUB))
os.environ["DOCTOR_RUN_DIR"] = str(Path("run").absolute())
if CARRIED != "none":
    sys.path.insert(0, CARRIED)
sys.path.append(str(Path(__file__).parents[2] / "real" / "programs"))
if PARTS == "fsdp2":
    os.environ["ACCELERATE_USE_FSDP"] = "true"

import torch  # noqa: E402
from transformers import AutoModelForCausalLM  # noqa: E402

torch.set_num_threads(1)


class Engine:
    """The model that samples, with faults."""

    def __init__(self):
        self.model = AutoModelForCausalLM.from_pretrained(MODEL, dtype=torch.float32).eval()
        # in one process with the trainer it draws from the trainer's generator, as vLLM does, for greedy ones too
        self.source = None if MODE == "colocate" else torch.Generator().manual_seed(7)
        self.pushes = 0
        self.lock = threading.Lock()

    def load_weights(self, weights):
        """Push; each call is one tensor or all of them."""
        own = dict(self.model.named_parameters())
        with torch.no_grad():
            for name, tensor in weights:
                if CASE == "never-pushed" or (CASE == "layer" and ".layers.1." in name):
                    continue
                if name in own:
                    own[name].copy_(tensor)

    def named_parameters(self):
        return self.model.named_parameters()

    @torch.no_grad()
    def score(self, ids):
        with self.lock:
            logits = self.model(torch.tensor([ids])).logits[0, :-1].float()
        return logits.log_softmax(-1).gather(1, torch.tensor(ids[1:]).unsqueeze(1)).squeeze(1).tolist()

    @torch.no_grad()
    def generate(self, ids, tokens, temperature, top_p, ends):
        taken, places, ids = [], [], list(ids)
        with self.lock:
            for _ in range(tokens):
                logits = self.model(torch.tensor([ids])).logits[0, -1].float()
                logps = (logits / (temperature or 1.0)).log_softmax(-1)
                if top_p < 1:
                    ordered, where = logps.exp().sort(descending=True)
                    keep = ordered.cumsum(0) - ordered < top_p
                    logps = (
                        torch.full_like(logps, -math.inf).scatter(0, where[keep], logps[where[keep]]).log_softmax(-1)
                    )
                chosen = int(logps.argmax())
                if temperature or self.source is None:
                    drawn = int(torch.multinomial(logps.exp(), 1, generator=self.source))
                    chosen = drawn if temperature else chosen
                taken.append(chosen)
                places.append(logps)
                ids.append(chosen)
                if ends and chosen == 1:
                    break
        return taken, places


ENGINE = Engine()


class SamplingParams(SimpleNamespace):
    pass


class RequestOutput(SimpleNamespace):
    pass


class LLM:
    """vLLM in this process, as far as TRL and the doctor ask."""

    def __init__(self, **_):
        runner = SimpleNamespace(model_runner=SimpleNamespace(model=ENGINE))
        config = SimpleNamespace(max_model_len=256, dtype=torch.float32)
        self.llm_engine = SimpleNamespace(model_executor=SimpleNamespace(driver_worker=runner), model_config=config)

    def reset_prefix_cache(self):
        pass

    def generate(self, prompts, sampling_params=None, use_tqdm=True):
        told = []
        for prompt in prompts:
            ids, asked = prompt["prompt_token_ids"], vars(sampling_params)
            taken, places = ENGINE.generate(
                ids, asked["max_tokens"], asked["temperature"], asked.get("top_p", 1.0), not asked.get("ignore_eos")
            )
            rows = [_ranked(place, each, asked.get("logprobs") or 0) for place, each in zip(places, taken)]
            scores = None
            if asked.get("prompt_logprobs") is not None:
                scores = [None] + [
                    {each: SimpleNamespace(logprob=logp, rank=1)} for each, logp in zip(ids[1:], ENGINE.score(ids))
                ]
            output = SimpleNamespace(token_ids=taken, logprobs=rows)
            told.append(RequestOutput(prompt_token_ids=ids, outputs=[output], prompt_logprobs=scores))
        return told


def _ranked(place, taken, count):
    tops = [*place.topk(count).indices.tolist(), taken] if count else [taken]
    return {
        each: SimpleNamespace(logprob=float(place[each]), rank=at + 1) for at, each in enumerate(dict.fromkeys(tops))
    }


def sent(iterator):
    ENGINE.load_weights(iterator)


def answer(path, body):
    if path == "/v1/models":
        return {"data": [{"id": "policy", "max_model_len": 256}]}
    if path == "/server_info":
        config = {"logprobs_mode": "processed_logprobs", "dtype": "torch.float32"}
        return {"vllm_config": {"model_config": config, "weight_transfer_config": {"backend": "nccl"}}}
    if path != "/v1/completions":
        return {} if body is not None or path == "/health" else None
    choices = []
    for ids in body["prompt"]:
        for _ in range(body.get("n", 1)):
            choice = {"index": len(choices), "prompt_token_ids": ids, "prompt_logprobs": None, "logprobs": None}
            if body.get("prompt_logprobs") is not None:
                rows = zip(ids[1:], ENGINE.score(ids))
                choice["prompt_logprobs"] = [None] + [{str(each): {"logprob": logp}} for each, logp in rows]
            ends = not body.get("ignore_eos")
            taken, places = ENGINE.generate(ids, body["max_tokens"], body["temperature"], body.get("top_p", 1.0), ends)
            tops = [_ranked(place, each, body.get("logprobs") or 0) for place, each in zip(places, taken)]
            choice["token_ids"] = taken
            choice["logprobs"] = {
                "tokens": [f"token_id:{each}" for each in taken],
                "token_logprobs": [float(place[each]) for place, each in zip(places, taken)],
                "top_logprobs": [{f"token_id:{each}": one.logprob for each, one in top.items()} for top in tops],
            }
            choices.append(choice)
    return {"choices": choices}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.tell(None)

    def do_POST(self):
        self.tell(json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}"))

    def tell(self, body):
        told = answer(self.path.partition("?")[0], body)
        data = json.dumps(told).encode()
        self.send_response(404 if told is None else 200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


sys.modules["vllm_engine"] = sys.modules["__main__"]

import tiny  # noqa: E402
from trl import GRPOConfig, GRPOTrainer  # noqa: E402
from trl.generation.vllm_client import VLLMClient  # noqa: E402

VLLMClient.init_communicator = lambda self, device=0: None


def with_a_device(initialise):
    """Accelerate asks for an accelerator before it makes FSDP, which torch itself runs on a CPU too."""
    from accelerate.utils import DistributedType

    def state(self, *args, **kwargs):
        initialise(self, *args, **kwargs)
        if self.distributed_type == DistributedType.MULTI_CPU:
            self.distributed_type, self.device = DistributedType.MULTI_XPU, torch.device("cpu")

    return state


PLACES = {"whole": {}, "fsdp2": {
    "fsdp": True,
    "fsdp_config": {
        "version": 2, "transformer_layer_cls_to_wrap": ["Qwen2DecoderLayer"], "cpu_ram_efficient_loading": False,
    },
}, "zero3": {
    "deepspeed": {
        "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto", "gradient_clipping": "auto",
        "zero_optimization": {"stage": 3}, "zero_allow_untested_optimizer": True, "zero_force_ds_cpu_optimizer": False,
    },
}}  # fmt: skip
if PARTS == "fsdp2":
    from accelerate.state import PartialState

    PartialState.__init__ = with_a_device(PartialState.__init__)
server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
config = GRPOConfig(
    output_dir="out", per_device_train_batch_size=4, num_generations=4, max_completion_length=24, max_steps=4,
    logging_steps=1, learning_rate=2e-2, report_to=[], use_cpu=True, bf16=False, save_strategy="no", seed=1,
    use_vllm=True, vllm_mode=MODE, vllm_server_base_url=f"http://127.0.0.1:{server.server_port}",
    top_p=0.7 if CASE == "top-p" else 1.0, **PLACES[PARTS],
)  # fmt: skip
trainer = GRPOTrainer(
    model=MODEL, reward_funcs=tiny.variety, args=config, train_dataset=tiny.sums(), processing_class=tiny.tokenizer()
)
if CARRIED != "none":
    from doctor import DoctorCallback

    trainer.add_callback(DoctorCallback(lang="en"))
trainer.train()


def own(weight):
    """What this rank holds of a weight."""
    held = getattr(weight, "ds_tensor", weight).detach()
    return held.to_local() if hasattr(held, "to_local") else held


digest = hashlib.sha256(b"".join(own(each).numpy().tobytes() for each in trainer.model.parameters())).hexdigest()
history = [{name: each.get(name) for name in ("loss", "reward", "grad_norm")} for each in trainer.state.log_history]
result = {"digest": digest, "history": history, "step": trainer.state.global_step}
if PARTS != "whole":
    result["parts"] = any(hasattr(each, "to_local") or hasattr(each, "ds_id") for each in trainer.model.parameters())
Path(f"result-{RANK}.json").write_text(json.dumps(result))
