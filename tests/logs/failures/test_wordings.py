"""Exceptions that Python words about values: the line that raised tells which expression held what is wrong."""

from __future__ import annotations

import ast
import random
import warnings
from pathlib import Path

import pytest

from doctor.catalogue.finding import LIKELY, Finding
from doctor.logs.failures.expressions import parsed, positions, shown, unpacked
from doctor.logs.failures.frames import Frame
from doctor.logs.failures.recursion import circle_of
from doctor.logs.postmortem import Prepared, examine, prepare

SHOWN = "PYT4665"
OWN, LIBRARY = "/home/user/rewards.py", "/opt/venv/lib/python3.11/site-packages/acme/core.py"
ENDS = "RecursionError: maximum recursion depth exceeded"


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


def raised(code: str, error: str, path: str = OWN) -> str:
    frames = (
        f'  File "/home/user/train.py", line 40, in main\n    run()\n  File "{path}", line 77, in score\n    {code}\n'
    )
    return f"Traceback (most recent call last):\n{frames}{error}\n"


@pytest.mark.parametrize(
    ("code", "error", "headline"),
    [
        ("node = int(args.machine_rank)", "TypeError: int() argument must be a string, a bytes-like object or a number, not 'NoneType'",
         "The option `machine_rank` is not set"),
        ('path = os.path.join(cfg["out"], "x")', "TypeError: expected str, bytes or os.PathLike object, not NoneType",
         "The option `out` is not set"),
        ("if self.args.max_steps > 0:", "TypeError: '>' not supported between instances of 'NoneType' and 'int'",
         "The option `max_steps` is not set"),
        ("x = total + extra", "TypeError: unsupported operand type(s) for +: 'NoneType' and 'int'", "`total` is None"),
        ("x = total + extra", "TypeError: unsupported operand type(s) for +: 'int' and 'NoneType'", "`extra` is None"),
        ("r[:, i] = torch.tensor(output_reward_func, dtype=torch.float32,", "TypeError: must be real number, not NoneType",
         "A reward function returned None"),
        ("model = registry.get(name).build()", "AttributeError: 'NoneType' object has no attribute 'build'",
         "`registry.get()` returned None"),
        ('a = text.split("<answer>")[1]', "IndexError: list index out of range", "does not contain '<answer>'"),
        ("a = sys.argv[2]", "IndexError: list index out of range", "fewer arguments"),
        ('a = row["messages"][0]', "IndexError: list index out of range", "is empty"),
        ("a = devices[rank]", "IndexError: list index out of range", "`devices` has no entry `rank`"),
        (
            "n = (answers[i] != pad).nonzero()[-1] + 1",
            "IndexError: index -1 is out of bounds for dimension 0 with size 0",
            "`answers[i]` holds nothing but `pad`",
        ),
        (
            "start = torch.where(label == self.start_id)[-1]",
            "IndexError: index -1 is out of bounds for dimension 0 with size 0",
            "`label` does not hold `self.start_id`",
        ),
        (
            "for p, e in zip(prompts, self.environments, strict=True):",
            "ValueError: zip() argument 2 is longer than argument 1",
            "`self.environments` has more entries than `prompts`",
        ),
        (
            "rows = list(zip(ids, masks, logps, strict=True))",
            "ValueError: zip() argument 3 is shorter than arguments 1-2",
            "`ids` has more entries than `logps`",
        ),
        (
            "shown = losses.item()",
            "RuntimeError: a Tensor with 2 elements cannot be converted to Scalar",
            "`losses` holds 2 elements",
        ),
        ("a = table[ids]", "IndexError: index 8 is out of bounds for dimension 0 with size 8", "Index 8 is out of range"),
        ("a, b = model(x)", "ValueError: too many values to unpack (expected 2)", "A different number of values"),
        ("for a, b in pairs():", "ValueError: not enough values to unpack (expected 2, got 1)", "1 values are returned"),
        ("acc = right / len(scores)", "ZeroDivisionError: division by zero", "`scores` is empty"),
        ("n = rows // world", "ZeroDivisionError: integer division or modulo by zero", "divides by `world`"),
        ("x = torch.cat(parts, dim=0)", "RuntimeError: torch.cat(): expected a non-empty list of Tensors", "`parts` is empty"),
        ("x = torch.tensor(tok.apply_chat_template(m, tokenize=True,", "ValueError: too many dimensions 'str'",
         "`apply_chat_template` returns a dictionary"),
        ("x = torch.tensor(ids)", "ValueError: too many dimensions 'str'", "Text is put into a tensor"),
        ("x = float(answer)", "ValueError: could not convert string to float: 'N/A'", "`N/A` is not a number"),
        ("n = int(args.batch)", "ValueError: invalid literal for int() with base 10: 'auto'", "The option `batch` is `auto`"),
        ("x = step * cfg.lr", "TypeError: can't multiply sequence by non-int of type 'float'", "A number is text here"),
        ("if 0.0 <= cfg.lr:", "TypeError: '<=' not supported between instances of 'float' and 'str'", "`cfg.lr`"),
        ("file.write(json.dumps(row))", "TypeError: Object of type Tensor is not JSON serializable", "A `Tensor` cannot be"),
        ("x = torch.load(path)", "_pickle.UnpicklingError: invalid load key, 'v'.", "pointer of Git LFS"),
        ("x = torch.load(path)", "_pickle.UnpicklingError: invalid load key, '<'.", "a web page"),
        ("x = pickle.load(file)", "EOFError: Ran out of input", "empty or ends early"),
        ("t = tokenizer.batch_decode(labels)", "OverflowError: can't convert negative int to unsigned", "Negative token ids"),
        ("x = Base()", "TypeError: Can't instantiate abstract class Base with abstract method step", "lacks the method `step`"),
        ("f(1, x=2)", "TypeError: f() got multiple values for argument 'x'", "gets `x` twice"),
        ("subprocess.check_call(command)", "subprocess.CalledProcessError: Command '['nvcc', '-V']' returned non-zero exit status 3.",
         "The program `nvcc -V` ended with code 3"),
    ],
)  # fmt: skip
def test_the_line_tells_which_value_is_wrong(
    prepared: Prepared, tmp_path: Path, code: str, error: str, headline: str
) -> None:
    finding = first(prepared, tmp_path, raised(code, error))
    assert (finding.problem.id, finding.confidence) == (SHOWN, LIKELY), finding.words().headline
    assert headline in finding.words().headline


