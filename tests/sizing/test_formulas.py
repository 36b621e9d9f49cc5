"""States, batches, engine and judgement against figures worked out by hand or published."""

from __future__ import annotations

from dataclasses import replace

import pytest

from doctor.sizing import cards, engine, output_layer, search, sizes
from doctor.sizing.activations import activations_of
from doctor.sizing.advice import advise
from doctor.sizing.architecture import shape_of
from doctor.sizing.batches import batches_of
from doctor.sizing.budget import budget_of
from doctor.sizing.launch import colocated, share_for, split
from doctor.sizing.setup import GIB, Buffers, Hardware, Lora, Rollout, Setup
from doctor.sizing.states import casts, states_of
from doctor.sizing.verdict import FITS, TOO_LARGE, UNSURE, smallest_strategy, spelled, verdict_of

from .configs import CONFIGS

SEVEN = shape_of(CONFIGS["Qwen2.5-7B"])
H100 = Hardware(8, 81559 * 1024**2, "H100")
BASE = Setup(SEVEN, H100, strategy="zero2")
P = SEVEN.parameters


def test_zero_divides_what_the_paper_divides() -> None:
    # https://arxiv.org/abs/1910.02054, figure 1: 2 + 2 + 12 bytes, divided stage by stage
    one, two, three = (states_of(replace(BASE, strategy=f"zero{stage}")) for stage in (1, 2, 3))
    assert (one.weights, one.gradients, one.optimizer) == (2 * P, 2 * P, pytest.approx(12 * P / 8))
    assert (two.weights, two.gradients) == (2 * P, pytest.approx(2 * P / 8))
    assert three.weights == pytest.approx(2 * P / 8)
    # DeepSpeed's own estimate of stage 2: 2 P + 18 P / ranks (it counts gradients twice, in 16 and in 32 bit)
    estimate = 2 * P + 18 * P / 8
    assert two.weights + two.gradients + two.optimizer + two.step_copy == pytest.approx(estimate)


def test_replicas_hold_everything_and_a_bucket_copy() -> None:
    found = states_of(replace(BASE, strategy="ddp", weights="float32"))
    assert (found.weights, found.gradients, found.optimizer, found.buckets) == (4 * P, 4 * P, 8 * P, 4 * P)
    alone = states_of(replace(BASE, hardware=Hardware(1, 2**36), strategy="single", weights="bfloat16"))
    assert (alone.weights, alone.optimizer, alone.buckets) == (2 * P, 4 * P, 0)


def test_offload_moves_states_to_the_host() -> None:
    found = states_of(replace(BASE, strategy="zero3", offload_optimizer=True))
    assert (found.optimizer, found.gradients) == (0, 0)
    assert found.host == pytest.approx(16 * P)  # as DeepSpeed's estimate before its factor of 1.5
    everything = states_of(replace(BASE, strategy="zero3", offload_optimizer=True, offload_parameters=True))
    assert everything.weights == 0
    assert everything.host == pytest.approx(18 * P)


def test_server_gpus_hold_no_states() -> None:
    served = replace(BASE, strategy="zero3", offload_optimizer=True, rollout=Rollout("server", 0.9, 2, 2))
    assert served.trainers == 4
    assert states_of(served).host == pytest.approx(16 * P)


def test_fsdp_lifts_trained_weights() -> None:
    found = states_of(replace(BASE, strategy="fsdp"))
    assert found.weights + found.gradients + found.optimizer == pytest.approx(16 * P / 8)
    assert found.gathered_low < states_of(replace(BASE, strategy="fsdp-grad-op")).gathered_low == 2 * P


def test_adapter_trains_little() -> None:
    lora = replace(BASE, strategy="ddp", weights="bfloat16", lora=Lora(16))
    found = states_of(lora)
    assert found.weights == 2 * P + 4 * lora.trained
    assert found.optimizer == 8 * lora.trained
    assert states_of(replace(lora, beta=0.1)).reference == 0  # the adapter is switched off instead
    quantized = states_of(replace(lora, bits=4))
    assert quantized.weights < 0.4 * found.weights


def test_reference_model_is_whole_below_stage_three() -> None:
    assert states_of(replace(BASE, beta=0.04)).reference == 2 * P
    assert states_of(replace(BASE, beta=0.04, strategy="zero3")).reference == pytest.approx(2 * P / 8)


def test_buckets_are_what_the_file_says() -> None:
    assert states_of(BASE).buckets == SEVEN.hidden**2 * 2
    large = Buffers(reduce=500_000_000, overlap=True)
    assert states_of(replace(BASE, buffers=large)).buckets == 2_000_000_000


