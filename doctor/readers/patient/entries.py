"""The entry of each framework that parses and validates settings: called as the framework itself calls it.

An entry takes the plan and a function that answers questions for GPUs with yes. It returns, or raises `Accepted`, where
the framework has no objection; whatever else it raises is the framework's objection. Each function names the source
that it follows. Runs in the patient: Python 3.9, standard library and the framework.
"""

from __future__ import annotations

import ast
import dataclasses
import difflib
import importlib
import inspect
import os
import re
import sys
import tempfile
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, Callable

Plan = dict[str, Any]
Assume = Callable[[], None]


class Accepted(BaseException):
    """The settings were read and validated; what follows would start the training."""


class NotAsked(Exception):  # noqa: N818 - an answer; the message says why
    """A command cannot be put to the framework's validator without running the user's own code."""


def _stop(*_: Any, **__: Any) -> None:
    raise Accepted


def llamafactory(plan: Plan, assume: Assume) -> None:
    """Its parser of training arguments.

    https://github.com/hiyouga/LLaMA-Factory/blob/v0.9.5/src/llamafactory/hparams/parser.py
    """
    from llamafactory.hparams import get_train_args  # type: ignore[import-not-found]

    assume()
    sys.argv = ["llamafactory-cli", *plan["words"]]
    get_train_args()


#: subcommand -> class of its arguments, of 3.x in `swift.llm`, from 4.0 on in `swift.arguments`
_SWIFT = {"sft": "SftArguments", "pt": "PretrainArguments", "rlhf": "RLHFArguments"}


def swift(plan: Plan, assume: Assume) -> None:
    """The names and choices of its arguments first, for the rest wants the files of the model.

    https://github.com/modelscope/ms-swift/blob/v4.4.3/swift/utils/utils.py
    https://github.com/modelscope/ms-swift/blob/v4.4.3/swift/pipelines/base.py
    """
    from swift.cli import main as cli  # type: ignore[import-not-found]
    from transformers import HfArgumentParser  # type: ignore[import-not-found,unused-ignore]

    words = list(plan["words"])
    if hasattr(cli, "parse_yaml_args"):
        cli.parse_yaml_args(words)
    if any(each in ("--external_plugins", "--custom_register_path") for each in words):
        raise NotAsked("its arguments name code of yours, which its parser would import")
    module = importlib.import_module("swift.arguments" if _has("swift.arguments") else "swift.llm")
    arguments = getattr(module, _SWIFT.get(plan["entry"]) or "SftArguments", None) or module.TrainArguments
    parsed, unknown = HfArgumentParser([arguments]).parse_known_args(words)
    if unknown and "--ignore_args_error" not in words:
        msg = f"remaining_argv: {unknown}"
        raise ValueError(msg)
    _refuse_unregistered(arguments, parsed)
    from swift.utils import parse_args  # type: ignore[import-not-found]

    tools = importlib.import_module("swift.utils.torch_utils")
    if hasattr(tools, "get_cache_dir"):
        tools.get_cache_dir = tempfile.gettempdir  # type: ignore[attr-defined]  # where it keeps its lock files
    assume()
    parse_args(arguments, words)


def _refuse_unregistered(arguments: Any, parsed: Any) -> None:
    """Names that it looks up in a registry when the model is there; its help lists what the registry holds.

    https://github.com/modelscope/ms-swift/blob/v4.4.3/swift/arguments/base_args/model_args.py

    Raises:
        ValueError: the registry lacks a name.

    """
    for field in dataclasses.fields(arguments):
        listed = re.fullmatch(
            r"(?:model_type|template) choices: (\[.*\])", str(field.metadata.get("help", "")), re.DOTALL
        )
        given = getattr(parsed, field.name, None)
        known = [each for each in ast.literal_eval(listed.group(1)) if each] if listed else []
        if known and isinstance(given, str) and given not in known:
            near = difflib.get_close_matches(given, known, 5)
            msg = f"`{field.name}` {given!r} is not registered in this release; the nearest are {near}"
            raise ValueError(msg)


def _has(module: str) -> bool:
    from importlib.util import find_spec

    with suppress(ImportError):
        return find_spec(module) is not None
    return False


def verl(plan: Plan, assume: Assume) -> None:
    """Hydra's composition, then its validation: a function from 0.5 on, before that a method of the trainer.

    https://github.com/verl-project/verl/blob/v0.7.0/verl/utils/config.py
    https://github.com/verl-project/verl/blob/v0.3.0.post1/verl/trainer/ppo/ray_trainer.py
    """
    name = "ppo_megatron_trainer" if "--config-name=ppo_megatron_trainer" in plan["words"] else "ppo_trainer"
    config = _composed(plan, "verl.trainer", "config", name)
    needs = bool(config.algorithm.get("use_kl_in_reward", False) or config.actor_rollout_ref.actor.use_kl_loss)
    critic = config.critic.get("enable")
    critic = config.algorithm.adv_estimator == "gae" if critic is None else bool(critic)
    assume()
    home = importlib.import_module("verl.utils.config" if _has("verl.utils.config") else "verl.utils")
    validate = getattr(home, "validate_config", None)
    if validate is not None:
        validate(config, needs, critic)
        return
    method = importlib.import_module("verl.trainer.ppo.ray_trainer").RayPPOTrainer._validate_config
    method(SimpleNamespace(config=config, use_critic=critic, use_reference_policy=needs, use_rm=False))


