"""An engine that is sent weights three times, by nobody who trains: pushes.py DOCTOR MODEL CASE.

DOCTOR is the folder that holds the carried doctor. Cases: `sound`, and `layer`: from the second push on the model's
own `load_weights` drops layer 1, as engines drop names that they do not know.
"""

import os
import sys
from pathlib import Path

CARRIED, MODEL, CASE = sys.argv[1:4]
os.environ["DOCTOR_RUN_DIR"] = str(Path("run").absolute())
os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
sys.path.insert(0, CARRIED)

import torch  # noqa: E402
import vllm._custom_ops  # noqa: E402
import vllm.model_executor.layers.utils  # noqa: E402
from safetensors.torch import load_file  # noqa: E402
from vllm.model_executor.models.qwen2 import Qwen2ForCausalLM  # noqa: E402
from vllm.v1.worker import cpu_model_runner, gpu_model_runner  # noqa: E402

from doctor.monitors.inject import attach  # noqa: E402

attach.attach("vllm.v1.worker.gpu_model_runner", gpu_model_runner)
attach.attach("vllm.v1.worker.cpu_model_runner", cpu_model_runner)

# else the kernels of a CPU put packed tensors in the place of the weights, and nothing can be loaded into them again
vllm._custom_ops._supports_onednn = False
vllm.model_executor.layers.utils.check_cpu_sgl_kernel = lambda *_, **__: False

pushes = 0


def dropping(original):
    """A `load_weights` that loses a layer."""

    def load_weights(self, weights):
        return original(self, ((name, each) for name, each in weights if pushes < 2 or ".layers.1." not in name))

    return load_weights


if CASE == "layer":
    Qwen2ForCausalLM.load_weights = dropping(Qwen2ForCausalLM.load_weights)

engine = vllm.LLM(MODEL, dtype="bfloat16", enforce_eager=True, max_model_len=64, max_num_seqs=4)
weights = load_file(Path(MODEL) / "model.safetensors")
model = engine.llm_engine.model_executor.driver_worker.model_runner.model
sampling = vllm.SamplingParams(temperature=0.0, max_tokens=4, ignore_eos=True)
for pushes in (1, 2, 3):
    source = torch.Generator().manual_seed(pushes)
    sent = {name: each + 0.05 * torch.randn(each.shape, generator=source) for name, each in weights.items()}
    model.load_weights(iter(sent.items()))
    engine.generate([{"prompt_token_ids": list(range(8, 16))}], sampling)
