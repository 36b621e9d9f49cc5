"""Idioms about what a loss is made of: signs, gradients that are cut off, tokens that are paired wrongly."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from doctor.base.patterns import later
from doctor.readers.script.flow.events import Event
from doctor.readers.script.flow.program import named, text_of
from doctor.readers.script.flow.roles import losses
from doctor.readers.script.flow.seen import Met, Script
from doctor.readers.script.flow.signs import (
    ADVANTAGE,
    CHOSEN,
    DETACHED,
    KL,
    LOGP,
    REJECTED,
    CannotTellError,
    Signs,
    Term,
    is_divergence,
    is_policys,
    is_reference,
    is_reward,
)
from doctor.readers.script.flow.values import At

_SCORES = frozenset({"gather", "selective_log_softmax", "cross_entropy", "nll_loss"})
#: calls that add no graph of their own to a value
_PLAIN = frozenset({
    "mean", "sum", "exp", "log", "clamp", "view", "reshape", "squeeze", "unsqueeze", "gather", "log_softmax", "softmax",
    "float", "to", "detach", "cuda", "cpu", "size", "next", "iter", "tok", "tokenizer", "len", "range", "enumerate",
    "zip", "DataLoader", "from_pretrained", "stack", "cat", "tensor", "flatten", "masked_fill", "item", "min", "max",
    "contiguous", "transpose", "logsigmoid", "std", "abs", "pow", "square", "expand", "clone", "items", "load_dataset",
})  # fmt: skip
_MASKS = later(r"(?i)mask|label|pad|ignore_index|prompt_?len|prefix|completion_?len|start")
_CLASSES = later(r"^(?:from_pretrained|from_config)$|ForCausalLM$|LMHeadModel$")


def makings_of_loss(script: Script) -> Iterator[Met]:
    """All idioms of this file."""
    signs = Signs(script.values, script.roles)
    found = [(event, at, events) for events in script.runs for event, at in losses(events)]
    for event, loss, events in found:
        yield from _wrong_sign(signs, event, loss)
        yield from _cut_off(signs, event, loss)
        yield from _no_graph(script, loss)
        yield from _always_one(script, loss, events)
        yield from _prompt_in_loss(script, signs, loss, events)
        yield from _unshifted(script, loss)
    yield from _shifted_twice(script)
    yield from _shifted_in_rows(script)


def _wrong_sign(signs: Signs, event: Event, loss: At) -> Iterator[Met]:
    if _divergence_as_reward(signs, loss):
        yield Met("divergence_rewarded", event.call, {"loss": text_of(loss.node) or "loss"})
        return
    try:
        terms = signs.of(loss)
    except CannotTellError:
        return
    rewarded = {term.sign for term in terms if {LOGP, ADVANTAGE} <= term.factors and KL not in term.factors}
    if rewarded == {1}:  # of both signs: one of them is of another policy, whatever it is called
        yield Met("reward_descended", event.call, {"loss": text_of(loss.node) or "loss"})
        return
    for term in terms:
        if KL in term.factors and ADVANTAGE not in term.factors and term.sign < 0:
            yield Met("divergence_rewarded", event.call, {"loss": text_of(loss.node) or "loss"})
            return
    if _prefers_rejected(terms):
        yield Met("rejected_preferred", event.call, {"loss": text_of(loss.node) or "loss"})


def _divergence_as_reward(signs: Signs, loss: At) -> bool:
    """Whether what a policy is rewarded for is a sum to which the divergence from its reference is added."""
    for each in signs.values.made_of(loss.node, loss.stack):
        held = list(signs.values.held(each)) if isinstance(each.node, ast.Name) and is_reward(each.node.id) else []
        if len(held) != 1 or not isinstance(held[0].node, ast.BinOp):
            continue
        names = [one for one in ast.walk(held[0].node) if isinstance(one, ast.Name) and is_divergence(one.id)]
        made = [at for name in names for at in signs.values.held(At(name, held[0].stack))]
        if len(names) == 1 and made and _is_added(held[0].node, names[0]):
            return all(_policy_first(signs, at) for at in made)
    return False


def _is_added(node: ast.AST, name: ast.Name) -> bool:
    """Whether an expression of plain sums and products rises with a name; False where it cannot be told."""
    if node is name:
        return True
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, (ast.Add, ast.Sub, ast.Mult)):
        return False
    inside = node.left if any(each is name for each in ast.walk(node.left)) else node.right
    other = node.right if inside is node.left else node.left
    if isinstance(node.op, ast.Mult):
        return isinstance(other, (ast.Constant, ast.Name, ast.Attribute)) and _is_added(inside, name)
    return _is_added(inside, name) and (isinstance(node.op, ast.Add) or inside is node.left)


def _policy_first(signs: Signs, made: At) -> bool:
    """Whether a divergence is the policy's log probability less the reference's."""
    for node in ast.walk(made.node):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
            left = [one.id for one in ast.walk(node.left) if isinstance(one, ast.Name)]
            right = [at.node for at in signs.values.made_of(node.right, made.stack)]
            given = [arg for one in right if isinstance(one, ast.Call) for arg in one.args]
            of_reference = any(isinstance(one, ast.Name) and is_reference(one.id) for one in (*right, *given))
            return of_reference and any(map(is_policys, left)) and not any(map(is_reference, left))
    return False


def _prefers_rejected(terms: Sequence[Term]) -> bool:
    """Whether a loss of pairs falls with the rejected answer's log probability and rises with the chosen one's."""
    chosen = {t.sign for t in terms if CHOSEN in t.factors}
    rejected = {t.sign for t in terms if REJECTED in t.factors}
    return chosen == {1} and rejected == {-1}


def _ratios(script: Script, loss: At) -> Iterator[tuple[At, ast.BinOp, At]]:
    """`exp(a - b)` that a loss is made of: the call, the difference and where it stands."""
    for each in script.values.made_of(loss.node, loss.stack):
        if not (isinstance(each.node, ast.Call) and named(each.node) == "exp"):
            continue
        call = each.node
        inside = call.args[0] if call.args else call.func.value if isinstance(call.func, ast.Attribute) else None
        held = [At(inside, each.stack)] if inside is not None else []
        if isinstance(inside, ast.Name):
            held = list(script.values.held(held[0]))
        if len(held) == 1 and isinstance(held[0].node, ast.BinOp) and isinstance(held[0].node.op, ast.Sub):
            yield each, held[0].node, held[0]


def _cut_off(signs: Signs, event: Event, loss: At) -> Iterator[Met]:
    """Probabilities that no gradient passes, and which are all that the advantage is multiplied with."""
    try:
        terms = [each for each in signs.of(loss) if ADVANTAGE in each.factors]
    except CannotTellError:
        return
    if terms and all(DETACHED in each.factors and LOGP not in each.factors for each in terms):
        yield Met("ratio_without_gradient", event.call, {"loss": text_of(loss.node) or "loss"})


def _no_graph(script: Script, loss: At) -> Iterator[Met]:
    """A loss whose models all ran without recording a graph."""
    ran = list(script.roles.forwards(loss))
    if not ran or list(script.roles.forwards(loss, trained=True)) or "enable_grad" in script.text:
        return
    if all(script.roles.in_no_grad(each.node, each.stack) for each in ran) and is_all_known(script, loss):
        step = script.values.step(ran[0].node)
        node = ran[0].node if step is None else step.node
        yield Met("loss_without_graph", node, {"loss": text_of(loss.node) or "loss"})


def is_all_known(script: Script, loss: At) -> bool:
    """Whether nothing else that a loss is made of may have a graph: no call that is neither known nor a model's."""
    for each in script.values.made_of(loss.node, loss.stack):
        node = each.node
        if not isinstance(node, ast.Call) or script.values.function(node) is not None:
            continue
        base = text_of(node.func.value).partition(".")[0] if isinstance(node.func, ast.Attribute) else ""
        if named(node) not in _PLAIN and base not in {"torch", "F", "nn"} and not script.roles.is_forward(node):
            return False
    return True


