"""veRL's own driver over workers of Ray on a CPU: verl_driver.py OUT FAULT SEED[,SEED ...] [KEY=VALUE ...].

The driver is the real `RayPPOTrainer` with its own `fit`, in a task of Ray as `main_ppo` has it; the worker group is
veRL's, of two processes that hold a tiny model, speak the worker's interface and learn it. The engine is an actor with
a copy of the model, which samples, gives its log probabilities and records the version of its weights.

FAULT: "none", or what goes wrong: "not-sent" (weights stop after update 1, while the engine believes in new ones),
"not-sent-version" (and the engine knows), "stale-layer" (one layer stays), "old-after-resume" (a checkpoint is resumed
and the engine keeps what it began with), "off-by-one" (values of the engine stand one token too far behind).
KEY=VALUE: further overrides of veRL's configuration. There is a run for each seed, one after the other; OUT gets the
sums of the weights and each step's loss of each run.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import ray
import torch
from hydra import compose, initialize_config_module
from tiny_lm import VOCABULARY, TinyLM  # tests/witness is on the path of all processes, and the doctor is not
from torch.utils.data import Dataset
from verl import DataProto
from verl.single_controller.base import Worker
from verl.single_controller.base.decorator import Dispatch, make_nd_compute_dataproto_dispatch_fn, register
from verl.single_controller.ray import RayClassWithInitArgs, RayResourcePool, RayWorkerGroup
from verl.single_controller.ray.base import create_colocated_worker_cls
from verl.trainer.ppo.ray_trainer import RayPPOTrainer, ResourcePoolManager, Role
from verl.utils import tensordict_utils as tu

OUT, FAULT, SEEDS, *OVERRIDES = sys.argv[1:]
STEPS, PROMPTS, ANSWERS, PROMPT, ANSWER, RATE = 6, 4, 4, 8, 24, 0.05
RESUMED = 20
OURS = (
    "trainer.use_v1=False", "trainer.logger=[]", "trainer.val_before_train=False", "trainer.test_freq=-1",
    "trainer.save_freq=-1", "trainer.device=cpu", "trainer.n_gpus_per_node=2", "trainer.nnodes=1",
    f"trainer.total_training_steps={STEPS}", "trainer.total_epochs=100", "trainer.resume_mode=disable",
    f"data.train_batch_size={PROMPTS}", "data.dataloader_num_workers=0", "algorithm.adv_estimator=grpo",
    "actor_rollout_ref.rollout.name=vllm", f"actor_rollout_ref.rollout.n={ANSWERS}",
    f"actor_rollout_ref.actor.ppo_mini_batch_size={PROMPTS}", "actor_rollout_ref.rollout.calculate_log_probs=True",
    "actor_rollout_ref.rollout.dtype=float32",
)  # fmt: skip
BY_ACTOR = make_nd_compute_dataproto_dispatch_fn(mesh_name="actor")


def model(seed: int) -> TinyLM:
    torch.manual_seed(seed)
    return TinyLM().eval()  # no dropout


def logps_of(lm: TinyLM, ids: torch.Tensor) -> torch.Tensor:
    """Log probability of each token, given those before it; 0 for the first."""
    logits = lm(ids[None]).logits[0].float().log_softmax(-1)
    return torch.cat([torch.zeros(1), logits[:-1].gather(-1, ids[1:, None])[:, 0]])


class Actor(Worker):
    """A rank of the trainer: scores its part of the batch, and sums up gradients with the other one."""

    def __init__(self) -> None:
        super().__init__()
        torch.set_num_threads(1)
        torch.distributed.init_process_group("gloo")
        self._register_dispatch_collect_info("actor", dp_rank=self.rank, is_collect=True)

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def begin(self, seed):
        self.lm = model(seed)
        self.optimizer = torch.optim.SGD(self.lm.parameters(), lr=RATE)

    @register(dispatch_mode=BY_ACTOR)
    def compute_log_prob(self, data):
        with torch.no_grad():
            rows = [torch.roll(logps_of(self.lm, each), -1) for each in data["input_ids"].unbind()]
        nested = torch.nested.as_nested_tensor(rows, layout=torch.jagged)
        return tu.get_tensordict({"log_probs": nested, "entropy": nested.clone()}, {"metrics": {"mfu": 0.0}})

    @register(dispatch_mode=BY_ACTOR)
    def update_actor(self, data):
        loss = torch.zeros(())
        for ids, gains, mask in zip(data["input_ids"].unbind(), data["advantages"], data["response_mask"], strict=True):
            answer = int(mask.sum())
            loss = loss - (logps_of(self.lm, ids)[-answer:] * gains[:answer]).mean()
        self.optimizer.zero_grad()
        (loss / len(data)).backward()
        for each in self.lm.parameters():
            if each.grad is not None:
                torch.distributed.all_reduce(each.grad)
        self.optimizer.step()
        norm = sum(float(each.grad.norm()) for each in self.lm.parameters() if each.grad is not None)
        return tu.get_tensordict({}, {"metrics": {"mfu": 0.0, "loss": loss.item(), "lr": RATE, "grad_norm": norm}})

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def weights(self):
        return self.lm.state_dict()

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def load(self, state):
        self.lm.load_state_dict(state)

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def save_checkpoint(self, local_path, *args, **kwargs):
        Path(local_path).mkdir(parents=True, exist_ok=True)
        torch.save(self.lm.state_dict(), Path(local_path) / f"{self.rank}.pt")


@ray.remote(num_cpus=0)
class Engine:
    """Samples with the weights that it was sent last, and serves vLLM's routes."""

    def begin(self, seed):
        torch.set_num_threads(1)
        self.lm, self.version = model(seed), 0
        self.random = torch.Generator().manual_seed(seed)
        sys.path.append(str(Path(__file__).parents[2]))  # behind all else: a folder there is named as veRL is
        from witness.scripted import ScriptedEngine

        self.scripted = ScriptedEngine(self.lm.state_dict())
        self.served = self.scripted.served()
        return self.served.__enter__().removeprefix("http://")

    def load(self, state, version):
        self.lm.load_state_dict({**self.lm.state_dict(), **state})
        self.scripted.push(self.lm.state_dict(), version)
        self.version = version

    def sample(self, prompts):
        rows, values = [], []
        with torch.no_grad():
            for prompt in prompts:
                ids = torch.tensor(prompt)
                for _ in range(ANSWER):
                    chances = self.lm(ids[None]).logits[0, -1].float().softmax(-1)
                    ids = torch.cat([ids, torch.multinomial(chances, 1, generator=self.random)])
                rows.append(ids)
                values.append(logps_of(self.lm, ids)[-ANSWER:])
        return torch.stack(rows), torch.stack(values), self.version