def test_logits_are_the_usual_surprise() -> None:
    # 8 completions x 1,025 tokens x 152,064 entries in 32 bit
    full = replace(BASE, strategy="ddp", head="full", completion_length=1024)
    assert output_layer.logits_bytes(full) == 8 * 1025 * 152064 * 4
    assert output_layer.backward_bytes(full) > 16 * 10**9
    assert output_layer.backward_bytes(replace(full, head="chunked")) < 4 * 10**9
    assert output_layer.backward_bytes(replace(full, head="liger")) < output_layer.backward_bytes(full) / 2


def test_checkpointing_keeps_one_tensor_a_layer() -> None:
    kept = activations_of(replace(BASE, checkpointing=True)).kept
    tokens = BASE.batch * BASE.sequence
    assert kept == pytest.approx(2 * SEVEN.hidden * tokens * SEVEN.layers + 8 * SEVEN.hidden * tokens)
    assert activations_of(replace(BASE, checkpointing=False)).kept > 20 * kept
    eager = activations_of(replace(BASE, attention="eager", checkpointing=False)).kept
    assert eager > activations_of(replace(BASE, attention="sdpa", checkpointing=False)).kept
    assert activations_of(replace(BASE, attention="flash", checkpointing=False)).kept < eager


def test_cache_of_an_engine() -> None:
    colocated_one = replace(BASE, rollout=Rollout("colocate", 0.3))
    served = engine.of(colocated_one, 1)
    assert served.token == 2 * 28 * 4 * 128 * 2  # 56 KiB, as vLLM's log says of this model
    assert served.weights == 2 * P
    assert engine.of(colocated_one, 2).token == served.token / 2
    assert engine.of(colocated_one, 8).token == served.token / 4  # four heads cannot be cut in eight
    latent = replace(BASE, shape=shape_of(CONFIGS["DeepSeek-V2-Lite"]), rollout=Rollout("colocate", 0.5))
    assert engine.of(latent, 4).token == engine.of(latent, 1).token


def test_share_too_small_for_weights() -> None:
    cramped = replace(BASE, rollout=Rollout("colocate", 0.15))
    found = verdict_of(cramped)
    assert (found.word, found.cache) == (TOO_LARGE, TOO_LARGE)
    advice = advise(cramped)
    assert advice is not None
    assert advice.changes[0].key in {"share", "tensor_parallel"}
    assert verdict_of(advice.changes[-1].setup).word == FITS == advice.verdict.word


def test_batches_are_counted_and_broken_ones_named() -> None:
    found = batches_of(replace(BASE, accumulation=4), rows=7473, epochs=2, step_seconds=36)
    assert (found.completions, found.prompts, found.completions_a_step) == (256, 32, 256)
    assert found.steps_an_epoch == 233
    assert found.hours == pytest.approx(233 * 2 * 36 / 3600)
    broken = batches_of(replace(BASE, generations=7))
    assert (broken.prompts, broken.suggested, broken.hours) == (None, (4, 8), None)
    reused = batches_of(replace(BASE, iterations=3, steps_per_generation=2), rows=160)
    assert (reused.completions, reused.prompts, reused.steps_an_epoch) == (128, 16, 60)


def test_least_strategy_grows_with_the_model() -> None:
    def least(size: str, gpus: Hardware) -> str:
        return spelled(smallest_strategy(Setup(sizes.nominal(size), gpus, rollout=Rollout("server", elsewhere=True))))

    assert least("0.5B", H100) == "DDP"
    assert least("7B", H100) == "ZeRO-2"
    assert least("24B", H100) == "ZeRO-3"
    assert least("72B", H100).startswith("ZeRO-3 + offload")
    assert least("0.5B", Hardware(1, 24 * GIB)) == "1 GPU"


def test_words_of_the_verdict_follow_the_bounds() -> None:
    setup = replace(BASE, strategy="zero2")
    phases = budget_of(setup).phases
    high, low = max(each.high for each in phases), max(each.low for each in phases)

    def word(size: float) -> str:
        return verdict_of(replace(setup, hardware=Hardware(8, round(size)))).word

    assert (word(high * 1.01), word((high + low) / 2), word(low * 0.99)) == (FITS, UNSURE, TOO_LARGE)


def test_advice_prefers_what_changes_no_result() -> None:
    wasteful = replace(BASE, strategy="ddp", checkpointing=False, head="full", batch=16)
    advice = advise(wasteful)
    assert advice is not None
    assert advice.verdict.word == FITS
    assert not {"lora", "length"} & {each.key for each in advice.changes}
    assert advise(replace(BASE, strategy="zero3")) is None