def _always_one(script: Script, loss: At, events: Sequence[Event]) -> Iterator[Met]:
    """Old log probabilities that are computed anew by the same weights in the turn that uses them."""
    for ratio, difference, at in _ratios(script, loss):
        step = script.values.step(ratio.node)
        if step is None or "old" not in ast.unparse(difference.right).lower():
            continue
        sides = [list(script.roles.forwards(At(each, at.stack))) for each in (difference.left, difference.right)]
        if not all(sides):
            continue
        new, old = sides[0][0], sides[1][0]
        loops = _loops(script, new)
        if new == old or len(loops) < 2 or loops != _loops(script, old) or not _is_turns(loops[-1]):
            continue
        if not isinstance(new.node, ast.Call) or not isinstance(old.node, ast.Call):
            continue
        if not script.same(At(new.node.func, new.stack), At(old.node.func, old.stack)):
            continue
        if any(event.name == "generate" and loops[-1] in event.loops for event in events):
            continue
        yield Met("ratio_always_one", ratio.node, {"ratio": ast.unparse(difference)})
        return


def _loops(script: Script, at: At) -> tuple[ast.AST, ...]:
    """Loops around a node with those of the calls that led to it."""
    found: list[ast.AST] = []
    for each in (*at.stack, at.node):
        step = script.values.step(each)
        found += [loop for loop in (step.loops if step is not None else ()) if loop not in found]
    return tuple(found)