@pytest.mark.parametrize("kind", ["JSONDecodeError", "json.decoder.JSONDecodeError"])
def test_what_is_no_json(prepared: Prepared, tmp_path: Path, kind: str) -> None:
    decoder = '  File "/usr/lib/python3.11/json/decoder.py", line 355, in raw_decode\n    raise JSONDecodeError("Expecting value", s, err.value) from None\n'
    text = raised("row = json.loads(answer)", f"{decoder}{kind}: Expecting value: line 1 column 1 (char 0)")
    assert "The text is not JSON" in first(prepared, tmp_path, text).words().headline


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("x = a[i] + b[j]", "IndexError: list index out of range"),  # of two lists nothing tells which
        ("x = a / b / c", "ZeroDivisionError: division by zero"),
        ("assert len(prompts) == len(answers)", "AssertionError"),  # as the unknown answer quotes it
        ("assert ready", "AssertionError"),  # says nothing of what it should be
        ("assert x is not None", "AssertionError"),
        ("raise IndexError('list index out of range')", "IndexError: list index out of range"),  # its own words
        ("run(", "IndexError: list index out of range"),
        ("x = y + z + w", "TypeError: unsupported operand type(s) for +: 'NoneType' and 'int'"),
    ],
)
def test_what_the_line_does_not_tell_stays_unknown(prepared: Prepared, tmp_path: Path, code: str, error: str) -> None:
    assert first(prepared, tmp_path, raised(code, error)).problem.id != SHOWN


def test_a_setting_of_that_name_is_given(prepared: Prepared, tmp_path: Path) -> None:
    text = raised("device = devices[local_rank]", "IndexError: list index out of range")
    finding = first(prepared, tmp_path, text, "python train.py --local_rank 5 --lr 1e-6\n")
    assert "local_rank=5" in finding.words().explanation


def test_an_assertion_about_settings_of_the_run(prepared: Prepared, tmp_path: Path) -> None:
    text = raised("assert args.batch_size % args.num_generations == 0", "AssertionError", LIBRARY)
    finding = first(prepared, tmp_path, text, "python train.py --batch_size 6 --num_generations 4\n")
    assert finding.problem.id == SHOWN, finding.words().headline
    assert "(`batch_size=6`, `num_generations=4`)" in finding.words().headline


