"""Data and reward of a framework whose workers cannot run here, by its configuration: a program of its own.

Where the framework itself is there, `doctor.monitors.rehearse.verl` calls it in the framework's own process.

It reads the rows as the framework's dataset does, renders prompts with the run's tokenizer, and calls the reward
function as the framework's worker does; what the worker would raise is raised here, in its words.
https://github.com/volcengine/verl/blob/v0.5.0/verl/utils/dataset/rl_dataset.py
https://github.com/volcengine/verl/blob/v0.5.0/verl/trainer/ppo/reward.py
https://github.com/volcengine/verl/blob/v0.5.0/verl/workers/reward_manager/naive.py
https://github.com/volcengine/verl/blob/v0.5.0/verl/workers/reward_manager/batch.py
https://github.com/OpenRLHF/OpenRLHF/blob/v0.8.0/openrlhf/datasets/prompts_dataset.py
"""

from __future__ import annotations

import asyncio
import functools
import importlib.util
import inspect
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Callable, Optional

#: rows that rewards are tried with, and rows whose prompts are rendered
_ROWS, _RENDERED = 8, 256
_READERS = {".parquet": "parquet", ".json": "json", ".jsonl": "json", ".csv": "csv"}
_OWN_ANSWER = "I do not know."


def main(words: Sequence[str]) -> None:
    """Rehearse the parts of a plan: LIBRARY PLAN."""
    sys.path.append(words[0])
    from doctor.monitors.rehearse import journal

    plan = json.loads(Path(words[1]).read_text(encoding="utf-8"))
    journal.reached("configuration")
    if plan["framework"] == "veRL":
        journal.left_out("configuration", "not_installed", framework="veRL")
    rehearsed(plan)


def rehearsed(plan: Mapping[str, Any]) -> None:
    """Rehearse data and reward of a plan.

    Raises:
        Exception: what the run would end with.

    """
    from doctor.monitors.rehearse import journal

    journal.write("parts", framework=plan["framework"])
    with journal.phase("data"):
        rows = _rows(plan)
        tokenizer = _tokenizer(plan) if rows else None
        if tokenizer is not None:
            _lengths(plan, rows, tokenizer)
    if rows and plan["reward"]:
        with journal.phase("reward"):
            _reward(plan, rows)


