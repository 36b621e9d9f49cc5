"""Idioms about the rows that a run sees: lists that lose their order, texts with their prompts, sets that overlap."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from doctor.base.patterns import later
from doctor.readers.script.flow.events import Event
from doctor.readers.script.flow.program import Definition, named, text_of
from doctor.readers.script.flow.roles import losses
from doctor.readers.script.flow.seen import Met, Script
from doctor.readers.script.flow.values import At

_REWARDS = later(r"(?i)reward|score|grade|verif|judge")
_CUTS = frozenset({
    "split", "rsplit", "partition", "rpartition", "replace", "removeprefix", "find", "rfind", "index", "sub",
})  # fmt: skip
_DECODES = frozenset({"batch_decode", "decode"})
_TAKES = frozenset({"select", "train_test_split", "filter", "skip", "take", "shard", "random_split", "Subset"})
_ORDERS = frozenset(
    {"shuffle", "sample", "permutation", "randperm", "random_split", "train_test_split", "RandomSampler"}
)
_MAKES_TOKENIZER = later(r"^from_pretrained$|Tokenizer(?:Fast)?$")
#: names that every list may be made of
_OF_PYTHON = frozenset({"range", "list", "zip", "len", "str", "map", "enumerate", "sorted"})
_PLURAL = later(r"(?i)(?:prompts|texts|questions|queries|inputs|batch)$")


def rows_of_run(script: Script) -> Iterator[Met]:
    """All idioms of this file."""
    for events in script.runs:
        yield from _prompt_rewarded(script, events)
        yield from _right_padding(script, events)
        yield from _sorted(script, events)
    yield from _cut_short(script)
    yield from _one_shuffled(script)
    yield from _evaluated_on_training(script)
    yield from _padding_in_labels(script)
    yield from _state_left(script)


def _prompt_rewarded(script: Script, events: Sequence[Event]) -> Iterator[Met]:
    """Answers that are decoded with their prompts before a reward reads them."""
    for event in events:
        if not _REWARDS.search(event.name) or event.name in _DECODES or not event.call.args:
            continue
        function = script.values.function(event.call)
        if function is None or any(_cuts(each) for each in ast.walk(function)):
            continue
        for argument in event.call.args:
            nodes = list(script.values.made_of(argument, event.stack))
            decoded = [at for at in nodes if isinstance(at.node, ast.Call) and named(at.node) in _DECODES]
            made = [at for at in nodes if isinstance(at.node, ast.Call) and named(at.node) == "generate"]
            if decoded and made and not any(_cuts(each.node) for each in nodes) and not _is_encoder(script):
                yield Met("reward_reads_prompt", decoded[0].node, {"function": event.name})
                return


def _cuts(node: ast.AST) -> bool:
    """Whether a node takes a part of a text or a sequence."""
    if isinstance(node, ast.Call) and named(node) in _CUTS:
        return True
    if isinstance(node, ast.Name) and "completion" in node.id.lower():
        return True
    if not isinstance(node, ast.Subscript):
        return False
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return any(isinstance(each, ast.Slice) and ast.unparse(each) not in {":", ":-1"} for each in parts)


def _is_encoder(script: Script) -> bool:
    """Whether the model gives its answers alone: one with an encoder, or an engine."""
    words = ("Seq2Seq", "T5", "Bart", "vllm", "sglang", "inputs_embeds", "return_full_text")
    return any(word in script.text for word in words)


def _right_padding(script: Script, events: Sequence[Event]) -> Iterator[Met]:
    """Prompts that are padded on the right before a decoder writes on behind the padding."""
    if ("padding_side" in script.text and not _sets_right(script)) or _is_encoder(script):
        return
    for event in events:
        if event.name != "generate" or not isinstance(event.call.func, ast.Attribute):
            continue
        given = [*event.call.args, *(each.value for each in event.call.keywords)]
        for argument in given:
            for at in script.values.made_of(argument, event.stack):
                if isinstance(at.node, ast.Call) and _pads_several(at.node) and _is_made_here(script, at):
                    yield Met("right_padding_in_generation", at.node, {"tokenizer": text_of(at.node.func)})
                    return


def _is_made_here(script: Script, at: At) -> bool:
    """Whether this file makes the tokenizer of a call: another module may have set its side."""
    func = at.node.func  # type: ignore[attr-defined]
    made = script.roles.origins(At(func, at.stack)) if isinstance(func, (ast.Name, ast.Attribute)) else None
    return bool(made) and all(_MAKES_TOKENIZER.search(named(each.call)) for each in made or ())


def _sets_right(script: Script) -> bool:
    """Whether the padding side is set, and to the right each time."""
    found = [each.value for each in ast.walk(script.values.program.tree) if _names_side(each)]  # type: ignore[attr-defined]
    return bool(found) and all(isinstance(each, ast.Constant) and each.value == "right" for each in found)


def _names_side(node: ast.AST) -> bool:
    if isinstance(node, ast.Assign):
        return any(text_of(each).endswith("padding_side") for each in node.targets)
    return isinstance(node, ast.keyword) and node.arg == "padding_side"


def _pads_several(call: ast.Call) -> bool:
    """Whether a tokenizer pads several texts of different lengths."""
    if "tok" not in text_of(call.func).lower() and "processor" not in text_of(call.func).lower():
        return False
    pads = any(each.arg == "padding" and _is_on(each.value) for each in call.keywords)
    if not pads or not call.args or any(each.arg == "padding_side" for each in call.keywords):
        return False
    first = call.args[0]
    name = text_of(first).rpartition(".")[2]
    return isinstance(first, (ast.List, ast.ListComp)) or (bool(name) and _PLURAL.search(name) is not None)


def _is_on(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value in (True, "longest", "max_length")


def _sorted(script: Script, events: Sequence[Event]) -> Iterator[Met]:
    """A loader of training rows that are sorted, and are never mixed."""
    for event, _ in losses(list(events)):
        for loop in event.loops:
            if not isinstance(loop, ast.For):
                continue
            nodes = list(script.values.made_of(loop.iter, event.stack))
            loaders = [e for e in nodes if isinstance(e.node, ast.Call) and named(e.node) == "DataLoader"]
            orders = [e for e in nodes if isinstance(e.node, ast.Call) and named(e.node) in {"sorted", "sort"}]
            orders += [e for e in nodes if isinstance(e.node, ast.Name) and _sorted_in_place(script, e.node)]
            mixes = any(isinstance(e.node, ast.Call) and named(e.node) in _ORDERS for e in nodes)
            if loaders and orders and not mixes and not _mixes(loaders[0].node) and not _shuffled_in_place(script):
                yield Met("sorted_rows_not_shuffled", loaders[0].node)
                return


def _sorted_in_place(script: Script, name: ast.Name) -> bool:
    calls = script.values.program.calls
    return any(
        named(c) == "sort" and isinstance(c.func, ast.Attribute) and text_of(c.func.value) == name.id for c in calls
    )


def _shuffled_in_place(script: Script) -> bool:
    return any(named(each) in {"shuffle", "set_epoch"} for each in script.values.program.calls)


def _mixes(loader: ast.AST) -> bool:
    """Whether a loader draws its rows in another order than theirs, or may."""
    if not isinstance(loader, ast.Call):
        return True
    for each in loader.keywords:
        if each.arg in {"sampler", "batch_sampler", None}:
            return True
        if each.arg == "shuffle" and not (isinstance(each.value, ast.Constant) and each.value.value is False):
            return True
    return len(loader.args) > 2


def _cut_short(script: Script) -> Iterator[Met]:
    """`zip` of answers, of which there are several a prompt, with a list that has one entry a prompt."""
    for call in script.values.program.calls:
        if named(call) != "zip" or len(call.args) < 2 or any(each.arg == "strict" for each in call.keywords):
            continue
        sides = [list(script.values.made_of(each)) for each in call.args]
        many = [number for number, side in enumerate(sides) if any(_is_several(each.node) for each in side)]
        if not many or len(many) == len(sides):
            continue
        for number, side in enumerate(sides):
            if (
                number not in many
                and not any(_repeats(each.node) for each in side)
                and _is_of_prompts(call.args[number])
            ):
                yield Met(
                    "pairs_cut_short",
                    call,
                    {"answers": ast.unparse(call.args[many[0]]), "other": ast.unparse(call.args[number])},
                )
                return


def _is_several(node: ast.AST) -> bool:
    """`generate(num_return_sequences=4)`."""
    if not isinstance(node, ast.Call) or named(node) != "generate":
        return False
    given = next((each.value for each in node.keywords if each.arg == "num_return_sequences"), None)
    return given is not None and not (isinstance(given, ast.Constant) and given.value == 1)


def _repeats(node: ast.AST) -> bool:
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        return len(node.generators) > 1
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Mult)
    return isinstance(node, ast.Call) and named(node) in {
        "repeat",
        "repeat_interleave",
        "generate",
        "extend",
        "range",
        "append",
    }


def _is_of_prompts(node: ast.expr) -> bool:
    name = text_of(node).rpartition(".")[2].lower()
    key = str(node.slice.value) if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) else ""
    return any(
        word in (name, key) or (key or name).endswith("s") for word in ("answer", "target", "solution", "prompt")
    )


def _one_shuffled(script: Script) -> Iterator[Met]:
    """One of two lists that belong together is put into another order."""
    mixed = {
        text_of(call.args[0]): call for call in script.values.program.calls
        if named(call) == "shuffle" and text_of(call.func) in {"random.shuffle", "np.random.shuffle", "rng.shuffle"}
        and call.args and isinstance(call.args[0], ast.Name)
    }  # fmt: skip
    seeds = sum(named(each) == "seed" for each in script.values.program.calls)
    for call in script.values.program.calls:
        if named(call) != "zip" or len(call.args) != 2 or seeds > 1:
            continue
        names = [text_of(each) for each in call.args]
        one = [name for name in names if name in mixed]
        if len(one) == 1 and all(isinstance(each, ast.Name) for each in call.args) and names[0] != names[1]:
            first, other = mixed[one[0]], next(each for each in names if each != one[0])
            apart = _made_later(script, call, other, one[0]) or not _of_one_source(script, call)
            if first.lineno < call.lineno and not apart:
                yield Met("one_of_two_shuffled", first, {"shuffled": one[0], "other": other})
                return


def _of_one_source(script: Script, call: ast.Call) -> bool:
    """Whether both lists are made of the same rows: others are paired at random because that is meant."""
    sources = [_sources(script, list_) for list_ in call.args]
    return bool(sources[0] & sources[1])


def _sources(script: Script, rows: ast.expr) -> set[str]:
    """Names that a list is made of, without itself and without those that run over its elements."""
    nodes = [each.node for each in script.values.made_of(rows)]
    loops = [part.target for node in nodes for part in getattr(node, "generators", ())]
    own = {each.id for target in (rows, *loops) for each in ast.walk(target) if isinstance(each, ast.Name)}
    return {each.id for each in nodes if isinstance(each, ast.Name)} - own - _OF_PYTHON


def _made_later(script: Script, call: ast.Call, name: str, mixed: str) -> bool:
    """Whether a list is made of the one that was mixed."""
    node = next(each for each in call.args if text_of(each) == name)
    held = list(script.values.made_of(node))
    return any(isinstance(each.node, ast.Name) and each.node.id == mixed for each in held)


def _evaluated_on_training(script: Script) -> Iterator[Met]:
    """The rows that a model is judged by are among those that it is trained on."""
    for call in script.values.program.calls:
        given = {each.arg: each.value for each in call.keywords if each.arg}
        if not named(call).endswith("Trainer") or not {"train_dataset", "eval_dataset"} <= set(given):
            continue
        train, judged = given["train_dataset"], given["eval_dataset"]
        if isinstance(train, ast.Name) and isinstance(judged, ast.Name) and train.id == judged.id:
            yield Met("evaluated_on_training_rows", judged, {"rows": train.id})
            return
        if isinstance(train, ast.Name) and _is_part(script, train, judged):
            yield Met("evaluated_on_training_rows", judged, {"rows": train.id})
            return


def _is_part(script: Script, train: ast.Name, judged: ast.expr) -> bool:
    """Whether rows are some of those that a name holds: `rows.select(...)`, while the name still holds them all."""
    held = [each.node for each in script.values.held(At(judged))] if isinstance(judged, ast.Name) else [judged]
    if len(held) != 1 or not isinstance(held[0], ast.Call) or named(held[0]) != "select":
        return False
    base = held[0].func.value if isinstance(held[0].func, ast.Attribute) else None
    if not isinstance(base, ast.Name) or base.id != train.id:
        return False
    return script.values.reaching(base) == script.values.reaching(train) != []


def _padding_in_labels(script: Script) -> Iterator[Met]:
    """Labels that are a copy of the padded tokens, of which none is left out."""
    if any(
        word in script.text
        for word in ("-100", "ignore_index", "DataCollator", "data_collator", "masked_fill", "loss_mask")
    ):
        return
    yield from _padding_given_as_labels(script)
    for (_, name), defined in script.values.program.definitions.items():
        for each in defined:
            if each.key != "labels" or not each.weak or each.value is None or not _copies(each, name):
                continue
            nodes = script.values.made_of(each.value)
            if any(isinstance(at.node, ast.Call) and _pads(at.node) for at in nodes):
                yield Met("padding_in_labels", each.value, {"labels": f'{name}["labels"]'})
                return


def _padding_given_as_labels(script: Script) -> Iterator[Met]:
    """`model(input_ids=ids, labels=ids)` in a loop of its own, with a tokenizer that fills up each row."""
    calls = script.values.program.calls
    if not any(_pads(each) and (_fills_up(each) or _pads_several(each)) for each in calls):
        return
    if not any(list(losses(events)) for events in script.runs):
        return
    for call in calls:
        given = {each.arg: ast.unparse(each.value) for each in call.keywords if each.arg}
        ids = given.get("input_ids", ast.unparse(call.args[0]) if call.args else "")
        if ids and given.get("labels") in {ids, f"{ids}.clone()"} and script.roles.is_forward(call):
            yield Met("padding_in_labels", call, {"labels": f"labels={ids}"})
            return


def _fills_up(call: ast.Call) -> bool:
    """Whether a tokenizer fills each text up to one length, whatever stands beside it."""
    return any(each.arg == "padding" and getattr(each.value, "value", None) == "max_length" for each in call.keywords)


def _copies(definition: Definition, name: str) -> bool:
    text = ast.unparse(definition.value) if definition.value is not None else ""
    return text.replace('"', "'").startswith((f"{name}['input_ids']", f"{name}.input_ids"))


def _pads(call: ast.Call) -> bool:
    return "tok" in text_of(call.func).lower() and any(
        each.arg == "padding" and _is_on(each.value) for each in call.keywords
    )


def _state_left(script: Script) -> Iterator[Met]:
    """A checkpoint that holds the optimizer's state, of which the weights alone are loaded."""
    calls = script.values.program.calls
    saved = [each for each in calls if named(each) == "save" and _saves_optimizer(script, each)]
    loads = [each for each in calls if named(each) == "load_state_dict"]
    read = [each for each in calls if text_of(each.func) == "torch.load"]
    if not saved or not read or not loads or any(_is_optimizer(script, each) for each in loads):
        return
    if any(list(losses(events)) for events in script.runs):
        yield Met("optimizer_state_left", loads[0])


def _saves_optimizer(script: Script, call: ast.Call) -> bool:
    nodes = script.values.made_of(call.args[0]) if call.args and text_of(call.func) == "torch.save" else ()
    for at in nodes:
        func = at.node.func if isinstance(at.node, ast.Call) else None
        is_state = isinstance(func, ast.Attribute) and func.attr == "state_dict"
        if is_state and script.roles.is_optimizer(At(func.value, at.stack)):  # type: ignore[union-attr]
            return True
    return False


def _is_optimizer(script: Script, call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and script.roles.is_optimizer(At(call.func.value))