def test_hopeless_case_says_so() -> None:
    setup = Setup(sizes.nominal("405B"), Hardware(1, 16 * GIB), strategy="zero3", rollout=Rollout("colocate", 0.5))
    advice = advise(setup)
    assert advice is None or advice.verdict.word == TOO_LARGE


def test_parallelism_of_engines() -> None:
    # small models are copied, large ones are cut
    assert colocated(replace(BASE, rollout=Rollout("colocate"))) == 1
    large = replace(BASE, shape=sizes.nominal("72B"), strategy="zero3", rollout=Rollout("colocate"))
    assert colocated(large) > 1
    assert split(replace(BASE, rollout=Rollout("server", 0.9))) == (1, 2)
    assert split(replace(large, rollout=Rollout("server", 0.9)))[0] >= 4
    assert share_for(replace(BASE, rollout=Rollout("colocate"))) == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("text", "parameters", "assumed"),
    [("7B", 7_615_616_512, "shape"), ("0.5b", 494_032_768, "shape"), ("13B", 13 * 10**9, "layers"),
     ("350M", 350 * 10**6, "layers"), ("30B-A3B", 30_532_122_624, "shape")],
)  # fmt: skip
def test_sizes(text: str, parameters: int, assumed: str) -> None:
    shape = sizes.nominal(text)
    assert (shape.parameters, shape.assumed[0][0], shape.exact) == (parameters, assumed, False)


def test_published_sizes_are_those_of_the_configurations() -> None:
    for name in ("Qwen2.5-0.5B", "Qwen2.5-7B"):
        assert shape_of(sizes.DENSE[name]).parameters == shape_of(CONFIGS[name]).parameters
    assert shape_of(sizes.EXPERTS["Qwen3-30B-A3B"]).parameters == shape_of(CONFIGS["Qwen3-30B-A3B"]).parameters


@pytest.mark.parametrize(
    ("text", "expected"),
    [("8xH100", (8, 81559 * 1024**2, "H100")), ("2 x 24GiB", (2, 24 * GIB, "")), ("4x24GB", (4, 24 * 10**9, ""))],
)
def test_gpus_are_read(text: str, expected: tuple[int, int, str]) -> None:
    assert sizes.gpus(text)[:3] == expected


@pytest.mark.parametrize("text", ["8", "H100", "0xH100", "8xB9000", "8x0GiB", "-1xH100", "8xx80GiB"])
def test_wrong_gpus_are_refused(text: str) -> None:
    with pytest.raises(sizes.SizeError, match="write"):
        sizes.gpus(text)


@pytest.mark.parametrize("text", ["B", "7", "7T", "seven", "-7B", "7B-A"])
def test_wrong_sizes_are_refused(text: str) -> None:
    with pytest.raises(sizes.SizeError):
        sizes.nominal(text)


def test_copies_of_frozen_weights_are_those_of_one_layer() -> None:
    # measured with torch on a CPU: 8 layers, 16-bit copies at the end of forward 8.0 trained, 8.0 frozen without
    # checkpointing, 0.07 frozen with it, and 1.07 at the peak of backward
    lora = replace(BASE, strategy="ddp", weights="float32", lora=Lora(16))
    one = SEVEN.linear / SEVEN.layers * 2
    assert casts(lora) == one
    assert (
        casts(replace(lora, checkpointing=False))
        == (SEVEN.linear + SEVEN.embedding) * 2
        == casts(replace(lora, lora=None))
    )
    parts = {each.key: each.likely for each in budget_of(lora).phases[1].parts}
    assert parts["casts"] == one


@pytest.mark.parametrize("size", ["1.5B", "7B", "14B", "30B-A3B", "72B"])
@pytest.mark.parametrize("gpus", [Hardware(1, 24 * GIB), Hardware(2, 40 * GIB), Hardware(8, 24 * GIB), H100])
@pytest.mark.parametrize("share", [0.15, 0.5, 0.85])
def test_advice_is_possible_and_fits(size: str, gpus: Hardware, share: float) -> None:
    """No advice that breaks what it does not mention: the engine holds its weights, the step stays as large."""
    strategy = "single" if gpus.total == 1 else "ddp"
    setup = Setup(sizes.nominal(size), gpus, strategy=strategy, rollout=Rollout("colocate", share))
    advice = advise(setup)
    for each in (advice, *advice.others) if advice else ():
        last = each.changes[-1].setup
        assert verdict_of(last) == each.verdict
        assert last.batch * last.accumulation == setup.batch * setup.accumulation
        assert last.trainers >= 1
        for change in each.changes:
            if change.key == "share":
                served = engine.of(change.setup, change.setup.rollout.tensor_parallel)
                assert served.share > served.weights
    if advice and advice.others:
        assert all(each.verdict.word == FITS for each in (advice, *advice.others))


