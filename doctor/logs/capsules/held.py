"""Judges one failure by what the process held: typed values, not words.

Each family looks at the values of the innermost frames and says what does not agree; where none does, the condition
that guards the `raise` is told with its values. A family speaks only where the values themselves show it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from doctor.base.evidence import Observed, Origin, Violation
from doctor.base.patterns import later
from doctor.base.record import record
from doctor.logs.capsules.read import Capsule, CapsuleFrame, CapsuleLink, Fact

#: frames in which a family looks, innermost first; a wrapper or two stand between
_NEAR = 4
_MOST_VALUES, _FEW_VALUES, _MOST_SETTINGS = 6, 2, 2
#: smaller numbers are anything's
_TELLING_FROM = 8
_LONGEST_HEAD, _LONGEST_LINE = 150, 100
_NUMBER = later(r"\d{1,18}")
#: a call or operator by which a list keeps one more
_KEEPS = later(r"\b(?P<name>[A-Za-z_][\w.]*)(?:\.(?:append|extend|add|insert|appendleft)\(|\s*\+=)")
#: errors of a connection, https://docs.python.org/3/library/exceptions.html#ConnectionError
_CONNECTION = later(r"^(?:Connection\w*Error|BrokenPipeError|TimeoutError|timeout|OSError: \[Errno 11[0-3]\])")
#: `raise`, `raise errors[0]`: an exception that was caught before; what guards this line says nothing of its cause
_RAISED_AGAIN = later(r"raise(?:\s*$|\s+[\w.]+\[[^\]]*\]\s*$)")


@record
class Held:
    """What a capsule shows.

    Args:
        kind: the family, or "condition" or "values".
        en, zh: whole sentences; `short`, `short_zh`: less of it, where the first is too long for a headline.
        evidence: what they rest on.
        frame: where it stands.

    """

    kind: str
    en: str
    zh: str
    evidence: tuple[Observed, ...]
    frame: CapsuleFrame
    short: str = ""
    short_zh: str = ""

    @property
    def head(self) -> str:
        """The first sentence, for a headline."""
        return (self.short or self.en.partition(". ")[0].rstrip("."))[:_LONGEST_HEAD]

    @property
    def head_zh(self) -> str:
        """The same in Chinese."""
        return (self.short_zh or self.zh.partition("。")[0])[:_LONGEST_HEAD]


def judge(capsule: Capsule, link: CapsuleLink) -> Held | None:
    """What the values of a link's frames show; None where they show nothing."""
    near = list(_with_values(link))[:_NEAR]
    for family in _FAMILIES:
        for frame in near:
            held = family(capsule, link, frame)
            if held is not None:
                return held
    return _values_alone(capsule, link, near)


def shown(fact: Fact) -> str:
    """A value in a few words."""
    if fact.get("tensor"):
        device = fact.get("device", "cpu")
        where = "" if device in ("cpu", None) else f" on {device}"
        shape = fact.get("shape")
        sizes = ", ".join(map(str, shape)) if isinstance(shape, (list, tuple)) else ""  # a capsule may be damaged
        return f"{_dtype(fact)}[{sizes}]{where}"
    if fact.get("module"):
        return f"{_short(fact)} ({fact.get('parameters'):,} parameters)"
    if "value" in fact:
        return f'"{fact["value"]}"' if fact.get("type") == "str" else str(fact["value"])
    if fact.get("type") == "str":
        return f"text of {fact.get('length')} characters"
    if "length" in fact:
        return f"{_short(fact)} of {fact['length']}{_keys(fact)}"
    return _short(fact)


def _keys(fact: Fact) -> str:
    keys = [str(key) for key, _ in fact.get("entries", ()) if isinstance(key, (str, int))]
    return f" ({', '.join(keys)})" if keys else ""


def _dtype(fact: Fact) -> str:
    return str(fact.get("dtype", "")).removeprefix("torch.")


def _short(fact: Fact) -> str:
    return str(fact.get("type", "?")).rpartition(".")[2]


def settings_behind(capsule: Capsule, number: Any) -> list[str]:
    """Settings that have this very value: `args.max_length`; none where so many have it that it says nothing."""
    if not isinstance(number, int) or isinstance(number, bool) or number < _TELLING_FROM:
        return []
    found: list[str] = []
    for part in ("fields", "defaults"):
        for config in capsule.configs:
            for name, fact in (config.get(part) or {}).items():
                if fact.get("type") == "int" and fact.get("value") == number:
                    found.append(f"{config.get('name')}.{name}")
    named = list(dict.fromkeys(found))
    return named if len(named) <= _MOST_SETTINGS else []