def test_a_key_that_ones_own_code_writes_out(prepared: Prepared, tmp_path: Path) -> None:
    """https://github.com/scitix/sieval/pull/70"""
    text = raised('code = extract(rollout["prediction"])', "KeyError: 'prediction'")
    assert "`rollout` has no `prediction`" in first(prepared, tmp_path, text).words().headline


ABSENT = "FileNotFoundError: [Errno 2] No such file or directory: '/out/broadcasts/step_41/model.safetensors'"


@pytest.mark.parametrize("said", ["INFO Cleaning broadcasts/step_41", "rm -rf /out/broadcasts/step_41"])
def test_a_path_that_was_removed_before(prepared: Prepared, tmp_path: Path, said: str) -> None:
    text = f"loading\n{said}\n{raised('weights = read(path)', ABSENT)}"
    words = first(prepared, tmp_path, text).words()
    assert "was removed before it was read (line train.log:2)" in words.headline


@pytest.mark.parametrize(
    "said", ["INFO Cleaning broadcasts/step_40", "INFO wrote broadcasts/step_41", "INFO Removing old folders"]
)
def test_another_path_that_was_removed(prepared: Prepared, tmp_path: Path, said: str) -> None:
    text = f"loading\n{said}\n{raised('weights = read(path)', ABSENT)}"
    assert "was removed" not in first(prepared, tmp_path, text).words().headline


# --- functions that call each other without an end ---


def frames(*frames: tuple[str, str, str]) -> str:
    shown = "".join(f'  File "{path}", line 7, in {function}\n    {code}\n' for path, function, code in frames)
    return f"Traceback (most recent call last):\n{shown}{ENDS}\n"


@pytest.mark.parametrize(
    ("text", "headline"),
    [
        (frames(*[(LIBRARY, "create", "return create(path)")] * 3), "`create()` of `acme` calls itself"),
        (frames(*[(OWN, "patched", "return original(*args)")] * 3), "`patched()` calls `original()`, which is `patched()`"),
        (frames(*[(OWN, "even", "return odd(n)"), (OWN, "odd", "return even(n)")] * 2), "odd() → even() → odd()"),
        (frames(*[(LIBRARY, "__getattr__", "return getattr(self.base, name)"),
                  (OWN, "__getattr__", "return getattr(self.model, name)")] * 2), "Wrappers of one object"),
        (frames(*[(OWN, "__getattr__", "return getattr(self.model, name)")] * 3), "`__getattr__` asks for an attribute"),
        # https://github.com/unslothai/unsloth/issues/3100
        ((f"Cell In[9], line 8, in patched({', '.join(f'argument_{n}' for n in range(12))})\n"
          "----> 8     return original(self)\n\n") * 2 + ENDS + "\n", "a function was replaced twice"),
    ],
)  # fmt: skip
def test_how_functions_call_each_other_without_an_end(
    prepared: Prepared, tmp_path: Path, text: str, headline: str
) -> None:
    finding = first(prepared, tmp_path, text)
    assert finding.problem.id == SHOWN, finding.words().headline
    assert headline in finding.words().headline


def test_a_recursion_whose_frames_are_not_shown_twice_stays_unknown(prepared: Prepared, tmp_path: Path) -> None:
    assert first(prepared, tmp_path, frames((OWN, "f", "g()"), (OWN, "g", "h()"))).problem.id != SHOWN


def test_the_circle_is_the_last_one() -> None:
    a, b, c = (Frame("x.py", 1, each) for each in "abc")
    assert circle_of([a, b, a, b, c, c]) == (c,)
    assert circle_of([a, b, c]) == ()


# --- lines as a traceback quotes them ---


@pytest.mark.parametrize(
    "code",
    [
        "if x > 0:",
        "elif x[1]:",
        "x = f(a,",
        "return g(",
        "name=value(x),",
        "with open(p) as f:",
        "else_ = 1",
        "await f(x)",
    ],
)
def test_a_part_of_a_statement_is_read(code: str) -> None:
    assert parsed(code) is not None


def test_no_line_is_too_odd() -> None:
    signs = "()[]{}'\",:.=+ abcif\\\n\0"
    chance = random.Random(20261129)  # noqa: S311 - no secret
    for _ in range(3_000):
        code = "".join(chance.choices(signs, k=chance.randrange(40)))
        tree = parsed(code)
        assert tree is None or isinstance(tree, ast.AST)
        for what, position in positions(tree):
            assert shown(what), position
        shown(unpacked(tree))


def test_odd_escapes_warn_nobody() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert parsed(r're.search("\d+ of this test alone", text).group(1)') is not None
