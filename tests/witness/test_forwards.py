"""What is read of a trainer's forward: the right tokens of the right rows, in every form of a batch, or nothing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from doctor.monitors.witness import forwards  # noqa: E402
from doctor.monitors.witness.asked import CannotAsk  # noqa: E402
from doctor.monitors.witness.forwards import ForwardListener, Heard  # noqa: E402
from doctor.monitors.witness.judge import Known  # noqa: E402
from doctor.monitors.witness.parts import Parts  # noqa: E402
from doctor.monitors.witness.policy import TrainedModel  # noqa: E402

VOCABULARY, PAD = 50, 0


class Causal(torch.nn.Module):
    """Each token's logits come from the tokens of its own sequence up to it, whatever stands in front of that."""

    def __init__(self, fused: float | None = None, drop: float = 0.0) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.embed = torch.nn.Embedding(VOCABULARY, 16)
        self.head = torch.nn.Linear(16, VOCABULARY)
        self.dropout = torch.nn.Dropout(drop)
        self.config = SimpleNamespace(vocab_size=VOCABULARY, max_position_embeddings=512, rope_theta=1e4)
        self.fused = fused

    def row(self, ids: Any, starts: Any) -> Any:
        whole = self.embed(ids).cumsum(0)
        before = torch.stack([whole[start - 1] if start else torch.zeros(16) for start in starts])
        counts = torch.arange(len(ids)) - torch.tensor(starts) + 1
        return self.head((whole - before) / counts.unsqueeze(1))

    def forward(
        self, input_ids: Any, attention_mask: Any = None, position_ids: Any = None, labels: Any = None,
        shift_labels: Any = None, logits_to_keep: int = 0, **_: Any,
    ) -> Any:  # fmt: skip
        rows = []
        for at, ids in enumerate(input_ids):
            start, starts = 0, []
            for place in range(len(ids)):
                padded = attention_mask is not None and not attention_mask[at, place]
                if padded or (position_ids is not None and position_ids[at, place] == 0):
                    start = place + int(padded)
                starts.append(min(start, place))
            rows.append(self.row(ids, starts))
        logits = torch.stack(rows)
        if self.fused is None:
            return SimpleNamespace(logits=logits[:, -logits_to_keep:] if logits_to_keep else logits)
        wanted = shift_labels if shift_labels is not None else labels[:, 1:]
        scores = (logits[:, : wanted.shape[1]] / self.fused).log_softmax(-1)
        logps = scores.gather(2, wanted.clamp(min=0).unsqueeze(2)).squeeze(2)
        return SimpleNamespace(log_probs=logps.masked_fill(wanted == -100, 0.0), logits=None)

    @torch.no_grad()
    def alone(self, ids: list[int]) -> list[float]:
        """Log probabilities of a sequence by itself."""
        scores = self.row(torch.tensor(ids), [0] * len(ids))[:-1].log_softmax(-1)
        return [float(each) for each in scores.gather(1, torch.tensor(ids[1:]).unsqueeze(1)).squeeze(1)]


def listener(
    model: Any, *, rotary: bool = True, together: bool = False, temperature: float | None = 1.0
) -> ForwardListener:
    made = ForwardListener(lambda: model, lambda: 0, lambda: temperature, VOCABULARY, rotary=rotary, together=together)
    made.listen()
    return made


def drawn(*sizes: int) -> list[list[int]]:
    source = torch.Generator().manual_seed(1)
    return [torch.randint(1, VOCABULARY, (size,), generator=source).tolist() for size in sizes]


def padded(rows: list[list[int]], *, left: list[int] | None = None) -> tuple[Any, Any]:
    """Ids and mask: so many of padding in front of each row, and behind it up to the longest."""
    left = left or [0] * len(rows)
    width = max(len(row) + before for row, before in zip(rows, left, strict=True))
    ids = torch.full((len(rows), width), PAD)
    mask = torch.zeros_like(ids)
    for at, (row, before) in enumerate(zip(rows, left, strict=True)):
        ids[at, before : before + len(row)] = torch.tensor(row)
        mask[at, before : before + len(row)] = 1
    return ids, mask


def checked(model: Causal, heard: Heard | None, rows: list[list[int]]) -> int:
    """Every row heard is the beginning of one that was given, with its own log probabilities; how many tokens."""
    assert heard is not None
    count = 0
    for ids, logps in zip(heard.rows, heard.logps, strict=True):
        assert any(row[: len(ids)] == ids for row in rows)
        for told, own in zip(logps[1:], model.alone(ids), strict=True):
            assert told is None or told == pytest.approx(own, abs=1e-4)
            count += told is not None
        assert logps[0] is None
    return count