def _behind(capsule: Capsule, numbers: Sequence[Any]) -> tuple[str, str]:
    """Sentences that name the settings behind numbers, in both languages; empty where none has such a value."""
    english, chinese = "", ""
    for number in dict.fromkeys(numbers):
        names = settings_behind(capsule, number)
        if names:
            listed = " and ".join(f"`{each}`" for each in names)
            english += f" {number} is also the value of {listed}."
            chinese += f"{number} 也是 {'、'.join(f'`{each}`' for each in names)} 的值。"
    return english, chinese


def _listed(values: Mapping[str, Fact]) -> str:
    return ", ".join(f"`{name}` = {shown(fact)}" for name, fact in _telling(values)[:_MOST_VALUES])


def _telling(values: Mapping[str, Fact]) -> list[tuple[str, Fact]]:
    """Values that say something, but for containers whose length is told by itself."""
    return [(name, fact) for name, fact in values.items() if f"len({name})" not in values and _is_telling(fact)]


def _is_telling(fact: Fact) -> bool:
    if fact.get("type") in ("bool", "int", "float", "str", "NoneType", "bytes") or fact.get("tensor"):
        return True
    return "length" in fact or "value" in fact or bool(fact.get("module"))


def _evidence(capsule: Capsule, frame: CapsuleFrame, values: Mapping[str, Fact]) -> tuple[Observed, ...]:
    told = [f"{name} = {shown(fact)}" for name, fact in list(values.items())[:12] if _is_telling(fact)]
    who = f"{capsule.who}, {frame.place}"
    return (Observed.quoted(capsule.path, f"{who}: {'; '.join(told)}"[:600]),) if told else ()


# --- families ---------------------------------------------------------------------------------------------------------


def _none(capsule: Capsule, link: CapsuleLink, frame: CapsuleFrame) -> Held | None:
    """None where a value was expected, and the setting that it came from."""
    if "NoneType" not in link.message or link.name not in ("TypeError", "AttributeError", "ValueError"):
        return None
    absent = [name for name, fact in frame.values.items() if fact.get("type") == "NoneType" and name != "None"]
    if not absent:
        return None
    name = max(absent, key=lambda each: (_setting(capsule, frame, each) is not None, "." in each, len(each)))
    setting = _setting(capsule, frame, name)
    english = f"`{name}` is None in {frame.place}."
    chinese = f"{frame.place} 中的 `{name}` 为 None。"
    if setting is not None:
        english += f" It is the field `{setting[1]}` of `{setting[0]}`, which was never set."
        chinese += f"它是 `{setting[0]}` 的字段 `{setting[1]}`,没有人设置过。"
    came = _came_from(link, frame, name) if setting is None else None
    if came is not None:
        english += came[0]
        chinese += came[1]
    seen = _evidence(capsule, frame, {name: frame.values[name]})
    if came is not None:
        seen = (*seen, Observed.quoted(capsule.path, f"{capsule.who}:{came[0]}"))
    return Held("none", english, chinese, seen, frame)


def _came_from(link: CapsuleLink, frame: CapsuleFrame, name: str) -> tuple[str, str] | None:
    """The function that returned it, or the entry of what a caller holds that it must be: the only one that is None."""
    if name in frame.made_by:
        called, fact = frame.made_by[name]
        which = f"{fact['name']} ({_file(fact)}:{fact.get('line')})" if fact.get("name") else called
        return f" `{which}` returned it.", f"它是 `{which}` 返回的。"
    if "." in name or "[" in name:
        return None
    outer = link.frames[link.frames.index(frame) + 1 :]
    entries = [
        (f'{holder}["{key}"]' if isinstance(key, str) else f"{holder}[{key}]", each)
        for each in outer if each.own for holder, fact in each.values.items()
        for key, inside in fact.get("entries", ()) if inside.get("type") == "NoneType" and isinstance(key, (str, int))
    ]  # fmt: skip
    if len({text for text, _ in entries}) != 1:
        return None
    text, holder = entries[0]
    return f" `{text}` is None in {holder.place}.", f"{holder.place} 中 `{text}` 为 None。"


