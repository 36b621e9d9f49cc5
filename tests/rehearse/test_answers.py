"""Answers that reward functions are tried with, and what is judged of what they earn."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from doctor.checks.data.columns import reward_function_fails_on_answers
from doctor.checks.rl import reward_does_not_judge
from doctor.monitors.rehearse import answers, asked, journal, rewards, tries
from doctor.monitors.rehearse.settings import VARIABLE, PassSettings, _Read

QUESTIONS = [f"What is {each} + 7? Answer inside <answer></answer>." for each in range(4)]
RIGHT = [str(each + 7) for each in range(4)]


class Trainer:
    """What a function's tries need of one."""

    def __init__(self, *functions: Any, weights: list[float] | None = None) -> None:
        self.reward_funcs, self.reward_weights, self.processing_class = list(functions), weights, None
        self.train_dataset: Any = None


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A rehearsal of this process."""
    file = tmp_path / "settings.json"
    file.write_text(PassSettings(tmp_path, 0).as_json())
    monkeypatch.setenv(VARIABLE, str(file))
    monkeypatch.setattr(_Read, "settings", None)
    monkeypatch.setattr(journal._Own, "pid", None)
    return tmp_path


def tried(root: Path, *functions: Any, completions: list[Any] | None = None, **columns: Any) -> list[dict[str, Any]]:
    """What the journal says of the functions after their first call."""
    trainer = Trainer(*functions)
    rewards.watch(trainer)
    own = completions or ["maybe 3", "no", "7", ""]
    for each in trainer.reward_funcs:
        each(prompts=QUESTIONS, completions=own, **columns)
    return [each for each in journal.entries(root) if each["kind"] == "reward"]


def in_tags(completions: list[str], answer: list[str], **_: Any) -> list[float]:
    found = [re.search(r"<answer>(.*?)</answer>", each, re.DOTALL) for each in completions]
    return [1.0 if each and each[1].strip() == right else 0.0 for each, right in zip(found, answer, strict=True)]


def in_other_tags(completions: list[str], answer: list[str], **_: Any) -> list[float]:
    return [1.0 if f"[[{right}]]" in each else 0.0 for each, right in zip(completions, answer, strict=True)]


def by_length(completions: list[str], **_: Any) -> list[float]:
    return [len(each) / 100 for each in completions]


def test_a_function_that_judges_is_left_in_peace(root: Path) -> None:
    (told,) = tried(root, in_tags, answer=RIGHT)
    assert told["reads"]
    assert told["tries"]["right:tags"]["values"] == [1.0] * 4
    assert reward_does_not_judge.of_rehearsal([told]) is None
    assert not list(reward_function_fails_on_answers.of_rehearsal({**told, "usual": 0.1, "limit": 10}))


def test_a_right_answer_that_earns_nothing_is_told(root: Path) -> None:
    found = reward_does_not_judge.of_rehearsal(tried(root, in_other_tags, answer=RIGHT))
    assert found is not None
    assert found.message is reward_does_not_judge.NOTHING


def test_garbage_that_earns_more_than_a_right_answer_is_told(root: Path) -> None:
    found = reward_does_not_judge.of_rehearsal(tried(root, in_tags, by_length, answer=RIGHT))
    assert found is not None
    assert found.message is reward_does_not_judge.GARBAGE
    assert "one word over and over" in found.words().headline


def test_a_bonus_for_length_inside_of_one_function_is_garbage_that_earns(root: Path) -> None:
    def both(completions: list[str], answer: list[str], **_: Any) -> list[float]:
        return [good + len(each) / 100 for good, each in zip(in_tags(completions, answer), completions, strict=True)]

    found = reward_does_not_judge.of_rehearsal(tried(root, both, answer=RIGHT))
    assert found is not None
    assert found.message is reward_does_not_judge.GARBAGE


ON_LINES = "Answer as\n<think>\n...\n</think>\n<answer>\n...\n</answer>"


def test_each_tag_that_earns_makes_empty_tags_the_best_answer(root: Path) -> None:
    def counts(completions: list[str], **_: Any) -> list[float]:
        return [0.5 * each.count("<answer>") for each in completions]

    def once(completions: list[str], **_: Any) -> list[float]:
        return [0.5 * (each.count("<answer>") == 1) for each in completions]

    found = reward_does_not_judge.of_rehearsal(tried(root, in_tags, counts, answer=RIGHT))
    assert found is not None
    assert found.message is reward_does_not_judge.GARBAGE
    assert "one empty tag after another" in found.words().headline
    assert reward_does_not_judge.of_rehearsal(tried(root, in_tags, once, answer=RIGHT)[2:]) is None


@pytest.mark.parametrize(
    ("flags", "prompt", "refused"),
    [
        (0, ON_LINES, True), (re.DOTALL, ON_LINES, False),
        (0, "Answer as <think>...</think><answer>...</answer>", False), (0, "Answer inside <answer></answer>.", False),
    ],
)  # fmt: skip
def test_a_pattern_that_refuses_the_lines_of_the_prompt_is_told(
    flags: int, prompt: str, refused: bool, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def strict(completions: list[str], answer: list[str], **_: Any) -> list[float]:
        pattern = re.compile(r"<think>.*</think>\s*<answer>(.*)</answer>", flags)
        found = [pattern.search(each) for each in completions]
        return [1.0 if each and each[1].strip() == right else 0.0 for each, right in zip(found, answer, strict=True)]

    monkeypatch.setitem(globals(), "QUESTIONS", [f"{prompt}\nWhat is {each} + 1?" for each in range(4)])
    told = tried(root, strict, answer=RIGHT)
    found = reward_does_not_judge.of_shown_form(told)
    assert (found is not None) is refused
    assert reward_does_not_judge.of_rehearsal(told) is None


def test_one_score_for_all_answers_of_a_batch_is_told(root: Path) -> None:
    def first_for_all(completions: list[str], answer: list[str], **_: Any) -> list[float]:
        return in_tags(completions[:1], answer[:1]) * len(completions)

    def mean_for_all(completions: list[str], answer: list[str], **_: Any) -> list[float]:
        return [sum(in_tags(completions, answer)) / len(completions)] * len(completions)

    for function, value in ((first_for_all, "1"), (mean_for_all, "0.5")):
        told = tried(root, function, answer=RIGHT)[-1]
        assert reward_does_not_judge.of_rehearsal([told]) is None
        found = reward_does_not_judge.of_mixed_answers([told])
        assert found is not None
        assert f"`{function.__name__}` gives all 4 answers of a batch the same score: {value}" in found.words().headline


def test_what_depends_on_the_other_rows_and_still_tells_them_apart_is_left_in_peace(root: Path) -> None:
    def beside_the_mean(completions: list[str], answer: list[str], **_: Any) -> list[float]:
        own = in_tags(completions, answer)
        return [each + 0.1 - 0.1 * sum(own) / len(own) for each in own]

    assert tried(root, beside_the_mean, answer=RIGHT)[-1]["mixed"] == [1.05, 0.05] * 2
    assert reward_does_not_judge.of_mixed_answers(tried(root, in_tags, beside_the_mean, answer=RIGHT)) is None
    assert tried(root, by_length)[-1]["mixed"] is None
    assert reward_does_not_judge.of_mixed_answers(tried(root, by_length)) is None


def test_a_comparison_of_a_part_of_the_answer_is_told(root: Path) -> None:
    def last_digit(completions: list[str], answer: list[str], **_: Any) -> list[float]:
        return [float(each.endswith(right[-1])) for each, right in zip(completions, answer, strict=True)]

    told = tried(root, last_digit, answer=["37", "12", "44", "90"])[-1]
    assert reward_does_not_judge.of_rehearsal([told]) is None
    found = reward_does_not_judge.of_near_answers([told])
    assert found is not None
    assert "`last_digit` gives 47 as much as the right answer 37: 1" in found.words().headline
    assert not list(reward_function_fails_on_answers.of_rehearsal({**told, "usual": 0.1, "limit": 10}))


def test_whole_comparisons_tolerance_and_answers_that_are_no_numbers_are_left_in_peace(root: Path) -> None:
    def nearly(completions: list[str], answer: list[str], **_: Any) -> list[float]:
        found = [re.search(r"-?\d+", each) for each in completions]
        return [
            float(bool(each) and abs(int(each[0]) - int(right)) <= 3) for each, right in zip(found, answer, strict=True)
        ]

    def contained(completions: list[str], answer: list[str], **_: Any) -> list[float]:
        return [float(right in each) for each, right in zip(completions, answer, strict=True)]

    numbers = ["37", "12", "44", "90"]
    for function, answer in ((in_tags, numbers), (nearly, numbers), (contained, numbers), (contained, RIGHT)):
        told = tried(root, function, answer=answer)[-1]
        assert reward_does_not_judge.of_near_answers([told]) is None
    assert not any(each.startswith("begins:") for each in told["tries"]), "one of them has one digit"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("37", ("38", "47")), ("-99", ("-90", "-19")), ("12.5", ("13.5", "22.5")), ("7", None), ("B", None),
        ("12 and 34", None), ("1,234", None),
    ],
)  # fmt: skip
def test_wrong_numbers_end_or_begin_otherwise(answer: str, expected: tuple[str, str] | None) -> None:
    assert answers.near_of(answer) == expected


def test_without_a_column_of_answers_nothing_is_judged(root: Path) -> None:
    assert reward_does_not_judge.of_rehearsal(tried(root, by_length)) is None


def test_a_function_that_ignores_the_column_is_not_judged_by_it(root: Path) -> None:
    assert reward_does_not_judge.of_rehearsal(tried(root, by_length, answer=RIGHT)) is None


def test_a_function_that_does_without_its_column_is_told(root: Path) -> None:
    def looks_up(completions: list[str], **columns: Any) -> list[float]:
        wanted = columns.get("answer", [None] * len(completions))
        return [float(each == text) for each, text in zip(completions, wanted, strict=True)]

    def optional(completions: list[str], solution: list[str] | None = None, **_: Any) -> list[float]:
        return [float(bool(solution)) for _ in completions]

    for function, column in ((looks_up, "answer"), (optional, "solution")):
        told = tried(root, function)[-1]
        assert told["absent"] == [column]
        found = reward_does_not_judge.of_absent_columns([told])
        assert found is not None
        assert f"the column `{column}`" in found.words().headline


def test_a_function_that_has_its_column_or_judges_otherwise_does_not_lack_it(root: Path) -> None:
    def either(completions: list[str], **columns: Any) -> list[float]:
        wanted = columns.get("solution") or columns["answer"]
        return [float(each == text) for each, text in zip(completions, wanted, strict=True)]

    def by_length(completions: list[str], **columns: Any) -> list[float]:
        return [float(len(each)) + (columns.get("answer") is None) for each in completions]

    def unless_absent(completions: list[str], answer: list[str] | None = None, **_: Any) -> list[float | None]:
        return [None if answer is None else 1.0 for _ in completions]

    tried(root, either, answer=RIGHT)
    told = tried(root, by_length, unless_absent)
    assert [each["absent"] for each in told] == [[], ["answer"], ["answer"]]
    assert reward_does_not_judge.of_absent_columns(told) is None


def test_messages_are_answered_by_messages(root: Path) -> None:
    def of_messages(completions: list[Any], **_: Any) -> list[float]:
        return [float(len(each[0]["content"].split()[0])) for each in completions]

    own = [[{"role": "assistant", "content": "hello there"}]] * 4
    (told,) = tried(root, of_messages, completions=own)
    (found, *_) = reward_function_fails_on_answers.of_rehearsal({**told, "usual": 0.1, "limit": 10})
    assert "IndexError" in found.words().headline
    assert "an empty completion" in found.words().headline
    assert found.where.file == __file__


@pytest.mark.process
def test_a_function_is_not_called_slow_where_others_have_the_processor(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tries, "TRY_S", 0.5)
    mine = os.sched_getaffinity(0)
    one = {min(mine)}

    def counts(completions: list[str], **_: Any) -> list[float]:
        end = time.thread_time() + 0.4
        while time.thread_time() < end:
            pass
        return [0.0 for _ in completions]

    others = [subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"]) for _ in range(4)]
    try:
        for each in others:
            os.sched_setaffinity(each.pid, one)
        os.sched_setaffinity(0, one)
        (told,) = tried(root, counts)
    finally:
        os.sched_setaffinity(0, mine)
        for each in others:
            each.kill()
            each.wait()
    assert {each["error"] for each in told["tries"].values()} == {"not tried"}


def test_a_pattern_that_backtracks_is_interrupted(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tries, "TRY_S", 0.3)
    monkeypatch.setattr(tries, "_OTHERS", 1.0)  # however busy this machine is

    def backtracks(completions: list[str], **_: Any) -> list[float]:
        return [float(bool(re.match(r"^(\w+\s?)+$", f"{each}!"))) for each in completions]

    (told,) = tried(root, backtracks)
    assert told["tries"]["repeated"]["error"] == "too long"
    words = [
        each.words().headline
        for each in reward_function_fails_on_answers.of_rehearsal({**told, "usual": 0.01, "limit": 10})
    ]
    assert any("takes more than" in each for each in words)


def test_what_a_function_changes_in_its_arguments_stays_in_the_try(root: Path) -> None:
    def greedy(completions: list[str], answer: list[str], **_: Any) -> list[float]:
        return [float(bool(answer.pop())) for _ in completions]

    given = list(RIGHT) * 2
    tried(root, greedy, completions=["a"] * 8, answer=given)
    assert given == [], "its own call took them, the tries had copies"


def test_noise_is_added_after_the_function_and_none_stays_none(root: Path) -> None:
    assert root.is_dir()
    trainer = Trainer(lambda completions, **_: [None, *[0.0] * (len(completions) - 1)])
    rewards.watch(trainer)
    got = trainer.reward_funcs[0](prompts=QUESTIONS, completions=list("abcd"))
    assert got[0] is None
    assert len(set(got[1:])) == 3
    assert all(0 <= each < 0.02 for each in got[1:])


def test_logging_arguments_write_nowhere_in_a_try(root: Path) -> None:
    extra: list[str] = []

    def logs(completions: list[str], log_extra: Any = None, **_: Any) -> list[float]:
        log_extra("text", completions)
        return [0.0] * len(completions)

    tried(root, logs, log_extra=lambda name, _: extra.append(name))
    assert extra == ["text"]


@pytest.mark.parametrize(
    ("answer", "final"),
    [("7 + 1\n#### 8", "8"), (r"so \boxed{\frac{1}{2}} holds", r"\frac{1}{2}"), ("12", "12"),
     ("<think>x</think><answer> 5 </answer>", "5")],
)  # fmt: skip
def test_the_final_answer_of_a_worked_one(answer: str, final: str) -> None:
    assert answers.final_of(answer) == final


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"solution": ["1", "2"]}, ("solution", ["1", "2"])),
        ({"answer": [3, 4.5]}, ("answer", ["3", "4.5"])),
        ({"reward_model": [{"ground_truth": "a"}, {"ground_truth": "b"}]}, ("reward_model", ["a", "b"])),
        ({"answer": ["", "2"]}, None),
        ({"answer": [True, False]}, None),
        ({"other": ["1", "2"]}, None),
        ({"answer": ["1"]}, None),
    ],
)
def test_right_answers_by_column(columns: dict[str, Any], expected: Any) -> None:
    assert answers.right_of(columns, 2) == expected


def test_tags_are_taken_from_prompts_and_patterns_in_order() -> None:
    texts = [r"^<reasoning>\n.*?\n</reasoning>\n<answer>\n.*?\n</answer>\n$", "use <b> only once"]
    assert answers.tags_in(texts) == ("reasoning", "answer")
    assert answers.tags_in(["<answer>(.*)</answer>", *texts]) == ("reasoning", "answer"), "the answer comes last"
    pattern = re.compile(texts[0], re.DOTALL)
    forms = [form("8") for _, form in answers.forms(("reasoning", "answer"))]
    assert any(pattern.match(each) for each in forms)


PATTERN = re.compile(r"^<plan>.*?</plan>\s*<solution>.*?</solution>$", re.DOTALL)


def test_patterns_of_the_module_are_found_where_a_comprehension_names_them() -> None:
    def of_format(completions: list[str], **_: Any) -> list[float]:
        return [1.0 if PATTERN.match(each) else 0.0 for each in completions]

    assert PATTERN.pattern in rewards.texts_of(of_format)


def test_every_kind_has_an_answer_for_every_row() -> None:
    for each in answers.of_rows(QUESTIONS, RIGHT, QUESTIONS):
        assert len(each.texts) == 4, each.kind
    json.dumps([each._asdict() for each in answers.of_rows(QUESTIONS, None, [])])


def test_completions_that_are_handed_over_by_place_are_known_by_the_functions_own_words(root: Path) -> None:
    class Exact:
        def __call__(self, completions: list[str], solution: list[str], **_: Any) -> list[float]:
            return [float(each.strip() == right) for each, right in zip(completions, solution, strict=True)]

    trainer = Trainer(Exact())
    rewards.watch(trainer)
    trainer.reward_funcs[0](["maybe 3", "no", "7", ""], solution=RIGHT)
    (told,) = [each for each in journal.entries(root) if each["kind"] == "reward"]
    assert (told["function"], told["column"], told["reads"]) == ("Exact", "solution", True)
    assert told["tries"]["right:plain"]["values"] == [1.0] * 4


def test_of_several_columns_of_answers_the_one_that_is_read_is_tried(root: Path) -> None:
    def by_solution(completions: list[str], solution: list[str], **_: Any) -> list[float]:
        return [float(each.strip() == right) for each, right in zip(completions, solution, strict=True)]

    told = tried(root, by_length, by_solution, answer=["x", "y", "z", "v"], solution=RIGHT)
    assert [each["column"] for each in told] == ["solution", "solution"]
    assert [each["reads"] for each in told] == [False, True]
    assert told[1]["tries"]["right:plain"]["values"] == [1.0] * 4


class Places:
    """A list of a library's own."""

    def __init__(self, values: list[str]) -> None:
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, at: int) -> str:
        return self._values[at]