def _is_turns(loop: ast.AST) -> bool:
    """`for _ in range(epochs)`: turns over the same data, more than one."""
    if not isinstance(loop, ast.For) or not isinstance(loop.iter, ast.Call) or named(loop.iter) != "range":
        return False
    return not (isinstance(loop.iter.args[-1], ast.Constant) and loop.iter.args[-1].value == 1)


def _prompt_in_loss(script: Script, signs: Signs, loss: At, events: Sequence[Event]) -> Iterator[Met]:
    """Log probabilities of prompt and answer together that an advantage is multiplied with."""
    if not any(event.name == "generate" for event in events):
        return
    try:
        terms = signs.of(loss)
    except CannotTellError:
        return
    if not any({LOGP, ADVANTAGE} <= each.factors for each in terms):
        return
    nodes = list(script.values.made_of(loss.node, loss.stack))
    scored = [at for at in nodes if isinstance(at.node, ast.Call) and named(at.node) in _SCORES]
    whole = [at for at in nodes if isinstance(at.node, ast.Call) and named(at.node) == "generate"]
    if not scored or not whole:
        return

    def is_behind(node: ast.AST, _: object) -> bool:
        return isinstance(node, ast.Call) and (named(node) == "generate" or script.roles.is_forward(node))

    if any(_is_cut(each.node) for each in script.values.made_of(loss.node, loss.stack, is_behind)):
        return
    yield Met("prompt_in_policy_loss", scored[0].node, {"loss": text_of(loss.node) or "loss"})


def _is_cut(node: ast.AST) -> bool:
    """Whether a node takes a part of a sequence other than all but its first or last token, or a mask."""
    if isinstance(node, (ast.Name, ast.Attribute, ast.keyword)):
        text = node.arg or "" if isinstance(node, ast.keyword) else text_of(node).rpartition(".")[2]
        return text != "attention_mask" and _MASKS.search(text) is not None
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and node.value != "attention_mask" and _MASKS.search(node.value) is not None
    if isinstance(node, ast.Subscript):
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return any(isinstance(each, ast.Slice) and not _is_shift(each) for each in parts)
    return False


def _is_shift(part: ast.Slice) -> bool:
    text = ast.unparse(part)
    return text in {":", ":-1", "1:"}


def _shift_of(script: Script, node: ast.AST, stack: tuple[ast.Call, ...] = ()) -> str:
    """`:-1` or `1:` where that is what an expression was cut by; "" for neither, "?" for something else."""
    found = ""
    for each in script.values.made_of(node, stack, _at_calls):
        if isinstance(each.node, ast.Call) and named(each.node) in {"roll", "shift_tokens_right", "cat", "pad"}:
            return "?"
        if isinstance(each.node, ast.Subscript):
            parts = each.node.slice.elts if isinstance(each.node.slice, ast.Tuple) else [each.node.slice]
            for part in parts:
                if isinstance(part, ast.Slice) and (text := ast.unparse(part)) != ":":
                    if found and found != text:
                        return "?"
                    found = text
    return found


def _at_calls(node: ast.AST, _: object) -> bool:
    """What a shift is not looked for behind."""
    return isinstance(node, ast.Call) and named(node) in {"generate", "model", "from_pretrained"}