def _file(fact: Fact) -> str:
    return str(fact.get("file", "")).replace("\\", "/").rpartition("/")[2]


def _setting(capsule: Capsule, frame: CapsuleFrame, name: str) -> tuple[str, str] | None:
    """(class, field) of a configuration that an expression reads."""
    holder, _, field = name.rpartition(".")
    fact = frame.values.get(holder)
    if fact is None:
        fact = next(
            (each for each in capsule.configs if each.get("name") in (holder, holder.removeprefix("self."))), None
        )
    return (_short(fact), field) if fact is not None and fact.get("config") and field else None


def _beyond(capsule: Capsule, link: CapsuleLink, frame: CapsuleFrame) -> Held | None:
    """An index beyond a length, or a key that is not there, by the values of both."""
    if link.name not in ("IndexError", "KeyError"):
        return None
    for base, key, node in _subscripts(frame):
        fact = frame.values.get(base)
        index = frame.values.get(key, {"value": node.value} if isinstance(node, ast.Constant) else {}).get("value")
        if fact is None or "length" not in fact:
            continue
        length = fact["length"]
        if (
            isinstance(index, int)
            and isinstance(length, int)
            and not fact.get("entries")
            and not -length <= index < length
        ):
            behind, behind_zh = _behind(capsule, (length, index))
            return Held(
                "index", f"`{base}` has {length} elements in {frame.place}, and `{key}` is {index}.{behind}",
                f"{frame.place} 中 `{base}` 有 {length} 个元素,而 `{key}` 为 {index}。{behind_zh}",
                _evidence(capsule, frame, frame.values), frame,
            )  # fmt: skip
        if fact.get("entries") is not None and link.name == "KeyError" and index is not None:
            there = _keys(fact).strip(" ()")
            return Held(
                "key", f"`{base}` has no `{index}` in {frame.place}; it holds {there or 'nothing'}.",
                f"{frame.place} 中 `{base}` 没有 `{index}`;其中有 {there or '无'}。",
                _evidence(capsule, frame, frame.values), frame,
            )  # fmt: skip
    return _rows(capsule, link, frame)


def _subscripts(frame: CapsuleFrame) -> Iterator[tuple[str, str, ast.AST]]:
    """(container, key, node of the key) of the subscripts in a statement, as they stand in the source."""
    import textwrap

    text = textwrap.dedent("\n".join(frame.lines))
    for attempt in (text, f"{text.rstrip()} pass", f"{text.rstrip()}\n    pass"):
        try:
            tree = ast.parse(attempt)
        except (SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Subscript):
                base, key = (ast.get_source_segment(attempt, each) for each in (node.value, node.slice))
                if base and key:
                    yield base, key, node.slice
        return


def _rows(capsule: Capsule, link: CapsuleLink, frame: CapsuleFrame) -> Held | None:
    """A number beyond the rows of an embedding."""
    if frame.function not in ("embedding", "forward") or "index out of range" not in link.message:
        return None
    weight = next(
        (fact for name, fact in frame.values.items() if "weight" in name and len(fact.get("shape", ())) == 2), None
    )
    if weight is None:
        return None
    rows = weight["shape"][0]
    behind, behind_zh = _behind(capsule, (rows,))
    return Held(
        "index", f"The embedding has {rows} rows, and a token's number is {rows} or more.{behind}",
        f"嵌入有 {rows} 行,而某个 token 的编号大于等于 {rows}。{behind_zh}",
        _evidence(capsule, frame, frame.values), frame,
    )  # fmt: skip