HELD = [f"answer {each}" for each in range(99)]
WANTED = HELD[20:40]


@pytest.mark.parametrize(
    ("held", "values", "expected"),
    [
        (HELD, WANTED, True),
        (Places(HELD), WANTED, True),
        ({f"question {each}": each for each in HELD}, WANTED, True),
        (HELD, [*WANTED, "answer 100"], False),
        (HELD, [*WANTED[:3], *WANTED[:3], *WANTED[:3]], False),
        (" ".join(HELD), WANTED, False),
        (dict.fromkeys(HELD, 1.0), WANTED, False),
        (None, WANTED, False),
    ],
)
def test_a_function_may_hold_right_answers_itself(held: Any, values: list[str], *, expected: bool) -> None:
    def judged(completions: list[str], **_: Any) -> list[float]:
        return [1.0 if each == right else 0.0 for each, right in zip(completions, held, strict=False)]

    assert asked.holds(judged, values) is expected


def of_the_module(completions: list[str], **_: Any) -> list[float]:
    return [1.0 if each in HELD else 0.0 for each in completions]


def test_what_a_module_holds_is_its_functions() -> None:
    assert asked.holds(of_the_module, WANTED)
    assert not asked.holds(by_length, WANTED)
    assert not asked.holds(len, WANTED)