@pytest.mark.parametrize("left", [None, [3, 0, 7]])
@pytest.mark.parametrize("kept", [0, 12])
def test_rows_with_padding_on_either_side(left: list[int] | None, kept: int) -> None:
    model, rows = Causal(), drawn(20, 31, 17)
    ids, mask = padded(rows, left=left)
    hears = listener(model)
    model(input_ids=ids, attention_mask=mask, logits_to_keep=kept)
    assert checked(model, hears.heard(), rows) >= (40 if not kept else 11)
    assert not model._forward_hooks, "the hook is gone"


def test_log_probabilities_that_the_model_gives_itself_are_those_of_its_labels() -> None:
    model, rows = Causal(fused=1.0), drawn(20, 31, 17)
    ids, mask = padded(rows, left=[4, 0, 2])
    labels = ids.masked_fill(mask == 0, -100)
    labels[:, :12] = -100
    hears = listener(model)
    model(input_ids=ids, attention_mask=mask, labels=labels, fused_lm_head=True)
    heard = hears.heard()
    assert checked(model, heard, rows) > 20
    assert heard is not None
    assert all(told is None for logps in heard.logps for told in logps[:8]), "the prompt has no labels"


def test_packed_rows_are_told_apart_by_their_positions() -> None:
    model, rows = Causal(), drawn(9, 22, 15)
    ids = torch.tensor([[each for row in rows for each in row]])
    positions = torch.tensor([[at for row in rows for at in range(len(row))]])
    hears = listener(model)
    model(input_ids=ids, position_ids=positions)
    heard = hears.heard()
    assert checked(model, heard, rows) >= 25
    assert heard is not None
    assert len(heard.rows) == 2, "the last 32 tokens lie in the last two"


def test_of_a_sequence_in_parts_only_one_that_begins_here_counts() -> None:
    model, (row,) = Causal(fused=1.0), drawn(40)
    ids, shifted = torch.tensor([row[:24]]), torch.tensor([row[1:25]])
    first = listener(model, together=True)
    model(input_ids=ids, position_ids=torch.arange(24).unsqueeze(0), shift_labels=shifted)
    assert checked(model, first.heard(), [row]) >= 20
    later = listener(model, together=True)
    model(input_ids=ids, position_ids=torch.arange(16, 40).unsqueeze(0), shift_labels=shifted)
    assert later.heard() is None
    assert later.unheard() == "no row of the trainer's forward begins where its sequence does"
    untold = listener(model, together=True)
    model(input_ids=ids, shift_labels=shifted)
    assert (untold.heard(), "does not show which" in str(untold.unheard())) == (None, True)
    untold.stop()


def _refusals() -> dict[str, tuple[Any, dict[str, Any], dict[str, Any]]]:
    (row,) = drawn(24)
    ids = torch.tensor([row])
    labels = ids.clone()
    return {
        "drops activations": (Causal(drop=0.1), {"input_ids": ids}, {}),
        "at temperature 0.7": (Causal(fused=0.7), {"input_ids": ids, "labels": labels}, {"temperature": 0.7}),
        "is not known": (Causal(fused=0.7), {"input_ids": ids, "labels": labels}, {"temperature": None}),
        "takes `pixel_values`": (Causal(), {"input_ids": ids, "pixel_values": ids}, {}),
        "different shape": (Causal(), {"input_ids": ids, "attention_mask": torch.ones(1, 1, 24, 24)}, {}),
        "no rows of ids": (Causal(), {"input_ids": ids.float()}, {}),
    }  # fmt: skip


@pytest.mark.parametrize("words", _refusals())
def test_what_is_not_certain_is_left_out_and_said(words: str) -> None:
    model, inputs, more = _refusals()[words]
    hears = listener(model, **more)
    hears._hook(model, (), inputs, _output(model, inputs))
    assert hears.heard() is None
    assert words in str(hears.unheard())
    hears.stop()


def _output(model: Any, inputs: dict[str, Any]) -> Any:
    """What the forward gives, without a hook that would see it."""
    known = {name: each for name, each in inputs.items() if name != "attention_mask"}
    return model.forward(**{**known, "input_ids": inputs["input_ids"].long()})