def test_nothing_helps_is_only_said_where_no_setting_does() -> None:
    """What each of these settings alone makes fit, the search finds."""
    base = Setup(SEVEN, Hardware(1, 24 * GIB), strategy="single", weights="bfloat16", rollout=Rollout("colocate", 0.65))
    assert verdict_of(base).word == TOO_LARGE
    ways = {
        "none": replace(base, lora=Lora(16), rollout=Rollout("none")),
        "4 bit": replace(base, lora=Lora(16), bits=4, rollout=Rollout("none")),
    }
    assert any(verdict_of(each).word == FITS for each in ways.values())
    for start in (base, replace(base, lora=Lora(16)), replace(base, lora=Lora(16), weights="float32")):
        advice = advise(start)
        assert advice is not None
        assert advice.verdict.word == FITS


@pytest.mark.parametrize("lora", [None, Lora(16)])
@pytest.mark.parametrize("strategy", ["zero3", "zero2", "single"])
def test_a_strategy_that_shards_most_keeps_no_smaller_setting_from_being_found(
    strategy: str, lora: Lora | None
) -> None:
    """Where the plan itself chose the last resort, packed weights under a lesser one still fit a small card."""
    offload = strategy != "single"
    small = Hardware(1, 16 * GIB)
    setup = Setup(
        SEVEN, small, strategy=strategy, offload_optimizer=offload, offload_parameters=strategy == "zero3",
        lora=lora, weights="bfloat16", rollout=Rollout("colocate", 0.9),
    )  # fmt: skip
    assert verdict_of(setup).word == TOO_LARGE
    advice = advise(setup)
    assert advice is not None
    assert advice.verdict.word == FITS
    assert advice.changes[-1].setup.bits == 4


def test_what_only_may_fit_is_told_where_nothing_fits_surely(monkeypatch: pytest.MonkeyPatch) -> None:
    setup = Setup(SEVEN, Hardware(1, 16 * GIB), strategy="single", rollout=Rollout("none"))
    judged = search.verdict_of
    monkeypatch.setattr(
        search, "verdict_of", lambda each: replace(judged(each), word=UNSURE if each.lora else TOO_LARGE)
    )
    (told,) = search.cheapest(setup)
    assert told.verdict.word == UNSURE
    assert [each.key for each in told.changes] == ["lora"]


def test_combinations_come_in_the_order_of_their_price() -> None:
    moves = [[search.STAY, search.Move(0.3, "a"), search.Move(2, "b")], [search.STAY, search.Move(1, "c")]]
    prices = [sum(each.price for each in one) for one in search._in_order(moves)]
    assert prices == sorted(prices)
    assert len(prices) == len(moves[0]) * len(moves[1])


@pytest.mark.parametrize("name", list(cards.CARDS))
def test_cards_are_plausible(name: str) -> None:
    card = cards.CARDS[name]
    assert cards.named(name) == (name, card)
    assert 10_000 < card.mib < 310_000
    assert card.sources
    assert len(set(card.sources)) == len(card.sources)
    assert all(each.startswith("https://") for each in card.sources)
    assert card.gb_s is None or 100 < card.gb_s <= 8000
    rates = [each for each in (card.fp32, card.tf32, card.fp16, card.fp8) if each is not None]
    assert rates == sorted(rates)
    assert None in (card.bf16, card.fp16) or card.bf16 == card.fp16  # no card has other tensor cores for it
    assert card.bf16 is None or card.capability is None or card.capability >= (8, 0)
    assert card.fp8 is None or card.capability is None or card.capability >= (8, 9)


@pytest.mark.parametrize(
    ("written", "name"),
    [("NVIDIA GeForce RTX 4090", "RTX-4090"), ("a100-80gb", "A100"), ("Tesla T4", "T4"), ("rtx3090", "RTX-3090"),
     ("NVIDIA H100 80GB HBM3", "H100"), ("AMD Instinct MI300X", "MI300X"), ("910b", "Ascend-910B"),
     ("A6000", "RTX-A6000"), ("NVIDIA H20-3e", "H20-141GB")],
)  # fmt: skip
def test_cards_are_known_by_their_usual_names(written: str, name: str) -> None:
    found = cards.named(written)
    assert found is not None
    assert found[0] == name
