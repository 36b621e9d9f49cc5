"""GRPO whose completions come from a real vLLM engine, under the guard: grpo.py DOCTOR MODEL CASE [URL PID].

DOCTOR is the folder that holds the carried doctor. Cases: `synced` (the engine works in this process and gets the
weights), `never-pushed` and `not-written` (the sync does nothing, or the engine writes nothing), `layer` (one layer
never arrives), `top-p` (sampling is cut, and the trainer does not know), `server` (a server
that gets no weights; before the last step process PID is killed while the trainer waits).
"""

import functools
import json
import os
import signal
import sys
import time
from pathlib import Path

CARRIED, MODEL, CASE = sys.argv[1:4]
RUN = Path("run").absolute()
os.environ["DOCTOR_RUN_DIR"] = str(RUN)
sys.path.insert(0, CARRIED)
sys.path.append(str(Path(__file__).parents[2] / "real" / "programs"))

import tiny  # noqa: E402
import vllm._custom_ops  # noqa: E402
import vllm.model_executor.layers.utils  # noqa: E402
from trl import GRPOConfig, GRPOTrainer  # noqa: E402
from trl.generation import vllm_generation  # noqa: E402
from trl.generation.vllm_client import VLLMClient  # noqa: E402
from trl.generation.vllm_generation import VLLMGeneration  # noqa: E402

STEPS = 6
#: how long the trainer waits for the other side of the sync, in seconds: the guard asks after the server once twice the
#: longest step is half over, and on busy cores the first steps take a minute
WAITS_S = 240

# else the kernels of a CPU put packed tensors in the place of the weights, and nothing can be loaded into them again
vllm._custom_ops._supports_onednn = False
vllm.model_executor.layers.utils.check_cpu_sgl_kernel = lambda *_, **__: False
# nothing here is about compiled graphs, and a C++ compiler takes minutes for those of the tiny model on busy cores
vllm_generation.LLM = functools.partial(vllm_generation.LLM, enforce_eager=True)


def wait_for_the_dead(trainer):
    """What a sync over NCCL does whose other side is gone: nothing, until somebody notices."""
    if trainer.state.global_step != STEPS - 1:
        return
    os.kill(int(sys.argv[5]), signal.SIGKILL)
    end = time.monotonic() + WAITS_S
    while time.monotonic() < end and not any("VLL071" in each.read_text() for each in RUN.glob("events/*.jsonl")):
        time.sleep(0.5)
    raise SystemExit(7)


def settings():
    """What differs by where the engine works; without a device for NCCL a server cannot be sent anything."""
    if CASE != "server":
        return {"vllm_mode": "colocate", "vllm_max_model_length": 64, "vllm_gpu_memory_utilization": 0.2}
    VLLMClient.init_communicator = VLLMClient.close_communicator = lambda *_, **__: None
    return {"vllm_mode": "server", "vllm_server_base_url": sys.argv[4], "vllm_server_timeout": 20}


def main():
    cut = CASE == "top-p"  # told by a batch, which has to hold some tokens
    args = GRPOConfig(
        output_dir="out", per_device_train_batch_size=4, num_generations=4, max_completion_length=32 if cut else 8,
        max_steps=STEPS,
        logging_steps=1, learning_rate=1e-3, lr_scheduler_type="constant", report_to=[], use_cpu=True, bf16=False,
        save_strategy="no", use_vllm=True, top_p=0.5 if cut else 1.0, **settings(),
    )  # fmt: skip
    trainer = GRPOTrainer(
        model=MODEL, args=args, train_dataset=tiny.sums(), reward_funcs=tiny.variety, processing_class=tiny.tokenizer()
    )
    if CASE == "layer":
        model = trainer.vllm_generation.llm.llm_engine.model_executor.driver_worker.model_runner.model
        load = model.load_weights
        model.load_weights = lambda weights: load((name, each) for name, each in weights if ".layers.1." not in name)
    if CASE == "never-pushed":
        VLLMGeneration.sync_weights = lambda _: None
    elif CASE == "server":
        VLLMGeneration.sync_weights = lambda _: wait_for_the_dead(trainer)
    elif CASE == "not-written":
        runner = trainer.vllm_generation.llm.llm_engine.model_executor.driver_worker.model_runner
        runner.model.load_weights = lambda _: set()
    import doctor

    watch = {"hang_at_least_s": 20.0} if CASE == "server" else {}
    with doctor.guard(trainer, **watch):
        trainer.train()
    Path("result.json").write_text(json.dumps(trainer.state.log_history))


if __name__ == "__main__":
    main()
