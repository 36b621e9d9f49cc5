"""Laws of pairs, of parts of a step, of rewards, of what a save leaves, and of settings that are read."""

from __future__ import annotations

import sys
import types
from collections.abc import Sequence
from typing import Any

import pytest

from doctor.checks.numerics import first_step_contradicts_its_data as judge
from doctor.checks.numerics import trains_other_than_asked as asked
from doctor.checks.rl import reward_not_repeatable as repeatable
from doctor.monitors.rehearse import journal as notes
from doctor.monitors.rehearse import rows, saved
from doctor.monitors.rehearse.relations import (
    accumulating,
    aside,
    collating,
    extents,
    margins,
    pairs,
    ranked,
    ratios,
    sampling,
)
from doctor.monitors.rehearse.relations.forwards import Forward
from doctor.monitors.rehearse.settings import PassSettings, _Read
from doctor.rehearse.record import Rehearsed

torch: Any = pytest.importorskip("torch")
nn: Any = torch.nn


@pytest.fixture(autouse=True)
def journal(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> list[dict[str, Any]]:
    """Entries that are written."""
    told: list[dict[str, Any]] = []
    monkeypatch.setattr(notes, "write", lambda kind, **values: told.append({"kind": kind, **values}))
    monkeypatch.setattr(notes, "once", lambda kind, _, **values: told.append({"kind": kind, **values}))
    monkeypatch.setattr(_Read, "settings", PassSettings(tmp_path, 0))
    monkeypatch.setattr(collating._Looked, "done", False)
    monkeypatch.setattr(rows.Drawn, "longest_first", False)
    monkeypatch.setattr(ratios.Looked, "generated", False)
    monkeypatch.setattr(margins.Given, "pairs", 0)
    monkeypatch.setattr(extents.Known, "prompts", {})
    monkeypatch.setattr(extents.Known, "order", [])
    return told


# pairs ---------------------------------------------------------------------------------------------------------------


def answers(prompts: Sequence[Sequence[int]], sign: float) -> Forward:
    """Rows of a prompt of three tokens and an answer of two, all of which weighs the same."""
    ids = torch.tensor([[*prompt, 8, 9] for prompt in prompts])
    told = Forward(ids, torch.ones_like(ids), 0, causal=True)
    told.target = torch.full_like(ids, -1)
    told.target[:, 2:4] = ids[:, 3:5]
    told.weight = torch.where(told.target >= 0, sign * 0.05, 0.0)
    return told


PROMPTS = [[1, 2, 3], [1, 2, 4], [1, 2, 5], [1, 2, 6]]


@pytest.mark.parametrize(("worse", "given", "generated", "count"), [
    ([[1, 2, 7], [2, 2, 4], [3, 2, 7], [1, 2, 3]], 4, False, 1),  # of other prompts
    (PROMPTS[::-1], 4, False, 0),  # in another order
    ([[0, 2, 3], [0, 2, 4], [0, 2, 5], [0, 2, 6]], 4, False, 1),
    ([[1, 2, 7]] * 4, 8, False, 0),  # another number of margins: no loss of these pairs
    ([[1, 2, 7]] * 4, 4, True, 0),  # answers that were generated have advantages of both signs
    ([[1, 2, 7]] * 3, 3, False, 0),
])  # fmt: skip
def test_answers_of_a_pair_belong_to_one_prompt(
    worse: list[list[int]], given: int, generated: bool, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(margins.Given, "pairs", given)
    monkeypatch.setattr(ratios.Looked, "generated", generated)
    entry: dict[str, Any] = {"forwards": [], "pairs": pairs.of_forwards([answers(PROMPTS, 1.0), answers(worse, -1.0)])}
    assert len(list(judge._pairs([entry]))) == count


def test_a_log_sigmoid_says_how_many_pairs_there_are() -> None:
    module = types.SimpleNamespace(logsigmoid=torch.nn.functional.logsigmoid)
    margins.attach(module)
    module.logsigmoid(torch.zeros(5))  # without a gradient
    assert margins.Given.pairs == 0
    module.logsigmoid(torch.zeros(5, requires_grad=True))
    assert margins.Given.pairs == 5


# parts of a step -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("parts", "totals", "least", "count"), [
    (4, [1 / 16] * 4, 0.01, 1), (4, [0.25] * 4, 0.01, 0), (1, [1.0] * 2, 0.01, 0), (4, [1 / 16] * 4, -0.01, 0),
    (4, [1 / 16, 1 / 16, 0.2, 1 / 16], 0.01, 0), (4, [1 / 16], 0.01, 0),
])  # fmt: skip
def test_a_loss_that_is_divided_twice_is_told(parts: int, totals: list[float], least: float, count: int) -> None:
    forwards = [{"tokens": 9, "total": each, "least": least} for each in totals]
    assert len(list(judge._divided_twice([{"forwards": forwards, "divides": parts}]))) == count


