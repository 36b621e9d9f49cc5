"""Whose code a frame is."""

from __future__ import annotations

import pytest

from doctor.logs.failures.frames import is_own


@pytest.mark.parametrize(
    "key",
    [
        "/root/verl/my_reward.py:score",
        "/root/verl/examples/reward_fn/gsm.py:compute_score",
        "/home/u/trl/train.py:main",
        "/home/u/trl/trainer/mine.py:compute_loss",
        "/home/u/transformers/reward.py:score",
        "/home/u/datasets/prepare.py:rows",
        "/home/u/myrl/myrl/rewards.py:score",
        "/workspace/agents/rollout.py:run",
        "Cell In[3]:<module>",
        "/tmp/ipykernel_3/12.py:score",
        "/tmp/ray/session_1/runtime_resources/working_dir_files/_ray_pkg_ab/my_reward.py:score",
    ],
)
def test_what_is_surely_the_users_own(key: str) -> None:
    assert is_own(key)


@pytest.mark.parametrize(
    "key",
    [
        "/workspace/vllm/vllm/_custom_ops.py:rotary_embedding",
        "/workspace/trl/trl/generation/vllm_client.py:init_communicator",
        "/root/trl-0.19.0/trl/models/utils.py:unwrap",
        "/workspace/accelerate/src/accelerate/state.py:__init__",
        "/workspace/DeepSpeed/deepspeed/zero/utils.py:check",
        "/workspace/transformers-main/src/transformers/modeling_utils.py:to",
        "/workspace/sglang/python/sglang/utils.py:get",
        "/workspace/flash-attention/flash_attn/flash_attn_interface.py:forward",
        "/workspace/LLaMA-Factory/src/llamafactory/chat/base.py:run",
        "/root/ms-swift-main/swift/hub/hub.py:load",
        "/root/verl/recipe/dapo/dapo_ray_trainer.py:fit",
        "/root/.cache/huggingface/hub/models--kernels-community--flash-attn/snapshots/a/build/x/interface.py:forward",
        "/root/.cache/huggingface/modules/transformers_modules/q/modeling_q.py:forward",
        "/root/.cache/torch/hub/o/n/hubconf.py:model",
        "/root/unsloth_compiled_cache/UnslothGRPOTrainer.py:compute_loss",
        "/opt/conda/lib/python3.11/site-packages/trl/data_utils.py:apply",
        "/data/libs/trl/trainer/grpo_trainer.py:train",
        "/data/libs/torch/nn/modules/module.py:_call_impl",
    ],
)
def test_what_may_be_a_librarys(key: str) -> None:
    assert not is_own(key)
