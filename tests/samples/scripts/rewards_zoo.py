import functools

import numpy as np
import torch
from trl import GRPOConfig, GRPOTrainer


def good_list(completions, **kwargs):
    return [float(len(each)) for each in completions]


def grown(completions, **kwargs):
    rewards = []
    for each in completions:
        rewards.append(1.0)
    return rewards


def scaled(completions, weight, **kwargs):
    return [weight] * len(completions) + []


def scalar(prompts, completions):
    score = 0.0
    for each in completions:
        score += 1.0
    return score / 2


def forgets_to_return(completions, **kwargs):
    rewards = [0.0 for _ in completions]


def bare_return(completions, **kwargs):
    if not completions:
        return
    return [1.0 for _ in completions]


def early(completions, **kwargs):
    if not completions:
        return []
    print("scored", len(completions))


def exhaustive(completions, mode, **kwargs):
    if mode == "a":
        return [0.0]
    elif mode == "b":
        return [1.0]


def text(completions, **kwargs):
    return "good"


def array(completions, **kwargs):
    return np.array([1.0 for _ in completions])


def summed_tensor(completions, **kwargs):
    values = torch.ones(3)
    return sum(values)


async def asynchronous(completions, **kwargs):
    return [0.5 for _ in completions]


def raises(completions, **kwargs):
    raise NotImplementedError


def either(completions, strict, **kwargs):
    return None if strict else [1.0]


def by_helper(completions, **kwargs):
    return score_all(completions)


def score_all(completions):
    return 1


def traced(function):
    return function


@traced
def decorated(completions):
    return 1.0


@torch.no_grad()
def without_gradients(completions, **kwargs):
    return [0.0 for _ in completions]


def make_length_reward(limit):
    def length_reward(completions, **kwargs):
        return [min(len(each), limit) for each in completions]

    return length_reward


class Judge:
    def __init__(self, url):
        self.url = url

    def __call__(self, prompts, completions, **kwargs):
        return [0.0 for _ in completions]

    def score(self, completions):
        return [0.0 for _ in completions]


judge = Judge("http://localhost:9000")
partial = functools.partial(scaled, weight=2.0)
functions = [good_list, grown, partial, scalar, forgets_to_return, bare_return]
functions.append(early)
functions.extend([exhaustive, text, array, summed_tensor, asynchronous, raises, either, by_helper])

trainer = GRPOTrainer(
    model="m",
    reward_funcs=functions
    + [decorated, without_gradients, make_length_reward(10), Judge("x"), judge.score, lambda completions: 0.5],
    args=GRPOConfig(output_dir="o"),
)