def _gradient(capsule: Capsule, link: CapsuleLink, frame: CapsuleFrame) -> Held | None:
    """Nothing that requires a gradient."""
    if "does not require grad" not in link.message:
        return None
    frozen = [each for each in capsule.modules if each.get("requires_grad") == 0 and each.get("parameters")]
    if frozen:
        name, count = frozen[0]["name"], frozen[0]["parameters"]
        return Held(
            "gradient", f"None of the {count:,} parameters of `{name}` ({_short(frozen[0])}) requires a gradient.",
            f"`{name}`({_short(frozen[0])})的 {count:,} 个参数都不需要梯度。",
            _evidence(capsule, frame, {name: frozen[0]}), frame,
        )  # fmt: skip
    cut = {
        name: fact for name, fact in frame.values.items() if fact.get("tensor") and fact.get("requires_grad") is False
    }
    trained = [each for each in capsule.modules if each.get("requires_grad")]
    if not cut or not trained:
        return None
    name, model, count = next(iter(cut)), trained[0]["name"], trained[0]["requires_grad"]
    return Held(
        "gradient",
        f"`{name}` has no gradient in {frame.place}, although {count:,} parameters of `{model}` require one: "
        "it was computed without them, under `no_grad` or from a detached tensor.",
        f"{frame.place} 中的 `{name}` 没有梯度,而 `{model}` 有 {count:,} 个参数需要梯度:"
        "它的计算没有经过这些参数,或在 `no_grad` 下,或来自 detach 的张量。",
        _evidence(capsule, frame, cut), frame,
    )  # fmt: skip


def _unused(capsule: Capsule, link: CapsuleLink, frame: CapsuleFrame) -> Held | None:
    """Parameters that DDP waited for in vain."""
    if "did not receive grad" not in link.message:
        return None
    for each in capsule.modules:
        names = [str(name) for name in each.get("without_gradient", ())]
        if names:
            listed = ", ".join(f"`{name}`" for name in names[:_MOST_VALUES]) + (
                " …" if len(names) > _MOST_VALUES else ""
            )
            return Held(
                "gradient", f"No gradient came for {listed} of `{_inside(each)}`.",
                f"`{_inside(each)}` 的 {listed} 没有得到梯度。",
                (Observed.quoted(capsule.path, f"{capsule.who}: no gradient for {', '.join(names)}"[:600]),), frame,
            )  # fmt: skip
    return None


def _inside(module: Fact) -> str:
    """Class of what a wrapper wraps."""
    wraps = module.get("wraps") or [module.get("type", "?")]
    return str(wraps[-1]).rpartition(".")[2]


def _meta(capsule: Capsule, link: CapsuleLink, frame: CapsuleFrame) -> Held | None:
    """Weights and buffers of a module that lie on the meta device, where nothing is stored."""
    if "meta" not in link.message:
        return None
    for each in capsule.modules:
        names = (each.get("apart") or {}).get("meta", ())
        if names:
            count = (each.get("devices") or {}).get("meta", len(names))
            listed = ", ".join(f"`{name}`" for name in names) + (" …" if count > len(names) else "")
            return Held(
                "device", f"{count} of the tensors of `{each['name']}` are on the meta device: {listed}.",
                f"`{each['name']}` 有 {count} 个张量在 meta 设备上:{listed}。",
                _evidence(capsule, frame, {str(each["name"]): each}), frame,
            )  # fmt: skip
    return None


def _tensors(frame: CapsuleFrame) -> dict[str, Fact]:
    return {name: fact for name, fact in frame.values.items() if fact.get("tensor") and "shape" in fact}


def _kinds(capsule: Capsule, link: CapsuleLink, frame: CapsuleFrame) -> Held | None:
    """Tensors of one statement on two devices or of two dtypes, where the error is about that."""
    text = link.message.lower()
    for what, words in (("device", ("same device", "device type", "devices")), ("dtype", ("dtype", "scalar type"))):
        if not any(each in text for each in words):
            continue
        tensors = {name: fact for name, fact in _tensors(frame).items() if what == "device" or "float" in _dtype(fact)}
        kinds = {str(fact.get(what)) for fact in tensors.values()}
        if len(kinds) < 2:
            continue
        first = {
            kind: next(name for name, fact in tensors.items() if str(fact.get(what)) == kind) for kind in sorted(kinds)
        }
        pairs_zh = [f"`{name}` 为 {kind.removeprefix('torch.')}" for kind, name in first.items()]
        pairs = [f"`{name}` is {kind.removeprefix('torch.')}" for kind, name in first.items()]
        return Held(
            what, f"In {frame.place} {' and '.join(pairs)}.{_mixed(capsule, what)[0]}",
            f"{frame.place} 中{','.join(pairs_zh)}。{_mixed(capsule, what)[1]}",
            _evidence(capsule, frame, tensors), frame,
        )  # fmt: skip
    return None