def _rows(plan: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Rows of the training files; none where a file is elsewhere, which is noted.

    Raises:
        FileNotFoundError, KeyError, AssertionError: what the run would end with.

    """
    from doctor.monitors.rehearse import journal

    missing = [each for each in plan["files"] if not os.path.exists(each)]
    if missing:
        msg = f"{plan['names']['files']}: {missing[0]}"
        raise FileNotFoundError(msg)
    if not plan["files"]:
        journal.left_out("data", "data_elsewhere", key=plan["names"]["files"])
        return []
    try:
        from datasets import load_dataset
    except ImportError:
        journal.left_out("data", "no_datasets")
        return []
    rows: list[dict[str, Any]] = []
    for each in plan["files"]:
        data = _loaded(load_dataset, each)
        names, wanted = list(data.column_names or []), plan["prompt"]
        if wanted and wanted not in names:
            msg = f"{plan['names']['prompt']} is {wanted!r}; the columns of {each} are {names}"
            raise KeyError(msg)
        rows += [data[at] for at in range(min(len(data), _RENDERED))]
    if not rows:
        msg = "Train dataloader is empty!"
        raise AssertionError(msg)
    return rows


def _loaded(load_dataset: Callable[..., Any], path: str) -> Any:
    """The training split of a file or a folder."""
    if os.path.isdir(path):
        return load_dataset(path, split="train")
    suffix = Path(path.removesuffix(".gz")).suffix
    return load_dataset(_READERS.get(suffix, "parquet"), data_files=path, split="train")


def _tokenizer(plan: Mapping[str, Any]) -> Any:
    """The run's own tokenizer; None where it is not on this machine, which is noted."""
    from doctor.monitors.rehearse import journal

    if not plan["model"]:
        journal.left_out("data", "no_tokenizer", model="?", error="the configuration names no model")
        return None
    try:
        from transformers import AutoTokenizer

        return AutoTokenizer.from_pretrained(plan["model"], trust_remote_code=plan["trust_remote_code"])
    except Exception as error:  # noqa: BLE001 - no tokenizer here is no verdict on the run
        journal.left_out(
            "data", "no_tokenizer", model=plan["model"], error=f"{type(error).__name__}: {str(error)[:160]}"
        )
        return None


def _lengths(plan: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], tokenizer: Any) -> None:
    """Render every prompt; judge the longest as the run's dataset does.

    Raises:
        RuntimeError: nothing filters or cuts a prompt that is too long.
        AssertionError: the filter leaves none.

    """
    from doctor.monitors.rehearse import journal

    limit = plan["limit"]
    counts = [len(_ids(plan, tokenizer, row[plan["prompt"]])) for row in rows] if plan["prompt"] else []
    if not counts or not limit:
        return
    long = sum(each > limit for each in counts)
    journal.write("prompts", rows=len(counts), over=long, limit=limit, longest=max(counts))
    if plan["filtered"]:
        if long == len(counts):
            msg = f"filter dataset len: 0 of {len(counts)} rows looked at; Train dataloader is empty!"
            raise AssertionError(msg)
    elif long and plan["truncation"] == "error":
        msg = f"Prompt length {max(counts)} is longer than {limit}."
        raise RuntimeError(msg)


def _ids(plan: Mapping[str, Any], tokenizer: Any, prompt: Any) -> list[int]:
    if plan["template"]:
        messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else list(prompt)
        prompt = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    return list(tokenizer(str(prompt), add_special_tokens=False)["input_ids"])


class _Of:
    """What `Tried` asks of a trainer."""

    processing_class = reward_weights = None

    def __init__(self, function: Any) -> None:
        self.reward_funcs = [function]


def _reward(plan: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> None:
    from doctor.monitors.rehearse import journal, rewards

    original = _function(plan["reward"])
    if original is None:
        journal.left_out("reward", "reward_elsewhere", framework=plan["framework"])
        return
    few = list(rows[:_ROWS])
    batch = _FORMS[plan["reward"]["form"]].columns(plan, few)
    batch["prompts"] = [row[plan["prompt"]] for row in few] if plan["prompt"] else [""] * len(few)
    batch["completions"] = [_OWN_ANSWER] * len(few)
    function = _adapted(original, plan["reward"])
    tried = rewards.Tried(function, _Of(function), rewards.texts_of(original))
    with tried.timed():
        result = function(**batch)
    tried.once((), batch, result)


def _function(reward: Mapping[str, Any]) -> Optional[Callable[..., Any]]:
    """The reward function; None where it is the framework's own and that is not installed.

    Raises:
        FileNotFoundError, RuntimeError, AttributeError: as veRL's loader does.

    """
    path, name = reward["path"], reward["name"]
    if path is None:
        try:
            return getattr(importlib.import_module("verl.utils.reward_score"), name, None)
        except ImportError:
            return None
    if not os.path.exists(path):
        msg = f"Reward function file '{path}' not found."
        raise FileNotFoundError(msg)
    spec = importlib.util.spec_from_file_location("custom_module", path)
    assert spec is not None  # noqa: S101 - for the type checker
    assert spec.loader is not None  # noqa: S101
    module = importlib.util.module_from_spec(spec)
    sys.modules["custom_module"] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        msg = f"Error loading module from '{path}': {error}"
        raise RuntimeError(msg) from error
    if not hasattr(module, name):
        msg = f"Reward function '{name}' not found in '{path}'."
        raise AttributeError(msg)
    return getattr(module, name)  # type: ignore[no-any-return]


def _adapted(original: Callable[..., Any], reward: Mapping[str, Any]) -> Callable[..., Any]:
    """The function with the form of TRL's: prompts, completions and columns by name, a list of numbers back."""
    form = _FORMS[reward["form"]]

    @functools.wraps(original)
    def called(**batch: Any) -> Any:
        return form.called(original, dict(reward["arguments"]), batch)

    names = inspect.signature(original).parameters
    column = next((one for many, one in form.column.items() if many in names), None)
    if column is not None:  # what it calls the right answers, by the name that they have here
        called.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [inspect.Parameter(each, inspect.Parameter.KEYWORD_ONLY) for each in ("prompts", "completions", column)]
        )
    return called