def _composed(plan: Plan, package: str, folder: str, name: str) -> Any:
    """The configuration that Hydra makes of a package's folder and the words of the command.

    https://hydra.cc/docs/advanced/compose_api/
    """
    from hydra import compose, initialize_config_dir

    overrides = []
    for word in plan["words"]:
        option, _, value = word.partition("=")
        if option == "--config-name":
            name = value or name
        elif option in ("--config-path", "--config-dir", "-cp", "-cn", "-cd"):
            raise NotAsked("it takes its configuration from a folder of yours")
        elif not word.startswith("-"):
            overrides.append(word)
    root = os.path.dirname(str(importlib.import_module(package).__file__))
    with initialize_config_dir(config_dir=os.path.join(root, folder), version_base=None):
        return compose(config_name=name, overrides=overrides)


def openrlhf(plan: Plan, assume: Assume) -> None:
    """The main block of its program, with its options and their checks, up to the call of `train`.

    https://github.com/OpenRLHF/OpenRLHF/blob/v0.11.0/openrlhf/cli/train_ppo_ray.py
    """
    from importlib.util import find_spec

    spec = find_spec(plan["entry"])
    if spec is None or spec.origin is None:
        msg = f"No module named {plan['entry']!r}"
        raise ModuleNotFoundError(msg, name=plan["entry"])
    with open(spec.origin, encoding="utf-8") as file:
        tree = ast.parse(file.read(), spec.origin)
    if not any(isinstance(each, ast.FunctionDef) and each.name == "train" for each in tree.body):
        raise NotAsked("this release has no such program")
    tree.body = [each for each in tree.body if not (isinstance(each, ast.FunctionDef) and each.name == "train")]
    sys.argv = [spec.origin, *plan["words"]]
    names = {"__name__": "__main__", "__file__": spec.origin, "train": _stop}
    assume()
    exec(compile(tree, spec.origin, "exec"), names)  # noqa: S102 - the program that the command starts


def axolotl(plan: Plan, assume: Assume) -> None:
    """Its models of the YAML file, without the capabilities of a card.

    https://github.com/axolotl-ai-cloud/axolotl/blob/v0.18.0/src/axolotl/cli/config.py
    """
    import yaml  # type: ignore[import-untyped,unused-ignore]

    files = [each for each in plan["words"] if each.endswith((".yml", ".yaml")) and os.path.isfile(each)]
    if len(files) != 1 or len(plan["words"]) > 1:
        raise NotAsked("its options beside the file are not put together here")
    with open(files[0], encoding="utf-8") as file:
        settings = yaml.safe_load(file)
    if any(not str(each).startswith("axolotl.") for each in settings.get("plugins") or ()):
        raise NotAsked("its file names a plugin of yours, which its parser would import")
    config = importlib.import_module("axolotl.utils.config")
    dictionary = importlib.import_module("axolotl.utils.dict").DictDefault
    loaded = dictionary(settings)
    if loaded.get("plugins"):
        importlib.import_module("axolotl.cli.config").prepare_plugins(loaded)
    assume()
    config.validate_config(loaded, capabilities=None, env_capabilities=None)


def oumi(plan: Plan, assume: Assume) -> None:
    """Its structured configuration, file and options merged, and its own validation.

    https://github.com/oumi-ai/oumi/blob/v0.9/src/oumi/core/configs/base_config.py
    https://github.com/oumi-ai/oumi/blob/v0.9/src/oumi/core/cli/cli_utils.py
    """
    configs = importlib.import_module("oumi.core.configs")
    file, overrides, words = None, [], list(plan["words"])
    while words:
        name, equals, value = words.pop(0).partition("=")
        if not name.startswith("-"):
            raise NotAsked("its options are not written as oumi takes them")
        if not equals:
            value = words.pop(0) if words and not words[0].startswith("--") else "true"
        if name in ("-c", "--config"):
            file = value
        elif "." in name:
            overrides.append(f"{name[2:]}={value}")
    if file is None or not os.path.isfile(file):
        raise NotAsked("its configuration is not a file of this machine")
    assume()
    config = configs.TrainingConfig.from_yaml_and_arg_list(file, overrides)
    config.finalize_and_validate()


