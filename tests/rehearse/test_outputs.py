"""What the gradient at the outputs of a model shows of a loss, and what is said of it; right losses are left alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from doctor.checks.numerics import first_step_contradicts_its_data as judge
from doctor.monitors.rehearse import journal as notes
from doctor.monitors.rehearse import outputs
from doctor.monitors.rehearse.relations import cleared, contracts, ratios, weights
from doctor.monitors.rehearse.relations.forwards import Forward

torch = pytest.importorskip("torch")
nn, F = torch.nn, torch.nn.functional
WORDS = 40


@pytest.fixture(autouse=True)
def journal(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Entries that are written; nothing is left of what was looked at."""
    told: list[dict[str, Any]] = []

    def write(kind: str, **values: Any) -> None:
        told.append({"kind": kind, **values})

    monkeypatch.setattr(notes, "write", write)
    monkeypatch.setattr(notes, "once", lambda kind, _, **values: write(kind, **values))
    monkeypatch.setattr(outputs._Seen, "over", False)
    monkeypatch.setattr(ratios.Looked, "over", False)
    monkeypatch.setattr(ratios.Looked, "generated", True)
    monkeypatch.setattr(ratios.Looked, "answered", set())
    monkeypatch.setattr(contracts._Calls, "made", {})
    for name, value in (("optimizers", set()), ("steps", []), ("backwards", 0), ("cleared", 0), ("kept", 0)):
        monkeypatch.setattr(cleared._Loop, name, value)
    monkeypatch.setattr(cleared._Loop, "left", None)
    torch.manual_seed(0)
    return told


def batch(*lengths: int, width: int = 20) -> tuple[Any, Any]:
    """Tokens without repetition in a row, and a mask with padding on the right."""
    ids = torch.stack([torch.randperm(WORDS - 1)[:width] + 1 for _ in lengths])
    mask = torch.stack([(torch.arange(width) < each).long() for each in lengths])
    return ids.masked_fill(mask == 0, 0), mask


def seen(loss_of: Callable[[Any, Any, Any], Any], ids: Any, mask: Any, *, causal: bool = True) -> Forward:
    """What a loss of (logits, ids, mask) does to random logits."""
    logits = torch.randn(*ids.shape, WORDS, requires_grad=True)
    told = Forward(ids, mask, 0, causal=causal)
    logits.register_hook(lambda gradient: outputs._flowed(told, logits.detach(), gradient))
    loss_of(logits, ids, mask).backward()
    return told


def said(*forwards: Forward, generated: bool = False, leak: Any = None) -> list[str]:
    """Headlines of a first step with these forwards, one a step."""
    entries = [
        {"forwards": [weights.of_forward(each)], "groups": weights.of_groups([each]), "leak": leak,
         "generated": generated}
        for each in forwards
    ]  # fmt: skip
    return [each.words().headline for each in judge.of_outputs(entries)]


def right(logits: Any, ids: Any, mask: Any) -> Any:
    targets = ids.masked_fill(mask == 0, -100)[:, 1:]
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), targets.flatten(), ignore_index=-100)


def padded(logits: Any, ids: Any, _: Any) -> Any:
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())


def unshifted(logits: Any, ids: Any, mask: Any) -> Any:
    return F.cross_entropy(logits.flatten(0, 1), ids.masked_fill(mask == 0, -100).flatten())


def twice(logits: Any, ids: Any, mask: Any) -> Any:
    return F.cross_entropy(logits[:, :-2].flatten(0, 1), ids.masked_fill(mask == 0, -100)[:, 2:].flatten())


def over_all(logits: Any, ids: Any, mask: Any) -> Any:
    targets = ids.masked_fill(mask == 0, -100)[:, 1:]
    each = F.cross_entropy(logits[:, :-1].transpose(1, 2), targets, reduction="none")
    return (each * (1 + (targets % 2))).mean()


def of_rows(logits: Any, ids: Any, mask: Any) -> Any:
    """Each row's mean, and the mean of these: the longest row is as long as the batch."""
    each = F.cross_entropy(logits[:, :-1].transpose(1, 2), ids[:, 1:], reduction="none") * mask[:, 1:]
    return (each.sum(1) / mask[:, 1:].sum(1)).mean()


def distilled(logits: Any, _: Any, mask: Any) -> Any:
    soft = F.kl_div(logits.log_softmax(-1), torch.randn_like(logits).softmax(-1), reduction="none").sum(-1)
    return (soft * mask).sum() / mask.sum()


def flattened(logits: Any, ids: Any, mask: Any) -> Any:
    """A penalty of all logits, those of padding too."""
    return right(logits, ids, mask) + 1e-2 * torch.logsumexp(logits, -1).pow(2).mean()


def penalised(logits: Any, ids: Any, mask: Any) -> Any:
    entropy = -(logits.softmax(-1) * logits.log_softmax(-1)).sum(-1)
    return right(logits, ids, mask) - 0.01 * (entropy * mask).sum()