def _settled(value: Any) -> Any:
    """What a function gives, or what it is awaited for."""
    return asyncio.run(value) if inspect.iscoroutine(value) else value


def _score(value: Any) -> Any:
    """The score of one row: a number, or that of a dictionary."""
    return value["score"] if isinstance(value, Mapping) else value


class _OneByOne:
    """veRL's managers for single rows."""

    column: Mapping[str, str] = {"ground_truth": "ground_truth"}

    @staticmethod
    def columns(plan: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """What its rows give: the source, the right answer, the rest."""
        return {
            "data_source": [row[plan["source"]] for row in rows],
            "ground_truth": [row["reward_model"]["ground_truth"] for row in rows],
            "extra_info": [row.get("extra_info") or {} for row in rows],
        }

    @staticmethod
    def called(function: Callable[..., Any], more: dict[str, Any], batch: Mapping[str, Any]) -> list[Any]:
        """The scores of a batch."""
        each = zip(batch["data_source"], batch["completions"], batch["ground_truth"], batch["extra_info"])  # noqa: B905
        return [
            _score(
                _settled(function(data_source=source, solution_str=text, ground_truth=right, extra_info=info, **more))
            )
            for source, text, right, info in each
        ]


class _AsBatch(_OneByOne):
    """veRL's manager for whole batches."""

    column: Mapping[str, str] = {"ground_truths": "ground_truth"}

    @staticmethod
    def called(function: Callable[..., Any], more: dict[str, Any], batch: Mapping[str, Any]) -> list[Any]:
        """The scores of a batch."""
        found = _settled(
            function(
                data_sources=batch["data_source"], solution_strs=batch["completions"],
                ground_truths=batch["ground_truth"], extra_infos=batch["extra_info"], **more,
            )
        )  # fmt: skip
        return [_score(each) for each in (found.tolist() if hasattr(found, "tolist") else found)]


class _OfLabels:
    """OpenRLHF: `reward_func(queries, prompts, labels)`, which gives a tensor, or one under `rewards`."""

    column: Mapping[str, str] = {"labels": "label"}

    @staticmethod
    def columns(plan: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """The labels; without a key for them they are empty."""
        return {"label": [row[plan["label"]] if plan["label"] else "" for row in rows]}

    @staticmethod
    def called(function: Callable[..., Any], more: dict[str, Any], batch: Mapping[str, Any]) -> Any:
        """The rewards of a batch."""
        from doctor.monitors.rehearse import answers

        prompts = [answers.text_of(each) for each in batch["prompts"]]
        queries = [prompt + text for prompt, text in zip(prompts, batch["completions"])]  # noqa: B905
        found = _settled(function(queries, prompts, batch["label"], **more))
        found = found["rewards"] if isinstance(found, Mapping) else found
        return found.flatten().tolist() if hasattr(found, "flatten") else found


_FORMS: Mapping[str, Any] = {"one": _OneByOne, "batch": _AsBatch, "labels": _OfLabels}


if __name__ == "__main__":
    sys.path[:] = [each for each in sys.path if Path(each or ".").resolve() != Path(__file__).resolve().parent]
    main(sys.argv[1:])