def test_logits_of_a_part_of_the_vocabulary_or_of_other_places_are_left_out() -> None:
    ids = torch.tensor(drawn(24))
    for logits, more, words in [
        (torch.zeros(1, 24, VOCABULARY // 2), {}, "part of the logits"),
        (torch.zeros(1, 3, VOCABULARY), {}, "different number"),
        (torch.zeros(1, 2, VOCABULARY), {"logits_to_keep": torch.tensor([3, 7])}, "selected positions"),
        (torch.zeros(24, VOCABULARY), {}, "no logits"),
    ]:
        hears = listener(Causal())
        hears._hook(Causal().eval(), (ids,), more, SimpleNamespace(logits=logits))
        assert hears.heard() is None
        assert words in str(hears.unheard())
        hears.stop()


def test_padding_in_front_counts_where_places_are_learned() -> None:
    model, rows = Causal(), drawn(20, 31)
    ids, mask = padded(rows, left=[5, 0])
    hears = listener(model, rotary=False)
    model(input_ids=ids, attention_mask=mask)
    heard = hears.heard()
    assert checked(model, heard, rows[1:]) >= 20
    assert heard is not None
    assert len(heard.rows) == 1


def test_a_forward_after_the_optimizer_step_is_of_other_weights() -> None:
    model, step = Causal(), [0]
    hears = ForwardListener(lambda: model, lambda: step[0], lambda: 1.0, VOCABULARY, rotary=True, together=False)
    hears.listen()
    step[0] = 1
    model(input_ids=torch.tensor(drawn(24)))
    assert hears.heard() is None
    assert not model._forward_hooks


def test_an_adapter_that_is_off_or_another_one_is_not_the_policy() -> None:
    model, ids = Causal(), torch.tensor(drawn(24))
    model.active_adapter = "policy"
    hears = listener(model)
    model.active_adapter = "reference"
    model(input_ids=ids)
    model.active_adapter = "policy"
    model.head.disable_adapters = True
    model(input_ids=ids)
    assert hears.heard() is None
    assert "without the adapter" in str(hears.unheard())
    model.head.disable_adapters = False
    hears.listen()
    model(input_ids=ids)
    assert checked(model, hears.heard(), ids.tolist()) > 20


def test_a_compiled_policy_computes_the_same_and_is_heard_around_what_is_compiled() -> None:
    model, ids = Causal(), torch.tensor(drawn(24))
    compiled = torch.compile(model, backend="eager")
    policy = TrainedModel(compiled)
    before = compiled(input_ids=ids).logits
    hears = listener(policy.heard())
    assert torch.equal(compiled(input_ids=ids).logits, before)
    assert checked(model, hears.heard(), ids.tolist()) > 20
    assert not model._forward_hooks
    model.compile(backend="eager")
    with pytest.raises(CannotAsk, match="compiled in place"):
        TrainedModel(model).heard()


def test_a_forward_that_cannot_be_looked_at_disturbs_nobody(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*_: Any) -> None:
        raise ZeroDivisionError

    model, ids = Causal(), torch.tensor(drawn(24))
    before = model(input_ids=ids).logits
    monkeypatch.setattr(forwards, "_inputs", fails)
    hears = listener(model)
    assert torch.equal(model(input_ids=ids).logits, before)
    assert hears.heard() is None
    assert "the run goes on" in capsys.readouterr().err


def parts(*, together: bool = False) -> Parts:
    return Parts(TrainedModel(Causal(), together=together), lambda: 0, lambda: 1.0)


def row(seed: int, shift: float = 0.0) -> list[float | None]:
    source = torch.Generator().manual_seed(seed)
    return [None, *(float(each) + shift for each in -torch.rand(32, generator=source) * 2)]


def heard(step: int, seed: int) -> Heard:
    return Heard(step, [[7] * 33], [row(seed)])


def test_earlier_weights_below_every_limit_are_told_once_they_come_twice() -> None:
    judge, known = parts(), Known(precision="bfloat16")
    assert judge.judge(heard(0, 0), [row(0, 0.001)], known).findings == []
    once = judge.judge(heard(1, 1), [row(1, 0.02), row(0, 0.001)], known)
    assert once.findings == []
    twice = judge.judge(heard(2, 2), [row(2, 0.03), row(0, 0.001)], known)
    assert [each.words("en").headline for each in twice.findings] == [
        "At step 2 the engine samples with the weights of step 0"
    ]


def test_tokens_that_are_harder_to_agree_on_accuse_nobody() -> None:
    judge, known = parts(), Known(precision="bfloat16")
    judge.judge(heard(0, 0), [row(0, 0.001)], known)
    for step in (1, 2, 3):  # the policy has moved, and the engine with it
        past = [row(each, 0.02) for each in range(step)]
        assert judge.judge(heard(step, step), [row(step, 0.02), *past], known).findings == []


def test_of_sequences_in_parts_a_gap_counts_once_both_sides_have_agreed() -> None:
    judge, known = parts(together=True), Known(precision="float32")
    assert judge.judge(heard(0, 0), [row(0, 0.5)], known).findings == []
    judge.judge(heard(0, 0), [row(0)], known)
    assert len(judge.judge(heard(1, 1), [row(1, 0.5), row(0, 0.4)], known).findings) == 1