class Table:
    """As much of a dataset as is asked."""

    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self.columns = columns

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __getitem__(self, name: str) -> list[Any]:
        return self.columns[name]

    def select(self, rows: range) -> Table:
        return Table({name: [each[at] for at in rows] for name, each in self.columns.items()})

    def select_columns(self, names: list[str]) -> Table:
        return Table({name: self.columns[name] for name in names})


def test_right_answers_by_place_earn_nothing(root: Path) -> None:
    def by_place(completions: list[str], **_: Any) -> list[float]:
        return [1.0 if each.strip() == right else 0.0 for each, right in zip(completions, HELD, strict=False)]

    trainer = Trainer(by_place)
    trainer.train_dataset = Table({"prompt": HELD, "answer": HELD})
    rewards.watch(trainer)
    trainer.reward_funcs[0](completions=["maybe 3", "no", "7", ""], answer=[HELD[17]] * 4, prompts=QUESTIONS)
    (told,) = [each for each in journal.entries(root) if each["kind"] == "reward"]
    found = reward_does_not_judge.of_rehearsal([told])
    assert told["reads"]
    assert found is not None
    assert "No right answer of `answer`" in found.words().headline


def test_answers_of_what_is_no_table_are_not_known() -> None:
    assert asked.answers_of(iter([{"answer": "1"}]), "answer") == ()
    assert asked.answers_of(Table({"answer": HELD}), "answer") == HELD[:64]
    assert asked.answers_of(Table({"answer": HELD}), "solution") == ()


