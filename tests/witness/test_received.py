"""What an engine's own process sees of the weights that it is sent, with runners and models of vLLM's shape."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from doctor.monitors.guard import shield  # noqa: E402
from doctor.monitors.witness import received, witness  # noqa: E402
from doctor.monitors.witness.inside import LocalLlm  # noqa: E402

LAYERS, EXPERTS, WIDE, KEYS, INNER, WORDS = 5, 4, 16, 4, 12, 40
_EXPERT = re.compile(r"(.*\.experts)\.(\d+)\.(gate|up|down)_proj\.weight")
_ROWS = {"q_proj": (0, WIDE), "k_proj": (WIDE, WIDE + KEYS), "v_proj": (WIDE + KEYS, WIDE + 2 * KEYS),
         "gate_proj": (0, INNER), "up_proj": (INNER, 2 * INNER)}  # fmt: skip


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    monkeypatch.setenv("DOCTOR_RUN_DIR", str(tmp_path))
    monkeypatch.setenv("DOCTOR_GUARD_LANG", "en")
    monkeypatch.setattr(shield, "_failed", set())
    monkeypatch.chdir(tmp_path)


def checkpoint(seed: int) -> dict:
    """Weights under the names of a checkpoint: two layers of experts behind three plain ones."""
    source = torch.Generator().manual_seed(seed)
    made = {"model.embed_tokens.weight": (WORDS, WIDE)}
    for layer in range(LAYERS):
        root = f"model.layers.{layer}"
        made[f"{root}.self_attn.q_proj.weight"] = (WIDE, WIDE)
        made[f"{root}.self_attn.k_proj.weight"] = made[f"{root}.self_attn.v_proj.weight"] = (KEYS, WIDE)
        inner = [f"{root}.mlp"] if layer < 3 else [f"{root}.mlp.experts.{each}" for each in range(EXPERTS)]
        for each in inner:
            made[f"{each}.gate_proj.weight"] = made[f"{each}.up_proj.weight"] = (INNER, WIDE)
            made[f"{each}.down_proj.weight"] = (WIDE, INNER)
        made[f"{root}.input_layernorm.weight"] = (WIDE,)
    made |= {"model.norm.weight": (WIDE,), "lm_head.weight": (WORDS, WIDE)}
    return {name: torch.randn(*shape, generator=source) for name, shape in made.items()}


def _kind(fused: str, name: str) -> str:
    return "" if fused == name else "qkv" if ".qkv_proj." in fused else "gate"


class Model(torch.nn.Module):
    """vLLM's layout and its way to load: each part of a fused tensor is copied to its rows."""

    def __init__(self, fault: str = "", dtype=torch.float32, parts: int = 1) -> None:
        super().__init__()
        self.fault, self.loads, self.held, self.parts = fault, 0, {}, parts
        for name, tensor in checkpoint(0).items():
            expert = _EXPERT.fullmatch(name)
            if expert is not None:
                kind, rows = ("w2_weight", WIDE) if expert[3] == "down" else ("w13_weight", 2 * INNER)
                self.held.setdefault(f"{expert[1]}.{kind}", torch.zeros(EXPERTS, rows, tensor.shape[1]).to(dtype))
                continue
            fused = self._fused(name)
            rows = {"": tensor.shape[0], "qkv": WIDE + 2 * KEYS, "gate": 2 * INNER}[_kind(fused, name)]
            self.held.setdefault(fused, torch.zeros(rows // parts, *tensor.shape[1:]).to(dtype))

    @staticmethod
    def _fused(name: str) -> str:
        return re.sub(r"\b(?:gate|up)_proj", "gate_up_proj", re.sub(r"\b[qkv]_proj", "qkv_proj", name))

    def named_parameters(self, *_, **__):
        yield from self.held.items()

    def load_weights(self, weights) -> set:
        names = set()
        for name, tensor in weights:
            self.loads += name == "model.embed_tokens.weight"
            names.add(name)
            if not self._is_lost(name):
                self._copy(name, tensor)
        return names

    def _is_lost(self, name: str) -> bool:
        return (
            (self.fault == "layer" and self.loads > 1 and ".layers.1." in name)
            or (self.fault == "layer-always" and ".layers.1." in name)
            or (self.fault == "head" and self.loads > 1 and name == "lm_head.weight")
            or (self.fault == "halves-of-one" and self.loads > 1 and "layers.2.mlp.up_proj" in name)
        )

    def _copy(self, name: str, tensor) -> None:
        expert = _EXPERT.fullmatch(name)
        part = re.search(r"\.(\w+_proj)\.weight", name)
        if expert is not None:
            number = int(expert[2])
            if self.fault == "experts" and self.loads > 1:
                number = (number + 1) % EXPERTS
            kind = "w2_weight" if expert[3] == "down" else "w13_weight"
            start, end = (0, WIDE) if expert[3] == "down" else _ROWS[f"{expert[3]}_proj"]
            if self.fault == "kernel" and expert[3] != "down":  # gate below up, as some kernels want it
                start, end = (INNER, 2 * INNER) if expert[3] == "gate" else (0, INNER)
            self.held[f"{expert[1]}.{kind}"][number][start:end].copy_(tensor)
        elif self.parts > 1:
            held = self.held[self._fused(name)]
            held.copy_(held)  # its rank's rows of it
        elif part is not None and part[1] in _ROWS and self._fused(name) != name:
            start, end = _ROWS[part[1]]
            self.held[self._fused(name)][start:end].copy_(tensor)
        else:
            self.held[name].copy_(tensor)


class Other(torch.nn.Module):
    """A model without weights, which loads by a function of ours."""

    def __init__(self, loads) -> None:
        super().__init__()
        self.load_weights = loads


def runner(model, module: str = "GPUModelRunner", computes: str = "execute_model", *, balances: bool = False):
    """An engine whose runner has loaded its model."""

    def load_model(self) -> None:
        self.model = model

    def compute(self, scheduled):
        return f"computed {scheduled}" if self.model is model else ""

    settings = SimpleNamespace(enable_eplb=balances)
    kind = type(
        module,
        (),
        {
            "parallel_config": settings,
            "load_model": load_model,
            computes: compute,
            "get_model": lambda self: self.model,
        },
    )
    received.runners(SimpleNamespace(**{module: kind}), module, "load_model", computes)
    made = kind()
    made.load_model()
    return made


def pushed(engine, seeds, *, how: str = "list", computes: str = "execute_model") -> None:
    """Send the weights of each seed, and have the engine compute behind each push."""
    for seed in seeds:
        weights = checkpoint(seed)
        if how == "list":
            assert engine.model.load_weights(list(weights.items())) == set(weights)
        elif how == "stream":
            assert engine.model.load_weights(iter(weights.items())) == set(weights)
        elif how == "one by one":
            for each in weights.items():
                engine.model.load_weights(weights=[each])
        elif how == "buckets":
            names = list(weights)
            for at in range(0, len(names), 7):
                engine.model.load_weights((name, weights[name]) for name in names[at : at + 7])
        assert getattr(engine, computes)(seed) == f"computed {seed}"


def rounds(folder: Path) -> list:
    lines = [json.loads(line) for each in folder.glob("events/*") for line in each.read_text().splitlines()]
    return [each["data"] for each in lines if each["data"].get("witness") == "received"]


@pytest.mark.parametrize("how", ["list", "stream", "one by one", "buckets"])
@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("", ""),
        ("layer", "Push 2: 1 of 5 layers in the engine are still those of push 1"),
        ("layer-always", "Push 1: 7 of "),
        ("head", "Push 2: 1 of "),
        ("experts", "Push 2: experts 0 to 3 of layer 3 are swapped in the engine"),
        ("halves-of-one", "Push 2: 1 of "),
    ],
)
def test_what_does_not_arrive_is_named_and_the_engine_computes_on(how, fault, said, capsys, tmp_path) -> None:
    engine = runner(Model(fault))
    pushed(engine, [1, 2], how=how)
    text = capsys.readouterr().err
    assert text.count("WIT9046: Push") == bool(fault)
    assert said in text
    assert [each["push"] for each in rounds(tmp_path)] == [1, 2]
    assert "execute_model" not in vars(engine)


