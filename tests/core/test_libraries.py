"""Whose file a path is: among what pip installs, in a checkout, in any other folder."""

from __future__ import annotations

import pytest

from doctor.data.libraries import package_of


@pytest.mark.parametrize(
    ("path", "package"),
    [
        ("/opt/conda/lib/python3.11/site-packages/trl/trainer/grpo_trainer.py", "trl"),
        ("/usr/lib/python3/dist-packages/typing_extensions.py", "typing_extensions"),
        ("/workspace/vllm/vllm/_custom_ops.py", "vllm"),
        ("/workspace/trl-0.19.0/trl/trainer/of_tomorrow_trainer.py", "trl"),
        ("/workspace/transformers/src/transformers/of_tomorrow.py", "transformers"),
        ("/workspace/sglang/python/sglang/of_tomorrow.py", "sglang"),
        ("/workspace/DeepSpeed/deepspeed/of_tomorrow.py", "deepspeed"),
        ("/data/libs/trl/trainer/grpo_trainer.py", "trl"),
        ("/data/libs/trl/scripts/vllm_serve.py", "trl"),
        ("/data/libs/vllm/engine/llm_engine.py", "vllm"),
        ("/data/libs/transformers/models/qwen2/modeling_qwen2.py", "transformers"),
        ("/data/libs/transformers/trainer.py", "transformers"),
        ("/data/libs/torch/nn/modules/module.py", "torch"),
        ("/data/libs/torch/distributed/distributed_c10d.py", "torch"),
        ("/data/libs/torch/distributed/fsdp/_runtime_utils.py", "torch"),
        ("C:\\libs\\torch\\nn\\modules\\linear.py", "torch"),
        ("/data/libs/huggingface_hub/file_download.py", "huggingface_hub"),
        ("/data/libs/accelerate/accelerator.py", "accelerate"),
        ("/data/libs/ray/_private/worker.py", "ray"),
        ("/data/libs/datasets/arrow_dataset.py", "datasets"),
        ("/app/prime-rl/src/prime_rl/rl.py", "prime_rl"),
        ("/root/oumi/src/oumi/train.py", "oumi"),
        ("/root/libs/oumi/core/configs/training_config.py", "oumi"),
    ],
)
def test_a_librarys_file(path: str, package: str) -> None:
    assert package_of(path) == package


@pytest.mark.parametrize(
    "path",
    [
        "/home/u/proj/train.py",
        "/home/u/trl/train.py",
        "/home/u/trl/trainer/mine.py",
        "/home/u/trl/scripts/train.py",
        "/home/u/trl/models/utils.py",
        "/home/u/transformers/reward.py",
        "/home/u/datasets/load.py",
        "/home/u/datasets/datasets/rows.py",
        "/home/u/torch/train.py",
        "/home/u/torch/utils/mine.py",
        "/home/u/ray/train.py",
        "/home/u/ray/data/rows.py",
        "/home/u/peft/tune.py",
        "/home/u/pydantic/examples/one.py",
        "/workspace/vllm/examples/offline.py",
        "/workspace/verl/my_reward.py",
        "/home/u/oumi/train.py",
        "/home/u/oumi/datasets/mine.py",
        "/home/u/prime_rl/rewards.py",
        "train.py",
        "<string>",
        "",
    ],
)
def test_nobodys_file_that_is_known(path: str) -> None:
    assert package_of(path) == ""
