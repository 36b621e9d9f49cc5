"""How reward functions read completions: only what is plain is told."""

from __future__ import annotations

import ast

import pytest

from doctor.readers.script.completion_reads import reads_of


def reads(body: str, parameters: str = "completions, **kwargs") -> tuple[str, ...]:
    indented = "\n".join(f"    {line}" for line in body.splitlines())
    (function,) = ast.parse(f"def reward({parameters}):\n{indented}\n").body
    assert isinstance(function, ast.FunctionDef)
    return reads_of(function)


@pytest.mark.parametrize(
    ("body", "kinds"),
    [
        ("return [len(c) for c in completions]", ("length",)),
        ("return list(map(len, completions))", ("length",)),
        ("return [float(-abs(20 - len(c))) for c in completions]", ("length",)),
        ("return [len(completions[i]) for i in range(8)]", ("length",)),
        ("out = []\nfor c, a in zip(completions, answer):\n    out.append(len(c) - len(a))\nreturn out", ("length",)),
        ("return [n * len(c) for n, c in enumerate(completions)]", ("length",)),
        ("return [float(bool(re.search(p, c))) for c in completions]", ("text",)),
        ("return [c.lower().startswith('a') for c in completions]", ("text",)),
        ("return [len(c.split()) for c in completions]", ("text",)),
        ("return [len(c[0]['content']) for c in completions]", ("message",)),
        ("texts = [c[-1]['content'] for c in completions]\nreturn [len(t) for t in texts]", ("message",)),
        # it looks at the form itself, or the names stand for something else
        ("return [len(c if isinstance(c, str) else c[0]['content']) for c in completions]", ()),
        ("completions = [c[0]['content'] for c in completions]\nreturn [len(c) for c in completions]", ()),
        ("out = []\nfor c in completions:\n    c = text_of(c)\n    out.append(len(c))\nreturn out", ()),
        ("try:\n    return [c.lower() for c in completions]\nexcept AttributeError:\n    return []", ()),
        ("return [score(c) for c in completions]", ()),
        ("return [0.0] * len(completions)", ()),
        ("return [len(p) for p in prompts]", ()),
    ],
)
def test_kinds(body: str, kinds: tuple[str, ...]) -> None:
    assert reads(body) == kinds


def test_a_function_without_completions_reads_none() -> None:
    assert reads("return [len(c) for c in texts]", "texts, **kwargs") == ()