SOLUTIONS = [f"I add both.\n#### {each}" for each in RIGHT]


def result(solution: str) -> str:
    return solution.rpartition("####")[2].strip()


def test_a_result_that_is_compared_with_the_whole_solution_is_told(root: Path) -> None:
    def correct(completions: list[str], answer: list[str], **_: Any) -> list[float]:
        found = [each.split("<answer>")[-1].split("</answer>")[0].strip() for each in completions]
        return [2.0 * (each == right) for each, right in zip(found, answer, strict=True)]

    def taken_out(completions: list[str], answer: list[str], **_: Any) -> list[float]:
        return correct(completions, [result(each) for each in answer])

    def alike(completions: list[str], answer: list[str], **_: Any) -> list[float]:
        return [len(set(each) & set(right)) / 9 for each, right in zip(completions, answer, strict=True)]

    for function, column, words in (
        (correct, SOLUTIONS, "Reward function `correct` gives points only to a copy of the whole solution in `answer`"),
        (taken_out, SOLUTIONS, ""), (alike, SOLUTIONS, ""), (correct, RIGHT, ""),
    ):  # fmt: skip
        for file in (root / journal.FOLDER).glob("*"):
            file.write_text("")
        (told,) = tried(root, function, answer=column)
        found = reward_does_not_judge.of_rehearsal([told])
        headline = "" if found is None else found.words().headline
        assert headline == words or (not words and "whole solution" not in headline)