def _mixed(capsule: Capsule, what: str) -> tuple[str, str]:
    """Of which module the parameters are of several kinds."""
    for each in capsule.modules:
        census = each.get(f"{what}s") or {}
        if len(census) > 1:
            apart = each.get("apart") or {}
            parts = ", ".join(
                f"{count} {kind.removeprefix('torch.')}" + (f" (`{apart[kind][0]}`)" if apart.get(kind) else "")
                for kind, count in sorted(census.items())
            )
            return f" The parameters of `{each['name']}` are mixed: {parts}.", f"`{each['name']}` 的参数混用:{parts}。"
    return "", ""


_SHAPES = ("size", "shape", "dimension", "dims", "broadcast", "expand", "view", "batch_size", "length", "equal")


def _shapes(capsule: Capsule, link: CapsuleLink, frame: CapsuleFrame) -> Held | None:
    """Shapes of one statement that do not agree, and in which dimension."""
    if link.name not in ("RuntimeError", "ValueError", "IndexError", "AssertionError"):
        return None
    if not any(each in link.message.lower() for each in _SHAPES):
        return None
    for base, key in _pairs(frame, link.message):
        odd = _disagreement(*base, *key, product="mat1" in link.message)
        if odd is None:
            continue
        english, chinese, numbers = odd
        if not _names_both(link.message, numbers):
            continue
        behind, behind_zh = _behind(capsule, numbers)
        return Held(
            "shapes", f"In {frame.place} {english}{behind}", f"{frame.place} 中{chinese}{behind_zh}",
            _evidence(capsule, frame, _tensors(frame)), frame,
        )  # fmt: skip
    return None


def _names_both(message: str, sizes: Sequence[int]) -> bool:
    """Whether the message speaks of these sizes, or of none: tensors of a line that differ need not be the odd ones.

    `labels` and `predictions` of one line differ in their classes, and the comparison of the line fails elsewhere.
    """
    named = {int(each) for each in _NUMBER.findall(message)}
    return len(named) < 2 or named.issuperset(sizes)


def _pairs(frame: CapsuleFrame, message: str) -> Iterator[tuple[tuple[str, Fact], tuple[str, Fact]]]:
    tensors = list(_tensors(frame).items())
    product = "mat1" in message
    for place, one in enumerate(tensors):
        for two in tensors[place + 1 :]:
            if product and "bias" in (one[0], two[0]):
                continue
            yield one, two


def _disagreement(
    one: str, first: Fact, two: str, second: Fact, *, product: bool
) -> tuple[str, str, tuple[int, ...]] | None:
    """Words and numbers for two shapes that do not agree; None where they do."""
    a, b = list(first["shape"]), list(second["shape"])
    head = f"`{one}` is {shown(first)} and `{two}` {shown(second)}"
    head_zh = f"`{one}` 为 {shown(first)},`{two}` 为 {shown(second)}"
    if product:
        if len(b) != 2 or not a or a[-1] in b:
            return None
        return (
            f"{head}: the last dimension of the first is {a[-1]}, and the second takes {b[-1]}.",
            f"{head_zh}:前者最后一维为 {a[-1]},后者需要 {b[-1]}。", (a[-1], b[-1]),
        )  # fmt: skip
    for back in range(1, min(len(a), len(b)) + 1):
        if a[-back] != b[-back] and 1 not in (a[-back], b[-back]):
            return (
                f"{head}: they differ in dimension -{back}, {a[-back]} against {b[-back]}.",
                f"{head_zh}:第 -{back} 维不同,{a[-back]} 对 {b[-back]}。", (a[-back], b[-back]),
            )  # fmt: skip
    return None


def _elements(capsule: Capsule, link: CapsuleLink, frame: CapsuleFrame) -> Held | None:
    """Rows of one list that are of different size."""
    if "equal size" not in link.message and "same length" not in link.message:
        return None
    for name, fact in frame.values.items():
        shapes = [tuple(each.get("shape", ())) for each in fact.get("first", ()) if each.get("tensor")]
        if len(set(shapes)) > 1:
            told = ", ".join(str(list(each)) for each in shapes)
            return Held(
                "shapes", f"`{name}` holds {fact.get('length')} tensors of different shape in {frame.place}: {told}.",
                f"{frame.place} 中 `{name}` 含 {fact.get('length')} 个形状不同的张量:{told}。",
                _evidence(capsule, frame, {name: fact}), frame,
            )  # fmt: skip
        held = _rows_of(capsule, frame, name, fact)
        if held is not None:
            return held
    return None


