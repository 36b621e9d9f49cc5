"""Dynamic sampling found too few groups whose answers differ in reward.

## What it means
DAPO's dynamic sampling throws away groups in which all answers got the same reward, and generates further batches until
enough groups are left. After `max_num_gen_batches` batches it gives up.
## What it does to a run
The run ends at that step.
## What to do
Mend the reward if it is always the same, else give data that the model sometimes solves, or let it sample longer.
## How it is found
In a log: by the words of the trainer, with the number of batches.
## References
https://github.com/verl-project/verl-recipe/blob/main/dapo/dapo_ray_trainer.py
https://arxiv.org/abs/2503.14476
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="RLX023", name="dynamic-sampling-exhausted", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"num_gen_batches=(?P<batches>\d{1,6}) >= max_num_gen_batches=\d{1,6}\. Generated too many",
        symptom_of=("RLX", "VRL024", "VRL020", "DAT"),
    ),
)

LOG_CONFIDENCE = LIKELY

LOG_MESSAGE = Message(
    en=Words(
        "{batches} batches of rollouts brought too few groups whose answers differ in reward",
        "Dynamic sampling (`algorithm.filter_groups`) keeps only prompts whose answers got different rewards: where "
        "all are right or all are wrong there is nothing to learn. Either the reward is the same for everything (a "
        "format that is never met, answers cut off by `max_response_length`, a wrong `reward_model.ground_truth`), or "
        "the data is too hard or too easy for this model.",
        "Look at the mean of the filtered metric (`acc`, `seq_reward`) and at a few answers with their scores first: "
        "0 or 1 throughout means reward or length. Then mix in prompts that the model solves sometimes, raise "
        "`actor_rollout_ref.rollout.n` and the temperature, or sample longer: "
        "`algorithm.filter_groups.max_num_gen_batches` higher (0: without end), a larger `data.gen_batch_size`, or "
        "`algorithm.filter_groups.enable=False`.",
    ),
    zh=Words(
        "{batches} 批 rollout 中,回答奖励有差异的组太少",
        "动态采样(`algorithm.filter_groups`)只保留回答奖励不同的 prompt:全对或全错的组没有可学的内容。要么奖励对所有回"
        "答都相同(从未满足的格式、被 `max_response_length` 截断的回答、错误的 `reward_model.ground_truth`),要么数据对该"
        "模型过难或过易。",
        "先看被过滤指标(`acc`、`seq_reward`)的均值以及几条回答及其得分:始终为 0 或 1 说明是奖励或长度问题。然后混入模型"
        "有时能解出的 prompt,提高 `actor_rollout_ref.rollout.n` 与温度,或延长采样:提高 "
        "`algorithm.filter_groups.max_num_gen_batches`(0 表示不限),增大 `data.gen_batch_size`,或 "
        "`algorithm.filter_groups.enable=False`。",
    ),
)