@pytest.mark.parametrize("fault", ["kernel"])
def test_what_an_engine_always_keeps_otherwise_is_no_fault(fault, capsys, tmp_path) -> None:
    pushed(runner(Model(fault)), [1, 2, 3])
    assert capsys.readouterr().err == ""
    assert any("gate_proj" in each for each in rounds(tmp_path)[-1]["otherwise"])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_another_precision_of_the_engine_is_no_fault(dtype, capsys, tmp_path) -> None:
    pushed(runner(Model(dtype=dtype)), [1, 2, 3])
    assert capsys.readouterr().err == ""
    assert rounds(tmp_path)[0]["compared"] > 30


def test_what_is_quantised_or_of_one_rank_is_not_compared(capsys, tmp_path) -> None:
    pushed(runner(Model(dtype=torch.int8)), [1, 2])
    pushed(runner(Model(parts=2)), [1, 2])
    assert capsys.readouterr().err == ""
    assert all(each["different"] == [] for each in rounds(tmp_path))


def test_experts_that_the_engine_moves_itself_are_not_compared(capsys, tmp_path) -> None:
    pushed(runner(Model("experts"), balances=True), [1, 2, 3])
    assert capsys.readouterr().err == ""
    assert all(each["compared"] > 20 and not each["different"] for each in rounds(tmp_path))