def _rows_of(capsule: Capsule, frame: CapsuleFrame, name: str, fact: Fact) -> Held | None:
    """Rows of a batch whose columns are of different length."""
    lengths: dict[str, list[int]] = {}
    for row in fact.get("first", ()):
        for key, inside in row.get("entries", ()):
            if isinstance(key, str) and isinstance(inside.get("length"), int) and inside.get("type") != "str":
                lengths.setdefault(key, []).append(inside["length"])
    for key, each in lengths.items():
        if len(set(each)) > 1:
            told = ", ".join(map(str, each))
            return Held(
                "shapes", f"The rows of `{name}` have a `{key}` of different length in {frame.place}: {told}.",
                f"{frame.place} 中 `{name}` 各行的 `{key}` 长度不同:{told}。",
                (Observed.quoted(capsule.path, f"{capsule.who}, {frame.place}: lengths of {key}: {told}"),), frame,
            )  # fmt: skip
    return None


def _memory(capsule: Capsule, link: CapsuleLink, frame: CapsuleFrame) -> Held | None:
    """Memory of the card that another process holds, by the driver's own list."""
    if "out of memory" not in link.message.lower() and "OutOfMemory" not in link.type:
        return None
    mine = capsule.process.get("pid")
    cards = capsule.process.get("cards")
    for card in cards if isinstance(cards, list) else ():
        others = [each for each in card.get("processes", ()) if each.get("pid") != mine and each.get("used")]
        held = sum(each["used"] for each in others)
        if held > card.get("total", 0) * 0.1:
            named = ", ".join(f"{each.get('name') or 'process'} {each['pid']}" for each in others[:3])
            gib, total = f"{held / 2**30:.1f}", f"{card['total'] / 2**30:.1f}"
            return Held(
                "memory", f"On GPU {card['index']} other processes hold {gib} of {total} GiB ({named}).",
                f"GPU {card['index']} 上其他进程占用 {gib}/{total} GiB({named})。",
                (Observed.quoted(capsule.path, f"GPU {card['index']}: {gib} of {total} GiB held by {named}"),), frame,
            )  # fmt: skip
    return None


def _growing(capsule: Capsule, link: CapsuleLink, frame: CapsuleFrame) -> Held | None:
    """Memory that was refused to a statement of the user's own that keeps what it makes."""
    if "allocate memory" not in link.message and "out of memory" not in link.message and link.name != "MemoryError":
        return None
    match = _KEEPS.search("\n".join(frame.lines)) if frame.own else None
    fact = frame.values.get(match["name"]) if match is not None else None
    if match is None or fact is None or not isinstance(fact.get("length"), int) or fact["length"] < _TELLING_FROM:
        return None
    name, count = match["name"], fact["length"]
    english = f"The failing statement in {frame.place} adds to `{name}`, which already keeps {count:,} elements."
    return Held(
        "growing", english, f"{frame.place} 中失败的语句向 `{name}` 添加元素,其中已保存 {count:,} 个。",
        (Observed.quoted(capsule.path, f"{capsule.who}: {english}"),), frame,
    )  # fmt: skip


def _address(capsule: Capsule, link: CapsuleLink, frame: CapsuleFrame) -> Held | None:
    """The address of a connection that failed: messages of the system do not tell it."""
    if not _CONNECTION.search(f"{link.name}: {link.message}") or frame is not next(_with_values(link), None):
        return None
    for each in link.frames:
        for fact in each.values.values():
            fields = fact.get("fields") or {}
            host, port = (fields.get(part, {}).get("value") for part in ("host", "port"))
            if isinstance(host, str) and isinstance(port, int) and not isinstance(port, bool):
                address = f"{host}:{port}"
                return Held(
                    "address", f"The connection was to `{address}`.", f"连接的目标为 `{address}`。",
                    (Observed.quoted(capsule.path, f"{capsule.who}, {each.place}: connection to {address}"),), each,
                    f"the connection was to `{address}`", f"连接的目标为 `{address}`",
                )  # fmt: skip
    return None


def _with_values(link: CapsuleLink) -> Iterator[CapsuleFrame]:
    return (each for each in link.frames if each.values or each.conditions)