def test_an_engine_and_accelerate_say_by_how_many_parts_they_divide(monkeypatch: pytest.MonkeyPatch) -> None:
    assert accumulating.divides() == 1
    state = types.SimpleNamespace(_shared_state={"plugin_kwargs": {"num_steps": 3}})
    monkeypatch.setitem(sys.modules, "accelerate.state", types.SimpleNamespace(GradientState=state))
    assert accumulating.divides() == 3

    class Engine:
        def gradient_accumulation_steps(self) -> int:
            return 8

    monkeypatch.setitem(sys.modules, "deepspeed.runtime.engine", types.SimpleNamespace(DeepSpeedEngine=Engine))
    first = Engine()
    assert accumulating.divides() == 8
    second = Engine()  # of which one is the policy's is not known
    assert accumulating.divides() == 1, (first, second)


# rewards -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("first", "turned", "count"), [
    ([0.1, 0.4, 0.2, 0.3], [0.4, 0.3, 0.2, 0.1], 1),  # sorted, and not put back
    ([0.1, 0.4, 0.2, 0.3], [0.1, 0.4, 0.2, 0.3], 0),
    ([0.1, 0.4, 0.2, 0.3], [0.2, 0.5, 0.3, 0.4], 0),  # compares with the others of its batch
    ([0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], 0),  # two values: the first of equal answers may get the prize
    ([0.1, None, 0.2, 0.3], [0.3, 0.2, 0.1, None], 0),
    ([0.1, 0.4, 0.2, 0.3], [], 0),
])  # fmt: skip
def test_rewards_follow_their_rows(first: list[float | None], turned: list[float | None], count: int) -> None:
    found = repeatable.of_turned_rows("score", "", first, turned)
    assert (found is not None) == bool(count)
    assert found is None or found.words("zh").headline


# what a save leaves --------------------------------------------------------------------------------------------------