def test_sglangs_runner_is_watched_too(capsys) -> None:
    pushed(runner(Model("layer"), "ModelRunner", "forward"), [1, 2], computes="forward")
    assert "Push 2: 1 of 5 layers" in capsys.readouterr().err


def test_after_the_first_pushes_every_fiftieth_is_looked_at(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(witness, "MOST_SHARE", 1e9)  # how busy the cores are is not tested here
    pushed(runner(Model()), range(120))
    assert [each["push"] for each in rounds(tmp_path)] == [1, 2, 3, 4, 5, 55, 105]


def test_what_costs_too_much_waits(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(witness, "MOST_SHARE", 0.0)
    pushed(runner(Model()), range(120))
    assert [each["push"] for each in rounds(tmp_path)] == [1, 2, 3, 4, 5]


def test_a_witness_that_is_switched_off_stands_around_nothing(monkeypatch) -> None:
    monkeypatch.setenv("DOCTOR_GUARD_WITNESS", "no")
    engine = runner(Model())
    assert "load_weights" not in vars(engine.model)
    pushed(engine, [1])


def test_a_trainer_in_the_same_process_compares_the_weights_itself(capsys, tmp_path) -> None:
    engine = runner(Model("layer"))
    worker = SimpleNamespace(model_runner=engine)
    executor = SimpleNamespace(model_executor=SimpleNamespace(driver_worker=worker))
    LocalLlm(SimpleNamespace(llm_engine=executor)).open()
    pushed(engine, [1, 2])
    assert rounds(tmp_path) == []
    assert capsys.readouterr().err == ""


def test_an_adapter_and_what_is_no_tensor_are_passed_on(capsys, tmp_path) -> None:
    engine = runner(Other(list))
    sent = [("a.lora_A.weight", torch.ones(2, 2)), ("b", "no tensor"), ("c", torch.ones(2, 2, device="meta"))]
    assert engine.model.load_weights(sent) == sent
    assert engine.model.load_weights("xy") == ["x", "y"]
    assert engine.execute_model(1) == "computed 1"
    assert rounds(tmp_path) == []
    assert capsys.readouterr().err == ""


def test_what_the_model_raises_comes_through_and_a_fault_of_ours_does_not(monkeypatch, capsys) -> None:
    def fails(_weights) -> None:
        raise KeyError("layers.9")

    with pytest.raises(KeyError, match=r"layers\.9"):
        runner(Other(fails)).model.load_weights([])
    engine = runner(Model())
    monkeypatch.setattr(received, "pieces", lambda *_: 1 / 0)
    pushed(engine, [1, 2])
    assert capsys.readouterr().err.count("failed and is switched off") == 1