def _condition(capsule: Capsule, link: CapsuleLink, frame: CapsuleFrame) -> Held | None:  # noqa: ARG001 - a family
    """The condition that guards a `raise`, or that an assertion asserts, with its values."""
    first = "\n".join(frame.lines).lstrip()
    if (
        not first.startswith(("raise", "assert", "sys.exit", "exit", "parser.error", "warnings."))
        or not frame.conditions
        or _RAISED_AGAIN.match(first)
    ):
        return None
    condition = frame.conditions[0]
    text = str(condition["text"])
    values = {name: fact for name, fact in condition["values"].items() if _plain(name) != _plain(text)}
    violation = _violation(capsule, frame, text, bool(condition["taken"]), values)
    if not violation.operands:
        return None
    numbers = [fact.get("value") for fact in values.values() if fact.get("type") == "int"]
    behind, behind_zh = _behind(capsule, numbers)
    (said, said_zh), told = map(violation.said, ("en", "zh")), _operands(violation, _MOST_VALUES)
    few = _operands(violation, _FEW_VALUES)
    return Held(
        "condition", f"{said} in {frame.place}: {told}.{behind}", f"{frame.place} 中 {said_zh}:{told}。{behind_zh}",
        _evidence(capsule, frame, values), frame, f"{said}: {few}", f"{said_zh}:{few}",
    )  # fmt: skip


def _violation(capsule: Capsule, frame: CapsuleFrame, text: str, holds: bool, values: Mapping[str, Fact]) -> Violation:
    place = Origin("capsule", capsule.path, frame=frame.place)
    operands = (Observed(name, fact, place, text=shown(fact)) for name, fact in _telling(values))
    return Violation(((text, holds),), tuple(operands), place)


def _operands(violation: Violation, most: int) -> str:
    return ", ".join(f"`{each.name}` = {each.text}" for each in violation.operands[:most])


def _texts(capsule: Capsule, link: CapsuleLink, frame: CapsuleFrame) -> Held | None:
    """Rewards that are texts: TRL makes a list of what a function returned, and of a dictionary that is its keys.

    https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/grpo_trainer.py
    """
    if "reward" not in link.message:
        return None
    for name, fact in frame.values.items():
        first = [each for each in fact.get("first", ()) if each.get("type") == "str"]
        if "reward" not in name or fact.get("of") != ["str"] or not first:
            continue
        told = ", ".join(shown(each) for each in first)
        letters = all(each.get("length") == 1 for each in first)
        source, source_zh = ("a text", "一个字符串") if letters else ("a `dict`", "`dict`")
        part, part_zh = ("letters", "字符") if letters else ("keys", "键")
        return Held(
            "texts",
            f"`{name}` holds {fact.get('length')} texts and no number in {frame.place}: {told}. That is what "
            f"is made of {source} when a function returns one: the list of its {part}.",
            f"{frame.place} 中 `{name}` 含 {fact.get('length')} 个字符串而没有数字:{told}。"
            f"函数返回{source_zh}时,得到的就是其{part_zh}的列表。",
            _evidence(capsule, frame, {name: fact}), frame,
        )  # fmt: skip
    return None


def _plain(text: str) -> str:
    return text.replace(" ", "").replace('"', "'").strip("()")


_FAMILIES: tuple[Callable[[Capsule, CapsuleLink, CapsuleFrame], Held | None], ...] = (
    _none, _beyond, _gradient, _unused, _meta, _kinds, _elements, _shapes, _memory, _growing, _address, _texts,
    _condition,
)  # fmt: skip


def _values_alone(capsule: Capsule, link: CapsuleLink, near: Sequence[CapsuleFrame]) -> Held | None:
    """The values of the failing statement, where nothing is known to be wrong with them."""
    own = next((each for each in link.frames if each.own and each.values), None)
    for frame in (*near[:1], *((own,) if own is not None else ())):
        told = _listed(frame.values)
        if told:
            line = _statement(frame)
            return Held(
                "values", f"In {frame.place} {line}{told}.", f"{frame.place} 中:{line}{told}。",
                _evidence(capsule, frame, frame.values), frame,
            )  # fmt: skip
    return None


def _statement(frame: CapsuleFrame) -> str:
    """The failing statement where it is a short line of the user's own: which part of it the values stand in."""
    text = frame.lines[0].strip() if len(frame.lines) == 1 else ""
    return f"`{text}`: " if frame.own and "=" in text and "`" not in text and len(text) <= _LONGEST_LINE else ""