def _shifted_twice(script: Script) -> Iterator[Met]:
    """Labels one token ahead that are given to a model which moves them itself."""
    for call in script.values.program.calls:
        given = {each.arg: each.value for each in call.keywords if each.arg}
        if "labels" not in given or not script.roles.is_forward(call):
            continue
        ids = given.get("input_ids", call.args[0] if call.args else None)
        if ids is None or not any(_CLASSES.search(named(each)) for each in script.values.program.calls):
            continue
        if _shift_of(script, given["labels"]) == "1:" and _shift_of(script, ids) == ":-1":
            yield Met("shifted_twice", call, {"labels": ast.unparse(given["labels"])})
            return


def _shifted_in_rows(script: Script) -> Iterator[Met]:
    """Rows whose labels are moved by one, for a model that is called with all of a row."""
    whole = any(
        named(e) in {"model", "Trainer"} and any(k.arg is None for k in e.keywords) for e in script.values.program.calls
    )
    if not whole or "labels=" in script.text or not any(_CLASSES.search(named(e)) for e in script.values.program.calls):
        return
    for node in ast.walk(script.values.program.tree):
        if not isinstance(node, ast.Dict):
            continue
        pairs = [(k.value, v) for k, v in zip(node.keys, node.values, strict=True) if isinstance(k, ast.Constant)]
        values = dict(pairs)
        if not {"labels", "input_ids"} <= set(values) or _shift_of(script, values["input_ids"]):
            continue
        for each in script.values.made_of(values["labels"]):
            if isinstance(each.node, ast.BinOp) and isinstance(each.node.op, ast.Add) and _moves(each.node):
                yield Met("shifted_twice", each.node, {"labels": ast.unparse(each.node)})
                return


def _moves(node: ast.BinOp) -> bool:
    """`tokens[1:] + [-100]`."""
    left, right = node.left, node.right
    cut = isinstance(left, ast.Subscript) and isinstance(left.slice, ast.Slice) and ast.unparse(left.slice) == "1:"
    return cut and isinstance(right, ast.List) and len(right.elts) == 1 and ast.unparse(right.elts[0]) == "-100"


def _unshifted(script: Script, loss: At) -> Iterator[Met]:
    """Logits that are held against the tokens that they were computed from."""
    if any(word in script.text for word in ("mask_token", "MaskedLM", "T5", "Seq2Seq")):
        return  # a model that may see the token which it predicts
    for each in script.values.made_of(loss.node, loss.stack):
        call = each.node
        if not isinstance(call, ast.Call) or named(call) not in {"cross_entropy", "nll_loss"} or len(call.args) < 2:
            continue
        logits, tokens = At(call.args[0], each.stack), At(call.args[1], each.stack)
        forwards = list(script.roles.forwards(logits))
        if len(forwards) != 1 or _shift_of(script, tokens.node, tokens.stack) or _cuts(script, logits):
            continue
        ids = _tokens_given(forwards[0])
        if ids is not None and _same_tokens(script, ids, tokens):
            yield Met("token_predicts_itself", call, {"tokens": ast.unparse(tokens.node)})
            return


def _tokens_given(forward: At) -> At | None:
    """The tokens that a model is called with."""
    node = forward.node
    if not isinstance(node, ast.Call):
        return None
    ids = next((each.value for each in node.keywords if each.arg == "input_ids"), node.args[0] if node.args else None)
    return At(ids, forward.stack) if ids is not None else None


def _cuts(script: Script, logits: At) -> bool:
    """Whether logits are cut between the model and the loss."""

    def is_model(node: ast.AST, _: object) -> bool:
        return isinstance(node, ast.Call) and script.roles.is_forward(node)

    return any(isinstance(e.node, ast.Subscript) for e in script.values.made_of(logits.node, logits.stack, is_model))


def _same_tokens(script: Script, ids: At, tokens: At) -> bool:
    """Whether tokens are made of the very expression that the model is given."""
    kinds = (ast.Name, ast.Attribute, ast.Subscript)
    if not isinstance(ids.node, kinds):
        return False
    text = ast.unparse(ids.node)
    nodes = (each.node for each in script.values.made_of(tokens.node, tokens.stack))
    return any(isinstance(each, kinds) and ast.unparse(each) == text for each in nodes)