TABLE = {f"What is {each} + {each}?": str(2 * each) for each in range(10, 20)}


def boxed(text: str) -> str:
    return text.rpartition("{")[2].partition("}")[0]


def by_prompt(completions: list[str], prompts: list[str], **_: Any) -> list[float]:
    return [float(boxed(each) == TABLE.get(asked)) for each, asked in zip(completions, prompts, strict=True)]


def by_question(completions: list[str], prompts: list[str], **_: Any) -> list[float]:
    return by_prompt(completions, [each.partition("?")[0] + "?" for each in prompts])


@pytest.mark.parametrize(("function", "behind", "count"), [
    (by_prompt, " Put it into a box.", 1), (by_question, " Put it into a box.", 0), (by_prompt, "", 0),
])  # fmt: skip
def test_a_table_that_lacks_the_prompts_is_told(root: Path, function: Any, behind: str, count: int) -> None:
    trainer = Trainer(function)
    rewards.watch(trainer)
    prompts = [f"{each}{behind}" for each in list(TABLE)[:4]]
    trainer.reward_funcs[0](prompts=prompts, completions=["maybe 3", "no", "7", ""])
    told = [each for each in journal.entries(root) if each["kind"] == "reward"]
    found = reward_does_not_judge.of_lookups(told)
    assert (found is not None) == bool(count)
    if found is not None:
        assert (
            found.words().headline
            == "`by_prompt` looks right answers up in `TABLE` by prompts that the table does not have"
        )
        assert found.words("zh").headline


def right_answer(completions: list[str], answer: list[str], **_: Any) -> list[float]:
    return [0.5 * (each.rpartition(" ")[2] == right) for each, right in zip(completions, answer, strict=True)]


@pytest.mark.parametrize(("price", "count"), [(0.1, 1), (0.001, 0), (0.0, 0)])
def test_a_price_for_length_that_makes_silence_the_best_answer_is_told(root: Path, price: float, count: int) -> None:
    def concise(completions: list[str], **_: Any) -> list[float]:
        return [-price * len(each) for each in completions]

    found = reward_does_not_judge.of_rehearsal(tried(root, right_answer, concise, answer=RIGHT))
    assert (found is not None) == bool(count)
    if found is not None:
        assert found.words().headline.startswith("An empty answer earns 0, a right one behind five sentences -")
        assert found.words("zh").headline