def test_what_a_loss_trains_is_told_whoever_computes_it() -> None:
    for loss, words in (
        (padded, "are padding: 20 of 76"), (unshifted, "predicted from themselves"), (twice, "shifted twice"),
    ):  # fmt: skip
        (headline,) = said(seen(loss, *batch(20, 9, 15, 13)))
        assert words in headline, loss.__name__


def test_right_losses_and_those_without_targets_are_left_alone() -> None:
    for loss in (right, of_rows, distilled, penalised, flattened):
        first, second = seen(loss, *batch(20, 9, 15, 13)), seen(loss, *batch(9, 14, 12, 7, width=14))
        assert said(first, second) == [], loss.__name__
    assert said(seen(unshifted, *batch(20, 9, 15, 13), causal=False)) == [], "a model that predicts masked tokens"


def test_a_first_padding_token_that_ends_each_row_is_no_padding() -> None:
    def ends(logits: Any, ids: Any, mask: Any) -> Any:
        kept = mask | mask.roll(1, 1)
        kept[:, 0] = 1
        return right(logits, ids, kept)

    assert said(seen(ends, *batch(19, 9, 15, 13))) == []


def test_a_loss_that_is_divided_by_the_padding_too_shows_in_two_batches_of_other_sizes() -> None:
    one, other = seen(over_all, *batch(20, 9, 15, 13)), seen(over_all, *batch(9, 14, 12, 7, width=14))
    assert ["divided by all 80 places" in each for each in said(one, other)] == [True]
    assert said(one, one) == [], "one size: a constant"
    assert said(one, other, generated=True) == [], "a constant of a policy gradient"


def test_what_stands_behind_the_end_of_an_answer_is_padding_without_a_mask_too() -> None:
    ids, mask = batch(20, 9, 15, 13)
    ids = torch.where((torch.arange(20) == mask.sum(1, keepdim=True) - 1), 39, ids)
    behind = (torch.arange(20) >= mask.sum(1, keepdim=True)).long()

    def of(kept: Any) -> Forward:
        logits = torch.randn(4, 20, WORDS, requires_grad=True)
        told = Forward(ids, torch.ones_like(mask), 0, causal=True, pad=0, ends=frozenset({39}))
        logits.register_hook(lambda gradient: outputs._flowed(told, logits.detach(), gradient))
        right(logits, ids, kept).backward()
        return told

    (headline,) = said(of(behind), generated=True)
    assert headline.startswith("100 % of the places that count for the loss are padding")
    assert said(of(mask), generated=True) == []


def test_weights_are_those_of_the_loss() -> None:
    ids, mask = batch(20, 9, 15, 13)
    told = seen(lambda logits, ids, mask: -3 * right(logits, ids, mask), ids, mask)
    count = int(mask[:, 1:].sum())
    assert told.weight[told.target >= 0] == pytest.approx(torch.full((count,), -3 / count).numpy(), rel=1e-4)


def policy(rewards: Any, advantages: Callable[[Any], Any], *, per_answer: bool = False) -> Any:
    def loss(logits: Any, ids: Any, mask: Any) -> Any:
        logps = logits[:, :-1].log_softmax(-1).gather(2, ids[:, 1:, None])[..., 0]
        kept = mask[:, 1:].clone()
        kept[:, :4] = 0  # the prompt
        each = (logps * kept).sum(1) / (kept.sum(1) if per_answer else kept.sum() / len(kept))
        return -(advantages(rewards) * each).mean()

    return loss


def test_advantages_that_cancel_over_other_rows_than_a_prompt_s_answers_are_told() -> None:
    ids, mask = batch(*[20, 12, 15, 13, 18, 11, 16, 14], width=20)
    ids[:4, :5], ids[4:, :5] = ids[0, :5].clone(), ids[4, :5].clone()
    rewards = torch.randn(8)

    def centred(shape: tuple[int, int], axis: int) -> Callable[[Any], Any]:
        return lambda given: (given.view(shape) - given.view(shape).mean(axis, keepdim=True)).flatten()

    for per_answer in (False, True):
        across = policy(rewards, centred((4, 2), 0), per_answer=per_answer)
        (headline,) = said(seen(across, ids, mask), generated=True)
        assert "not over the 4 answers of each prompt" in headline
        own = policy(rewards, centred((2, 4), 1), per_answer=per_answer)
        assert said(seen(own, ids, mask), generated=True) == []
    solved = torch.tensor([1.0, 1, 1, 1, 0, 0, 0, 0])  # sums over rows apart are 0 as well
    for given in (rewards, solved):
        for advantages in (lambda each: each, lambda each: each - each.mean()):  # no baseline, one of the batch
            assert said(seen(policy(given, advantages), ids, mask), generated=True) == []


def test_rows_that_are_read_in_the_padding_alone_are_told() -> None:
    ids, mask = batch(20, 9, 15, 13)
    for place, headlines in ((lambda: -1, 1), (lambda: mask.sum(1) - 1, 0)):
        hidden, told = torch.randn(4, 20, 8, requires_grad=True), Forward(ids, mask, 0, causal=False)
        hidden.register_hook(lambda gradient, told=told: outputs._flowed(told, None, gradient))
        hidden[torch.arange(4), place()].pow(2).sum().backward()
        assert len(said(told)) == headlines


