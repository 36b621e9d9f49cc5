"""An exception that no signature knows is taken apart: who asked what of whom, by its words, frames and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.catalogue.finding import LIKELY, Finding
from doctor.logs.failures.asked import asked_for_attribute, asked_for_entry
from doctor.logs.postmortem import Prepared, examine, prepare

SHOWN = "PYT4665"
HEADER = "Traceback (most recent call last):\n"
LIBRARY = '  File "/opt/venv/lib/python3.11/site-packages/{path}", line 171, in {function}\n    {code}\n'
OWN = '  File "/home/user/train.py", line 31, in {function}\n    {code}\n'


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    return prepare()


def first(prepared: Prepared, tmp_path: Path, text: str, context: str = "") -> Finding:
    (tmp_path / "train.log").write_text(text, encoding="utf-8")
    (tmp_path / "context.txt").write_text(context, encoding="utf-8")
    told = [tmp_path / "context.txt"] if context else []
    result = examine([str(tmp_path / "train.log")], context=told, prepared=prepared)
    assert not result.diagnosis.outcome.crashed
    return result.diagnosis.outcome.findings[0]


def in_library(path: str, function: str, code: str, raised: str) -> str:
    return f"{HEADER}{LIBRARY.format(path=path, function=function, code=code)}{raised}\n"


def in_script(function: str, code: str, raised: str) -> str:
    return f"{HEADER}{OWN.format(function=function, code=code)}{raised}\n"


@pytest.mark.parametrize(
    ("text", "context", "headline"),
    [
        # https://github.com/huggingface/trl/issues/3455
        (
            in_library(
                "trl/scripts/grpo.py", "main", "reward_funcs=reward_model,",
                "UnboundLocalError: cannot access local variable 'reward_model' where it is not associated with a value",
            ),
            "",
            "`trl` reads `reward_model`, which the code path that ran has not set",
        ),
        # https://github.com/unslothai/unsloth/issues/2400
        (
            (f'{HEADER}  File "/home/user/unsloth_compiled_cache/UnslothSFTTrainer.py", line 700, in _prepare_dataset\n    '
             "test_text = dataset[0]\nNameError: name 'tokenizer_call' is not defined\n"),
            "",
            "`unsloth` uses `tokenizer_call`, which nothing there sets",
        ),
        (in_script("main", "trainer.train()", "NameError: name 'trainer' is not defined"), "", "`trainer` is used before"),
        (in_script("main", "x = torch.ones(2)", "NameError: name 'torch' is not defined"), "", "without an import"),
        (
            in_library(
                "megatron/training/checkpointing.py", "load_checkpoint",
                "state_dict['args'].tensor_model_parallel_size,", "KeyError: 'args'",
            ),
            "",
            "The saved state has no `args`, which `megatron` reads",
        ),
        # https://github.com/modelscope/ms-swift/issues/2399
        (
            HEADER
            + LIBRARY.format(path="trl/trainer/dpo_trainer.py", function="_tokenize", code='prompt = features["prompt"]')
            + LIBRARY.format(path="datasets/formatting/formatting.py", function="__getitem__", code="value = self.data[key]")
            + "KeyError: 'prompt'\n",
            "trl==0.11.4",
            "Rows reach `_tokenize` without `prompt`",
        ),
        (
            in_script("main", 'rank = int(os.environ["MY_RANK"])', "KeyError: 'MY_RANK'"),
            "",
            "The environment variable `MY_RANK` is not set",
        ),
        (
            in_library(
                "acme/models/auto.py", "build", 'cls = BUILDER_MAPPING["qwen9"]', "KeyError: 'qwen9'",
            ),
            "",
            "`BUILDER_MAPPING` of `acme` does not contain `qwen9`",
        ),
        (
            ("    shift_logits = outputs.logits[..., :-1, :].contiguous()\n"
             "TypeError: 'NoneType' object is not subscriptable\n"),
            "use_liger: true",
            "`outputs.logits` is None: the model returns no `logits` (`use_liger=True`)",
        ),
        (
            f"{HEADER}AttributeError: 'NoneType' object has no attribute 'model_init_kwargs'\n",
            "",
            "The code reads `model_init_kwargs` of None: the training arguments are missing",
        ),
        ("object has no attribute 'reference_state_dict'\n", "grpo.skip_reference_policy_logprobs_calculation: true",
         "`reference_state_dict` was never created (`grpo.skip_reference_policy_logprobs_calculation=True`)"),
        # https://github.com/unslothai/unsloth/issues/926
        (
            "TypeError: is_bf16_supported() got an unexpected keyword argument 'including_emulation'\n",
            "",
            "`is_bf16_supported` does not take `including_emulation`",
        ),
        # https://github.com/allenai/open-instruct/issues/97
        (
            in_script(
                "dequantize_model", "quant_state[2] = dtype",
                "TypeError: 'QuantState' object does not support item assignment",
            ),
            "",
            "`quant_state` is a `QuantState` where the code reads something else",
        ),
        (
            in_library(
                "mbridge/core/util.py", "get_model", "if model_type == ModelType.encoder_and_decoder:",
                "AttributeError: type object 'ModelType' has no attribute 'encoder_and_decoder'",
            ),
            "",
            "`mbridge` asks `ModelType` for `encoder_and_decoder`, which it does not have",
        ),
        (
            f"{HEADER}ValueError: '/path/to/checkpoint-100' is not in list\n",
            "",
            "The recorded best checkpoint `checkpoint-100` is not among the checkpoints of the output folder",
        ),
        # https://github.com/huggingface/trl/pull/2843
        (
            in_library(
                "trl/trainer/grpo_trainer.py", "__init__",
                'f"Number of reward weights ({len(len(args.reward_weights))}) must match number of reward "',
                "TypeError: object of type 'int' has no len()",
            ),
            "",
            "`trl` was about to refuse something: Number of reward weights (…) must match number of reward",
        ),
    ],
)  # fmt: skip
def test_an_exception_is_taken_apart(
    prepared: Prepared, tmp_path: Path, text: str, context: str, headline: str
) -> None:
    finding = first(prepared, tmp_path, text, context)
    assert (finding.problem.id, finding.confidence) == (SHOWN, LIKELY), finding.words().headline
    assert headline in finding.words().headline


SUBPROCESS = '  File "/usr/lib/python3.11/subprocess.py", line 1955, in _execute_child\n    raise child_exception_type(errno_num, err_msg, err_filename)\n'
ABSENT = "FileNotFoundError: [Errno 2] No such file or directory: "


@pytest.mark.parametrize(
    ("text", "context", "headline"),
    [
        (in_script("main", "run(['acme-tool'])", SUBPROCESS + ABSENT + "'acme-tool'"), "",
         "The program `acme-tool` is not installed"),
        (in_script("main", "open(p)", ABSENT + "'/data/train.jsonl\\r'"), "", "begins or ends with a blank"),
        (in_script("main", "open(p)", ABSENT + "'~/data/train.jsonl'"), "", "still holds a placeholder"),
        (in_script("main", "open(p)", ABSENT + "'${DATA}/train.jsonl'"), "", "still holds a placeholder"),
        (in_script("main", "open(p)", "IsADirectoryError: [Errno 21] Is a directory: '/data'"), "", "a folder exists where"),
        (in_library("acme/cache.py", "take", "os.stat(p)", ABSENT + "'/tmp/acme_root/x.lock'"), "", "cleaners change"),
        (in_library("acme/core.py", "load", "open(p)", ABSENT + "'/ckpt/step-10/trainer_state.json'"), "",
         "`/ckpt/step-10/trainer_state.json` is missing: the folder is incomplete"),
        (in_script("main", "open(args.train_file)", ABSENT + "'data/train.jsonl'"), "", "a relative path starts at"),
        (in_script("main", "open(p)", ABSENT + "'/mnt/data/train.parquet'"), "", "does not exist where the process runs"),
        (f"{ABSENT}'/mnt/data/train.parquet'\n", "", "does not exist where the process runs"),
    ],
)  # fmt: skip
def test_an_absent_path_is_taken_apart(
    prepared: Prepared, tmp_path: Path, text: str, context: str, headline: str
) -> None:
    finding = first(prepared, tmp_path, text, context)
    assert (finding.problem.id, finding.confidence) == (SHOWN, LIKELY), finding.words().headline
    assert headline in finding.words().headline


def test_the_setting_that_holds_an_absent_path_is_named(prepared: Prepared, tmp_path: Path) -> None:
    text = in_script("main", "open(p)", ABSENT + "'/mnt/data/gsm/train.parquet'")
    finding = first(prepared, tmp_path, text, "python train.py --data_root /mnt/data/gsm --lr 1e-6\n")
    assert "data_root=/mnt/data/gsm" in finding.words().explanation


@pytest.mark.parametrize(
    "text",
    [
        # words of the program's own, which only look like Python's
        in_script("main", "raise KeyError('args')", "KeyError: 'args'"),
        # nothing tells what holds the entry
        in_library("acme/core.py", "run", "return self.x[key]", "KeyError: 'abc'"),
        # None, and nothing tells what it was to be
        in_library("acme/core.py", "run", "return self.engine.start()",
                   "AttributeError: 'NoneType' object has no attribute 'start'"),
        f"{HEADER}TypeError: 'NoneType' object is not subscriptable\n",
        f"{HEADER}KeyError: 'labels'\n",
    ],
)  # fmt: skip
def test_what_tells_too_little_stays_unknown(prepared: Prepared, tmp_path: Path, text: str) -> None:
    assert first(prepared, tmp_path, text).problem.id != SHOWN


@pytest.mark.parametrize(
    ("code", "name", "of"),
    [
        ("model = trainer.model.get_base()", "get_base", "trainer.model"),
        ("x = self.cfg['a'].lr", "lr", "self.cfg['a']"),
        ("a.b(c.b)", "b", ""),  # two of them
        ("print(1)", "b", ""),
    ],
)
def test_of_which_expression_an_attribute_is_asked(code: str, name: str, of: str) -> None:
    assert asked_for_attribute(code, name) == of


def test_of_which_expression_an_entry_is_asked() -> None:
    assert asked_for_entry('y = batch["a"] + other["b"]', "a") == "batch"
    assert asked_for_entry("y = TABLE[kind]", "abc") == "TABLE"
    assert asked_for_entry("y = a[i] + b[j]", "abc") == ""


# --- a message without its type, and the last lines of a chain ---


def test_a_message_quoted_without_its_type_is_that_of_its_signature(prepared: Prepared, tmp_path: Path) -> None:
    text = (
        "You can't train a model that has been loaded with `device_map='auto'` in any distributed mode. Please rerun "
        "your script specifying `--num_processes=1`\n"
    )
    assert first(prepared, tmp_path, text).problem.id == "ACC013"


def test_exceptions_quoted_line_by_line_are_one_chain(prepared: Prepared, tmp_path: Path) -> None:
    text = (
        "urllib3.exceptions.NameResolutionError: failed to resolve the host of the mirror\n"
        "OSError: We couldn't connect to 'https://huggingface.co' to load this file, couldn't find it in the cached files\n"
    )
    assert first(prepared, tmp_path, text).problem.id == "HUB4525/unreachable"


def test_which_ranks_it_took_down_is_told_beside_what_its_parts_show(prepared: Prepared, tmp_path: Path) -> None:
    raised = "[rank%d]: Traceback (most recent call last):\n"
    text = raised % 0 + '[rank0]:   File "/w/train.py", line 3, in <module>\n[rank0]:     x = row["prompt"]\n'
    text += "[rank0]: KeyError: 'prompt'\n"
    alone = first(prepared, tmp_path, text).words()
    text += raised % 1 + '[rank1]:   File "/w/train.py", line 9, in <module>\n[rank1]:     dist.all_reduce(t)\n'
    text += "[rank1]: RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:534] "
    text += "Connection closed by peer [127.0.0.1]:1234\n"
    found = first(prepared, tmp_path, text)
    assert found.problem.id == "PYT4665"
    assert found.words().explanation == f"{alone.explanation} Rank 1 failed only because of it."
    assert "rank 1" in found.words("zh").explanation


def test_an_exception_that_a_worker_cannot_pass_on_was_not_killed(prepared: Prepared, tmp_path: Path) -> None:
    text = (
        "concurrent.futures.process._RemoteTraceback: \n'''\n"
        + HEADER
        + '  File "/usr/lib/python3.11/concurrent/futures/process.py", line 424, in wait_result_broken_or_wakeup\n'
        "    result_item = result_reader.recv()\n"
        '  File "/usr/lib/python3.11/multiprocessing/connection.py", line 251, in recv\n'
        "    return _ForkingPickler.loads(buf.getbuffer())\n"
        "TypeError: Unsupported.__init__() missing 1 required positional argument: 'node'\n"
    )
    found = first(prepared, tmp_path, text)
    assert found.problem.id == SHOWN
    assert (
        found.words().headline
        == "`Unsupported.__init__` requires `node`, which a worker's pickled exception does not contain"
    )
    assert "No worker was killed" in found.words().explanation


def test_a_parameter_is_looked_up_by_the_name_that_it_had_before(prepared: Prepared, tmp_path: Path) -> None:
    text = in_library(
        "accelerate/accelerator.py", "_prepare_fsdp2",
        "mapping = {p: new_named_params[n] for n, p in old_named_params.items()}", "KeyError: 'model.embed_tokens.weight'",
    )  # fmt: skip
    found = first(prepared, tmp_path, text)
    assert found.problem.id == SHOWN
    assert "has another name where `accelerate`" in found.words().headline
    assert "`_orig_mod.` of `torch.compile`" in found.words().explanation


def test_a_number_that_an_optimizer_looks_up_is_a_parameter_that_is_gone(prepared: Prepared, tmp_path: Path) -> None:
    text = in_library(
        "torch/optim/optimizer.py", "<dictcomp>", "(param_mappings[id(k)] if isinstance(k, torch.Tensor) else k): v",
        "KeyError: 139874223410960",
    )  # fmt: skip
    found = first(prepared, tmp_path, text)
    assert found.words().headline == "The optimizer's state belongs to a parameter that none of its groups holds"
    elsewhere = in_library("ray/_private/worker.py", "get", "self.tasks[task]", "KeyError: 139874223410960")
    assert first(prepared, tmp_path, elsewhere).problem.id != SHOWN


def test_a_loader_without_a_batch_and_an_iterator_that_ended(prepared: Prepared, tmp_path: Path) -> None:
    loader = LIBRARY.format(path="torch/utils/data/dataloader.py", function="_next_index", code="return next(self._it)")
    text = in_script("main", "batch = next(iter(loader))", loader.rstrip("\n") + "\nStopIteration")
    assert first(prepared, tmp_path, text).words().headline.startswith("`loader` is empty, and the code takes")
    text = in_script("main", "prompts = next(prompt_iter)", "StopIteration")
    assert (
        first(prepared, tmp_path, text).words().headline
        == "`prompt_iter` has no further entry: it has ended, and the code asks for more"
    )
    text = in_library("some/reader.py", "read", "return next(self.rows)", "StopIteration")
    assert first(prepared, tmp_path, text).problem.id != SHOWN


def test_words_that_a_handler_raised_again_under_another_type(prepared: Prepared, tmp_path: Path) -> None:
    """https://github.com/unslothai/unsloth-zoo/blob/main/unsloth_zoo/vllm_utils.py"""
    words = "EngineArgs.__init__() got an unexpected keyword argument 'compilation_config'"
    again = in_library("unsloth_zoo/vllm_utils.py", "load_vllm", "raise RuntimeError(error)", f"RuntimeError: {words}")
    finding = first(prepared, tmp_path, again)
    assert (finding.problem.id, finding.confidence) == (SHOWN, LIKELY)
    assert (
        finding.words().headline
        == "`EngineArgs.__init__` does not take `compilation_config`, which `unsloth-zoo` passes"
    )
    own = in_library("x_zoo/a.py", "f", f'raise RuntimeError("{words}")', f"RuntimeError: {words}")
    assert first(prepared, tmp_path, own).problem.id != SHOWN