def _each(value, count: int) -> np.ndarray:
    made = np.empty(count, dtype=object)
    made[:] = [value] * count
    return made


class Manager:
    """In the place of the agent loops."""

    def __init__(self, engine, address: str) -> None:
        self.engine, self.server_addresses = engine, [address]

    def generate_sequences(self, batch: DataProto) -> DataProto:
        ids, values, version = ray.get(
            self.engine.sample.remote([list(each) for each in batch.non_tensor_batch["ids"]])
        )
        if FAULT == "off-by-one":
            values = torch.cat([torch.zeros(len(values), 1), values[:, :-1]], 1)
        rewards = torch.zeros_like(values)
        rewards[:, -1] = (ids[:, PROMPT:] < VOCABULARY // 2).float().mean(1)
        mask = torch.ones_like(ids)
        tensors = {
            "prompts": ids[:, :PROMPT], "responses": ids[:, PROMPT:], "input_ids": ids, "attention_mask": mask,
            "position_ids": mask.cumsum(1) - 1, "response_mask": mask[:, PROMPT:], "rm_scores": rewards,
        }  # fmt: skip
        if batch.meta_info.get("with_values", True):
            tensors["rollout_log_probs"] = values
        versions = _each(version, len(ids))
        told = {"min_global_steps": versions, "max_global_steps": versions, "multi_modal_inputs": _each({}, len(ids))}
        made = DataProto.from_dict(tensors, non_tensors=told)
        made.meta_info["timing"] = {}
        return made


class Sender:
    """In the place of the manager that sends weights to the replicas."""

    def __init__(self, group, engine) -> None:
        self.group, self.engine, self.sent = group, engine, 0

    def update_weights(self, step: int) -> None:
        state = self.group.weights()[0]
        self.sent += 1
        late = self.sent > 2
        if FAULT == "old-after-resume" or (FAULT == "not-sent-version" and late):
            state, step = {}, (0 if FAULT == "old-after-resume" else 1)
            if FAULT == "old-after-resume":
                step = RESUMED + self.sent - 1
        elif FAULT == "not-sent" and late:
            state = {}
        elif FAULT == "stale-layer":
            state = {name: each for name, each in state.items() if ".layers.1." not in name}
        ray.get(self.engine.load.remote(state, step))

    def sleep_replicas(self) -> None:
        """The tiny engine never sleeps."""


class Prompts(Dataset):
    def __len__(self) -> int:
        return PROMPTS * STEPS

    def __getitem__(self, at: int):
        source = torch.Generator().manual_seed(at)
        ids = torch.randint(0, VOCABULARY, (PROMPT,), generator=source).tolist()
        return {"dummy_tensor": torch.tensor([at]), "ids": ids, "data_source": "tiny", "reward_model": {}}


def collate(rows):
    made = {"dummy_tensor": torch.stack([each["dummy_tensor"] for each in rows])}
    for name in ("ids", "data_source", "reward_model"):
        made[name] = np.empty(len(rows), dtype=object)
        made[name][:] = [each[name] for each in rows]
    return made


class Tokenizer:
    def __len__(self) -> int:
        return VOCABULARY


class Tiny(RayPPOTrainer):
    """Only what needs GPUs is replaced: making workers and engines, and the checkpoint that is resumed."""

    seed = 0

    def init_workers(self, group, engine) -> None:
        """Workers and engine of the run before begin anew: to start them takes longer than to train."""
        group.begin(self.seed)
        address = ray.get(engine.begin.remote(self.seed))
        self.actor_rollout_wg = group
        self.async_rollout_manager = Manager(engine, address)
        self.checkpoint_manager = Sender(group, engine)
        self.losses = []

    def _load_checkpoint(self):
        if FAULT == "old-after-resume":
            self.actor_rollout_wg.load(model(self.seed + 1000).state_dict())
            self.global_steps, self.total_training_steps = RESUMED, RESUMED + STEPS

    def _update_actor(self, batch):
        made = super()._update_actor(batch)
        self.losses.append(made.meta_info["metrics"]["actor/loss"])
        return made


def workers():
    pool = RayResourcePool([2], use_gpu=False, max_colocate_count=1)
    made = create_colocated_worker_cls({"actor_rollout": RayClassWithInitArgs(cls=ray.remote(Actor))})
    group = RayWorkerGroup(resource_pool=pool, ray_cls_with_init=made, device_name="cpu")
    return group.spawn(prefix_set={"actor_rollout"})["actor_rollout"]


@ray.remote(num_cpus=0)
class Task:
    def run(self, config, seeds):
        torch.set_num_threads(1)
        group, engine, told = workers(), Engine.remote(), []
        pools = ResourcePoolManager(resource_pool_spec={"all": [2]}, mapping={Role.ActorRollout: "all"})
        for seed in seeds:
            trainer = Tiny(
                config=config, tokenizer=Tokenizer(), role_worker_mapping={Role.ActorRollout: ray.remote(Actor)},
                resource_pool_manager=pools, train_dataset=Prompts(), val_dataset=Prompts(), collate_fn=collate,
                device_name="cpu",
            )  # fmt: skip
            trainer.seed = seed
            trainer.init_workers(group, engine)
            trainer.fit()
            sums = {name: float(each.double().sum()) for name, each in group.weights()[0].items()}
            told.append({"losses": trainer.losses, "weights": sums})
        return told


if __name__ == "__main__":
    with initialize_config_module("verl.trainer.config", version_base=None):
        config = compose("ppo_trainer", overrides=[*OURS, *OVERRIDES])
    ray.init(num_cpus=4, include_dashboard=False)
    told = ray.get(Task.remote().run.remote(config, [int(each) for each in SEEDS.split(",")]))
    Path(OUT).write_text(json.dumps(told))