class Layer(nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
    """As PEFT's: it says whether its adapter is merged, and whether it is switched off."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.parts, self.disable_adapters = nn.Parameter(torch.ones(2)), 0, False

    @property
    def merged(self) -> bool:
        return bool(self.parts)


@pytest.mark.parametrize(("change", "kind"), [
    (lambda layer: setattr(layer, "parts", 1), "merged"),
    (lambda layer: setattr(layer, "disable_adapters", True), "disabled"),
    (lambda layer: layer.requires_grad_(requires_grad=False), "frozen"),
    (lambda layer: layer.to(torch.bfloat16), "dtypes"),
    (lambda layer: layer.weight.data.add_(1), ""),  # an average that is put in its place is no accident
    (lambda layer: setattr(layer, "parts", 0), ""),
])  # fmt: skip
def test_a_save_leaves_the_model_as_it_was(journal: list[dict[str, Any]], change: Any, kind: str) -> None:
    trainer = types.SimpleNamespace(model=nn.Sequential(Layer(), Layer()))
    trainer._maybe_log_save_evaluate = lambda *_: [change(each) for each in trainer.model] and "result"
    aside.watch(trainer)
    assert trainer._maybe_log_save_evaluate(1, 2) == "result"
    assert [each["change"] for each in journal] == ([kind] if kind else [])
    for each in journal:
        assert all(asked.of_aside(each).words(language).headline for language in ("en", "zh"))


# rewards and weights -------------------------------------------------------------------------------------------------


def measured(
    shares: Sequence[float], rewards: Any, *, prompts: Sequence[Sequence[int]] = (), shuffled: bool = False
) -> list[str]:
    """What is told of answers to two prompts whose weights are these, in a frame that holds these rewards."""
    told = answers(prompts or [[1, 2, 3]] * 4 + [[1, 2, 4]] * 4, 1.0)
    told.ids[:, 3] = told.target[:, 2] = torch.arange(20, 28)  # each answer is another one
    rows = told.ids.flip(0) if shuffled else told.ids
    extents.Known.prompts.clear()
    extents.Known.order.clear()
    extents.generated(rows[:, :3], None)
    extents.answered(rows[:, :3], None, rows)
    told.weight = told.weight * torch.tensor(list(shares))[:, None]
    assert rewards is not None
    entries: list[dict[str, Any]] = [{"forwards": [], "ranked": ranked.of_forwards([told])}] * 2
    return [each.words().headline for each in judge._ranked(entries)]


REWARDS = [0.1, 0.4, 0.2, 0.3, 0.6, 0.5, 0.8, 0.7]
CENTRED = [-0.15, 0.15, -0.05, 0.05, -0.05, -0.15, 0.15, 0.05]


def test_answers_that_earn_more_become_more_likely(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ratios.Looked, "generated", True)
    earned = torch.tensor(REWARDS)
    assert measured(CENTRED, earned) == []
    assert measured([-each for each in CENTRED], REWARDS, shuffled=True) == []  # whose reward is whose is not known
    assert measured([-each for each in CENTRED], REWARDS) == [
        "In 12 of 12 pairs of answers to one prompt the answer with the higher `rewards` gains less"
    ]
    assert measured([0.3] * 8, earned) == [
        "All 8 answers have the same weight in the loss, though `rewards` differs between them"
    ]
    assert measured([0.3] * 8, torch.zeros(8)) == []  # all of them earned the same
    assert measured([-each for each in CENTRED], REWARDS[:7]) == []  # of other rows
    alone = [[1, 2, each] for each in range(3, 11)]
    assert measured([-each for each in CENTRED], earned, prompts=alone) == []  # each with a baseline of its own
    assert measured([0.3] * 8, earned, prompts=alone) != []
    assert measured([1.25] * 8, earned) == []  # the mean over texts that were chosen
    monkeypatch.setattr(ratios.Looked, "generated", False)
    assert measured([-each for each in CENTRED], earned) == []


# rows ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("width", "reordered", "count"), [(4, False, 1), (8, False, 0), (4, True, 0)])
def test_rows_whose_labels_are_cut_off_are_told(
    journal: list[dict[str, Any]], width: int, reordered: bool, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows.Drawn, "longest_first", reordered)
    data = [{"input_ids": [3] * size + [5], "labels": [-100] * size + [5]} for size in (2, 6, 3, 7)]

    def collate(given: Any) -> dict[str, Any]:
        def padded(name: str, value: int) -> Any:
            return torch.tensor([(each[name] + [value] * width)[:width] for each in given])

        ids = padded("input_ids", 0)
        return {"input_ids": ids, "labels": padded("labels", -100), "attention_mask": (ids != 0).long()}

    collating._watched(collate)(data)
    found = [judge.of_collated(each) for each in journal]
    headlines = [each.words().headline for each in found if each is not None]
    assert headlines == ["The collator leaves nothing to train in 2 of 4 rows of the first batch"] * count


# settings and second starts ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("given", "engine", "names"), [
    ({"temprature": 0.7, "top_p": 0.9}, False, "`temprature`"), ({"top_p": 0.9}, False, ""), (None, False, ""),
    ({"stop": ["x"]}, True, ""),  # a name that vLLM has
])  # fmt: skip
def test_settings_that_generation_does_not_know_are_told(
    journal: list[dict[str, Any]], given: Any, engine: bool, names: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class GenerationConfig:
        def __init__(self) -> None:
            self.top_p, self.temperature = 1.0, 1.0

    library = types.SimpleNamespace(GenerationConfig=GenerationConfig)
    monkeypatch.setitem(sys.modules, "transformers.generation.configuration_utils", library)
    args = types.SimpleNamespace(generation_kwargs=given, use_vllm=engine)
    sampling.look(types.SimpleNamespace(args=args))
    told = [asked.of_unread(each).words() for each in journal]
    assert [each.headline for each in told] == (
        [f"`generation_kwargs` names {names}, which generation does not know"] if names else []
    )
    assert all("`temperature`" in each.explanation for each in told)


@pytest.mark.parametrize(("steps", "again", "count"), [
    (["a", "b"], ["a"], 1), (["a", "b"], ["c"], 0), (["a", "a"], ["a"], 0), (["a"], ["a"], 0), (["a", "b"], [], 0),
])  # fmt: skip
def test_a_loop_that_begins_with_its_first_rows_again_is_told(steps: list[str], again: list[str], count: int) -> None:
    found = judge.of_rows_again([{"first": each} for each in steps], [{"rows": each} for each in again])
    assert (found is not None) == bool(count)


@pytest.mark.parametrize(("text", "count"), [
    ("if os.path.exists(PATH):\n    model.load_state_dict(torch.load(PATH))", 1), ("torch.save(model, PATH)", 0),
])  # fmt: skip
def test_a_loop_is_started_again_where_its_script_goes_on(
    text: str, count: int, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "train.py"
    script.write_text(text)
    monkeypatch.setitem(sys.modules, "__main__", types.SimpleNamespace(__file__=str(script)))
    monkeypatch.setattr(saved.Written, "names", [])
    assert saved.for_a_second_start() == []
    saved._look(saved._of_tensors, ({"step": 1}, str(tmp_path / "state.pt")), {})
    assert len(saved.for_a_second_start()) == count


@pytest.mark.parametrize(
    ("name", "resume", "count"), [("state.pt", True, 1), ("other.pt", True, 0), ("state.pt", False, 0)]
)
def test_a_second_start_that_loads_what_was_saved_is_noted(
    name: str, resume: bool, count: int, journal: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setattr(_Read, "settings", PassSettings(tmp_path, 0, resume=resume))
    monkeypatch.setattr(notes, "entries", lambda *_: [{"kind": "trained", "saved": ["state.pt"], "loop": True}])
    module = types.SimpleNamespace(save=None, load=lambda path: path)
    saved.torch_files(module)
    assert module.load(f"out/{name}") == f"out/{name}"
    assert [each["kind"] for each in journal] == ["loaded"] * count


def test_a_second_start_that_loads_nothing_says_nothing_of_a_resume() -> None:
    trained = {"kind": "trained", "saved": ["state.pt"], "loop": True}
    loaded = {"kind": "loaded", "name": "state.pt"}
    assert Rehearsed((trained,), (loaded,)).goes_on
    assert Rehearsed((trained,), ()).begins_anew
    of_trainer = Rehearsed(({**trained, "loop": False},), ())
    assert not of_trainer.goes_on
    assert not of_trainer.begins_anew