def areal(plan: Plan, assume: Assume) -> None:
    """Hydra's composition of the file, laid over the class that the script names.

    https://github.com/inclusionAI/AReaL/blob/v1.0.4/areal/api/cli_args.py
    """
    match = re.search(r"load_expr_config\(\s*\w+\s*,\s*(\w+)\s*\)", plan["script_text"])
    arguments = importlib.import_module("areal.api.cli_args")
    chosen = getattr(arguments, match.group(1), None) if match else None
    if chosen is None:
        raise NotAsked("the class of its configuration is the script's own")
    assume()
    config, _ = arguments.parse_cli_args([each for each in plan["words"] if not each.endswith(".py")])
    importlib.import_module("omegaconf").OmegaConf.to_object(arguments.to_structured_cfg(config, config_cls=chosen))


def nemo_rl(plan: Plan, assume: Assume) -> None:
    """File with what it inherits, overrides of the command, and the model of the algorithm that the script imports.

    https://github.com/NVIDIA-NeMo/RL/blob/main/examples/run_grpo.py
    """
    match = re.search(r"from (nemo_rl\.algorithms\.\w+) import \(?[^)]*\bMasterConfig\b", plan["script_text"])
    words = list(plan["words"])
    if match is None or "--config" not in words[:-1]:
        raise NotAsked("the script does not read its configuration as the examples do")
    at = words.index("--config")
    file, overrides = words[at + 1], words[:at] + words[at + 2 :]
    tools = importlib.import_module("nemo_rl.utils.config")
    model = importlib.import_module(match.group(1)).MasterConfig
    if hasattr(tools, "register_omegaconf_resolvers"):
        tools.register_omegaconf_resolvers()
    config = tools.load_config(file)
    if overrides:
        config = tools.parse_hydra_overrides(config, overrides)
    assume()
    model(**importlib.import_module("omegaconf").OmegaConf.to_container(config, resolve=True))


def prime_rl(plan: Plan, assume: Assume) -> None:
    """The entry point itself, up to what takes the configuration that its `cli` made and validated.

    https://github.com/PrimeIntellect-ai/prime-rl/blob/main/src/prime_rl/entrypoints/rl.py
    """
    program = importlib.import_module(f"prime_rl.entrypoints.{plan['entry']}")
    parse = getattr(program, "cli", None)
    if parse is None:
        raise NotAsked("this release has another parser")

    def parsed(*args: Any, **kwargs: Any) -> None:
        parse(*args, **kwargs)
        raise Accepted

    sys.argv = [plan["entry"], *plan["words"]]
    program.cli = parsed  # type: ignore[attr-defined]
    assume()
    program.main()


def skyrl(plan: Plan, assume: Assume) -> None:
    """Overrides to its configuration, then its validation.

    https://github.com/NovaSky-AI/SkyRL/blob/main/skyrl/train/entrypoints/main_base.py
    """
    if not plan["entry"].endswith(".main_base"):
        raise NotAsked("the entry point is not SkyRL's own")
    program = importlib.import_module(plan["entry"])
    assume()
    if hasattr(program, "SkyRLTrainConfig"):
        config = program.SkyRLTrainConfig.from_cli_overrides(list(plan["words"]))
    else:
        config = _composed(plan, "skyrl_train", "config", "ppo_base_config")
    program.validate_cfg(config)


def rllm(plan: Plan, assume: Assume) -> None:
    """Hydra's composition as the script asks for it, and the validation that is the same for all backends.

    https://github.com/rllm-org/rllm/blob/main/rllm/trainer/unified_trainer.py
    """
    match = re.search(
        r"config_path=['\"]pkg://rllm\.trainer\.config['\"],\s*config_name=['\"](\w+)['\"]", plan["script_text"]
    )
    if match is None:
        raise NotAsked("the script takes its configuration from elsewhere")
    config = _composed(plan, "rllm.trainer", "config", match.group(1))
    trainer = importlib.import_module("rllm.trainer.unified_trainer").UnifiedTrainer
    assume()
    backend = SimpleNamespace(validate_config=lambda: None)
    trainer._validate_and_setup_configs(
        SimpleNamespace(config=config, rllm_config=config.rllm, backend=backend, traj_group_adv_estimator_map={})
    )


def slime(plan: Plan, assume: Assume) -> None:
    """Its parser over Megatron's and SGLang's, with its own checks.

    https://github.com/THUDM/slime/blob/main/slime/utils/arguments.py
    """
    parse = importlib.import_module("slime.utils.arguments").parse_args
    if inspect.signature(parse).parameters and "add_custom_arguments" in plan["script_text"]:
        raise NotAsked("the script adds its own options")
    sys.argv = ["train.py", *plan["words"]]
    assume()
    parse()


ENTRIES: dict[str, Callable[[Plan, Assume], None]] = {
    each.__name__: each
    for each in (llamafactory, swift, verl, openrlhf, axolotl, oumi, areal, nemo_rl, prime_rl, skyrl, rllm, slime)
}