def test_a_leak_needs_every_row() -> None:
    told = seen(right, *batch(20, 9, 15, 13))
    assert said(told, leak={"rows": 4, "changed": 4}) == [
        "In 4 of 4 rows the model sees the token that it is trained to predict"
    ]
    assert said(told, leak={"rows": 4, "changed": 2}) == []


def test_a_ratio_beside_1_before_any_step_is_told(journal: list[dict[str, Any]]) -> None:
    for shift, count in ((0.3, 1), (0.0, 0)):
        journal.clear()
        ratios.Looked.over = False
        new = torch.randn(4, 8, requires_grad=True)
        ratio = (new - (new.detach() + shift)).exp()
        loss = -torch.min(ratio * 2, ratio.clamp(0.5, 1.5) * 2).mean()
        ratios.look(loss)
        loss.backward()
        assert [each["values"] for each in journal] == [32]
        assert len([each for each in map(judge.of_ratio, journal) if each is not None]) == count


def test_only_answers_of_the_policy_itself_have_its_old_probabilities() -> None:
    policy, other = nn.Linear(2, 2), nn.Linear(2, 2)
    ratios.generated(policy)
    ratios.trains(policy)
    assert not ratios.Looked.over
    ratios.trains(other)
    assert ratios.Looked.over


def test_other_exponentials_are_no_ratio(journal: list[dict[str, Any]]) -> None:
    new = torch.randn(4, 8, requires_grad=True)
    for loss in (new.exp().clamp(max=2).mean(), new.exp().clamp(0, 100).mean(), new.exp().mean(), new.clamp(0.8, 1.2)):
        ratios.look(loss)
        loss.sum().backward()
    assert journal == []


def trains(order: str, *, optimizers: int = 1, moves: bool = False) -> None:
    """Run a loop: `z` clears, `b` computes gradients, `s` steps, `n` drops them."""
    model = nn.Linear(3, 1)
    made = [torch.optim.SGD(model.parameters(), lr=0.1) for _ in range(optimizers)]
    for letter in order:
        if letter == "z":
            cleared._clearing(made[0])
            made[0].zero_grad()
        elif letter == "b":
            cleared.backward()
            model(torch.ones(2, 3)).sum().backward()
            if moves:
                with torch.no_grad():
                    model.weight.add_(0.1)
        elif letter == "n":
            model.weight.grad = model.bias.grad = None
        else:
            for each in made:
                cleared.stepping(each)
                each.step()
                cleared.stepped(each)


@pytest.mark.parametrize(
    ("order", "options", "words"),
    [
        ("zbzbzbszbzbzbs", {}, "2 of 3 backward passes"),
        ("bbbzbsbbbzbs", {}, "3 of 4 backward passes"),
        ("bsbs", {}, "nothing clears it"),
        ("zbbszbbs", {}, ""), ("bszbsz", {}, ""), ("bsnbs", {}, ""), ("zbszbs", {}, ""),
        ("zbzbszbzbs", {"moves": True}, ""),
        ("zbzbszbzbs", {"optimizers": 2}, ""),
        ("zbzbszbs", {}, ""), ("sbsb", {}, ""),
    ],
)  # fmt: skip
def test_what_a_loop_does_with_its_gradients(
    journal: list[dict[str, Any]], order: str, options: dict[str, Any], words: str
) -> None:
    trains(order, **options)
    found = [judge.of_clearing(each) for each in journal if each["kind"] == "clearing"]
    headlines = [each.words().headline for each in found if each is not None]
    assert (words in headlines[0]) if words else not headlines


def test_functions_that_are_given_something_else(journal: list[dict[str, Any]]) -> None:
    logits = torch.randn(4, WORDS, requires_grad=True)
    log, soft = logits.log_softmax(-1), logits.softmax(-1)
    for name, given, told in (
        ("kl_div", log, 0), ("kl_div", soft, 1), ("nll_loss", log, 0), ("nll_loss", soft, 1), ("nll_loss", logits, 1),
        ("cross_entropy", logits, 0), ("cross_entropy", log, 0), ("cross_entropy", soft, 1),
        ("binary_cross_entropy_with_logits", logits, 0), ("binary_cross_entropy_with_logits", logits.sigmoid(), 1),
        ("binary_cross_entropy_with_logits", logits.sigmoid()[:, :1].squeeze(-1), 1),
        ("binary_cross_entropy_with_logits", logits.sigmoid().log(), 0),
        ("kl_div", soft.detach(), 0),
    ):  # fmt: skip
        journal.clear()
        contracts._Calls.made.clear()
        contracts._look(name, contracts._TAKES[name], given)
        assert len(journal) == told, name
        for each in journal:
            assert f"`{name}` is given" in judge.of_contract(each).words().headline
            assert judge.of_contract(each).words("zh").headline
