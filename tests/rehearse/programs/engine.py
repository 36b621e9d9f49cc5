"""GRPO with vLLM in its process, whole or with an engine that does not follow: engine.py BASE right|layer|never.

The package `vllm` that TRL asks for is made here, as its build for CPUs, with as much as TRL takes from it; behind it a
second model of Transformers computes. `layer`: a push leaves one layer as it was; `never`: nothing behind the first
push arrives.
"""

import os
import sys
from pathlib import Path
from types import SimpleNamespace

BASE, CASE = sys.argv[1:3]
FILES = {
    "vllm/__init__.py": "from vllm_engine import LLM, RequestOutput, SamplingParams\n__version__ = '0.27.0+cpu'\n",
    "vllm/sampling_params.py": "class StructuredOutputsParams: ...\n",
    "vllm/utils/__init__.py": "",
    "vllm/utils/network_utils.py": "def get_ip():\n    return '127.0.0.1'\n",
    "vllm/distributed/__init__.py": "",
    "vllm/distributed/weight_transfer/__init__.py": "",
    "vllm/distributed/weight_transfer/nccl_common.py": "def trainer_init(*_, **__): ...\n",
    "vllm/distributed/weight_transfer/packed_tensor.py": "def packed_nccl_broadcast_producer(*_, **__): ...\n",
    "vllm/distributed/weight_transfer/nccl_engine.py": (
        "class NCCLTrainerSendWeightsArgs: ...\nclass NCCLWeightTransferEngine: ...\n"
    ),
    "vllm-0.27.0+cpu.dist-info/METADATA": "Metadata-Version: 2.1\nName: vllm\nVersion: 0.27.0+cpu\n",
}
package = Path("package").absolute()
for name, text in FILES.items():
    (package / name).parent.mkdir(parents=True, exist_ok=True)
    (package / name).write_text(text)
sys.path.insert(0, str(package))
sys.modules["vllm_engine"] = sys.modules["__main__"]

import torch  # noqa: E402
from datasets import load_dataset  # noqa: E402
from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: E402


class Engine:
    """The model that samples."""

    def __init__(self, name):
        self.model = AutoModelForCausalLM.from_pretrained(name, dtype=torch.float32).eval()
        self.seen = set()

    def load_weights(self, weights):
        own = dict(self.model.named_parameters())
        with torch.no_grad():
            for name, tensor in weights:
                if (CASE == "never" and name in self.seen) or (CASE == "layer" and ".layers.1." in name):
                    continue
                self.seen.add(name)
                own[name].copy_(tensor)

    def named_parameters(self):
        return self.model.named_parameters()

    @torch.no_grad()
    def logps(self, ids):
        return self.model(torch.tensor([ids])).logits[0].float().log_softmax(-1)

    def go_on(self, ids, asked):
        taken, places, ids = [], [], list(ids)
        for _ in range(asked["max_tokens"]):
            logps = self.logps(ids)[-1]
            greedy = not asked.get("temperature")
            chosen = int(logps.argmax() if greedy else torch.multinomial(logps.exp(), 1))
            top = logps.topk(asked.get("logprobs") or 0).indices.tolist()  # 0: of the chosen one alone
            places.append({each: told_of(logps, each) for each in dict.fromkeys([*top, chosen])})
            taken.append(chosen)
            ids.append(chosen)
        return SimpleNamespace(token_ids=taken, logprobs=places, text="", finish_reason="length")


def told_of(logps, token):
    return SimpleNamespace(logprob=float(logps[token]), rank=int((logps > logps[token]).sum()) + 1)


class SamplingParams(SimpleNamespace):
    pass


class RequestOutput(SimpleNamespace):
    pass


class LLM:
    """vLLM in this process, as far as TRL and the doctor ask."""

    def __init__(self, model, **_):
        self.engine = Engine(model)
        runner = SimpleNamespace(model_runner=SimpleNamespace(model=self.engine))
        config = SimpleNamespace(max_model_len=256, dtype=torch.float32)
        self.llm_engine = SimpleNamespace(model_executor=SimpleNamespace(driver_worker=runner), model_config=config)

    def reset_prefix_cache(self):
        pass

    def generate(self, prompts, sampling_params=None, use_tqdm=True):
        told = []
        for prompt in prompts:
            ids, asked, scores = prompt["prompt_token_ids"], vars(sampling_params), None
            if asked.get("prompt_logprobs") is not None:
                rows = zip(ids[1:], self.engine.logps(ids))
                scores = [None, *({each: SimpleNamespace(logprob=float(row[each]), rank=1)} for each, row in rows)]
            outputs = [self.engine.go_on(ids, asked) for _ in range(asked.get("n") or 1)]
            told.append(RequestOutput(prompt_token_ids=ids, outputs=outputs, prompt_logprobs=scores))
        return told


def near(completions, answer, **_):
    return [1.0 if right in each else len(set(each)) / 1000 for each, right in zip(completions, answer)]


def main():
    from trl import GRPOConfig, GRPOTrainer

    data = load_dataset("json", data_files=os.path.join(os.environ["STAGE"], "sums.jsonl"), split="train")
    data = data.map(lambda row: {"prompt": f"{row['question']} Answer with ####."}, remove_columns=["question"])
    config = GRPOConfig(
        output_dir="out", per_device_train_batch_size=4, num_generations=4, max_completion_length=64, save_steps=50,
        learning_rate=1e-6, report_to=[], use_cpu=True, bf16=False, seed=3, use_vllm=True, vllm_mode="colocate",
    )  # fmt: skip
    trainer = GRPOTrainer(
        model=AutoModelForCausalLM.from_pretrained(BASE), args=config, train_dataset=data, reward_funcs=near,
        processing_class=AutoTokenizer.from_pretrained(BASE),
    )  # fmt: skip
    trainer.train()
    print("finished")


main()
