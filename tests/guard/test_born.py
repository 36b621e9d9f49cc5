"""What the guard says about a value that is not finite, with the place of its birth."""

from __future__ import annotations

import pytest

from doctor.monitors.guard.born import not_finite
from doctor.monitors.guard.locate import Birth


@pytest.mark.parametrize(
    ("birth", "words"),
    [
        (Birth("layers.3.mlp", "layers.3.mlp.up.weight", "nan", "parameter"), "layers.3.mlp.up.weight"),
        (Birth("norm", "norm.running_var", "nan", "buffer"), "norm.running_var"),
        (Birth(None, None, "nan", "input", (2,)), "batch"),
        (Birth("model.layers.0.self_attn", None, "inf", "activation", (0, 3)), "model.layers.0.self_attn"),
        (Birth("", None, "nan", "activation"), "`model`"),
        (Birth(None, None, "nan", "loss"), "outputs are finite"),
        (Birth("head", "head.weight", "nan", "gradient"), "head.weight"),
        (Birth(None, None, "nan", "gradient"), "backward"),
        (Birth(None, None, "nan", "loss or gradient"), "outputs are finite"),
        (None, "before the optimizer's step"),
    ],
)  # fmt: skip
def test_the_headline_names_the_place_in_both_languages(birth, words):
    finding = not_finite("grad_norm", "nan", 7, birth)
    assert words in finding.words("en").headline
    assert finding.words("en").headline.startswith("`grad_norm` is NaN at step 7")
    assert "第 7 步" in finding.words("zh").headline
    assert "None" not in f"{finding.words('en')} {finding.words('zh')} {[each.text for each in finding.evidence]}"
    assert finding.where.step == 7
    assert finding.where.module == ((birth.module or None) if birth else None)


def test_rows_and_rank_are_told():
    finding = not_finite("loss", None, 3, Birth("a", None, "inf", "activation", (0, 3), 1))
    assert finding.where.rank == 1
    assert "rows 0, 3" in finding.evidence[1].text
    assert "NaN/inf" in finding.words().headline
