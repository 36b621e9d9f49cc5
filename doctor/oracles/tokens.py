"""Tokens that are trained on: were they sampled, did the engine see the same, do templates keep what they wrote."""

from __future__ import annotations

from collections import Counter
from typing import Any, Callable, Collection, Iterable, Optional, Sequence

from doctor.oracles.vectors import rows
from doctor.oracles.verdict import BROKEN, DOUBTFUL, HOLDS, Verdict, unseen

#: ids shown on both sides of a place
_SHOWN = 4

#: turns on each side before separators are compared, and the share of them that must agree
LEAST_TURNS, AGREED = 8, 0.95


def mask_audit(
    ids: Any,
    trained: Any,
    sampled: Any = None,
    *,
    attention: Any = None,
    eos_id: Optional[int] = None,
    finished: Optional[Sequence[bool]] = None,
) -> Verdict:
    """Whether the tokens that the loss counts are those that the policy sampled, and its ends are among them.

    Args:
        ids: token ids [sequences, tokens], arrays or nested sequences.
        trained: 1 where the loss counts a token.
        sampled: 1 where the policy sampled it; None: not known.
        attention: 0 on padding; None: not known.
        eos_id: of the token that ends an answer.
        finished: of each sequence, whether the policy ended it itself.

    Returns:
        `value` is the number of trained tokens that nobody sampled (of a tool, a prompt, or padding); broken above 0.
        Doubtful where ends of finished answers, or sampled tokens at all, are left out of the loss.

    >>> mask_audit([[5, 6, 7]], [[0, 1, 1]], [[0, 1, 1]]).state.value
    'holds'
    >>> mask_audit([[5, 6, 7]], [[1, 1, 1]], [[0, 1, 1]]).reason
    '1 trained token was not sampled; the first is id 5 at 0 of sequence 0'
    """
    tokens, learns = rows(ids), rows(trained)
    whose = rows(sampled) if sampled is not None else None
    seen = rows(attention) if attention is not None else None
    strangers = [
        (row, at)
        for row, mask in enumerate(learns)
        for at, counts in enumerate(mask)
        if counts and not ((whose is None or whose[row][at]) and (seen is None or seen[row][at]))
    ]
    details = {
        "trained": sum(bool(each) for mask in learns for each in mask),
        "ends_untrained": _untrained_ends(tokens, learns, eos_id, finished),
        "untrained_share": _left_out(learns, whose),
        "empty": sum(not any(mask) for mask in learns),
    }  # fmt: skip
    if strangers:
        row, at = strangers[0]
        plural = "s were" if len(strangers) > 1 else " was"
        first = f"id {tokens[row][at]} at {at} of sequence {row}"
        reason = f"{len(strangers)} trained token{plural} not sampled; the first is {first}"
        return Verdict("mask-audit", BROKEN, float(len(strangers)), 0.0, reason, details)
    if not details["trained"]:
        return Verdict("mask-audit", BROKEN, 0.0, 0.0, "no token is trained", details)
    if details["ends_untrained"]:
        reason = f"the end of {details['ends_untrained']} finished answers is not trained"
        return Verdict("mask-audit", DOUBTFUL, 0.0, 0.0, reason, details)
    if whose is None and seen is None:
        return unseen("mask-audit", "it is unknown which tokens were sampled", **details)
    return Verdict("mask-audit", HOLDS, 0.0, 0.0, f"{details['trained']} trained tokens were sampled", details)


def _untrained_ends(
    tokens: list[list[Any]], learns: list[list[Any]], eos_id: Optional[int], finished: Optional[Sequence[bool]]
) -> int:
    """Finished answers whose last token of the end is there and not trained, while something before it is."""
    if eos_id is None or finished is None:
        return 0
    found = 0
    for ids, mask, done in zip(tokens, learns, finished):  # noqa: B905 - Python 3.9
        ends = [at for at, each in enumerate(ids) if each == eos_id]
        found += bool(done and any(mask) and ends and not any(mask[at] for at in ends))
    return found


def _left_out(learns: list[list[Any]], whose: Optional[list[list[Any]]]) -> float:
    """Share of the sampled tokens that the loss leaves out."""
    pairs = [] if whose is None else [(m, s) for a, b in zip(learns, whose) for m, s in zip(a, b)]  # noqa: B905
    sampled = sum(bool(s) for _, s in pairs)
    return sum(bool(s and not m) for m, s in pairs) / sampled if sampled else 0.0


def turn_separators(ids: Any, sampled: Any, ends: Collection[int]) -> Verdict:
    """Whether behind a sampled turn stands what the template puts behind the same token elsewhere in the prompt.

    A model stops at the token that closes its turn and never writes what the template puts behind it. Where the next
    turn is rendered alone and appended, that separator is lost, for engine and trainer alike: both score the same
    sequence, and it is none of the template. The prompt, which was rendered whole, shows what belongs there.
    https://github.com/verl-project/verl/pull/6921

    Args:
        ids: token ids [sequences, tokens], arrays or nested sequences.
        sampled: 1 where the policy sampled a token.
        ends: ids that close a turn: the tokenizer's special ones.

    Returns:
        `value` is the share of the sampled turns that lack it; broken where nearly all do. Unseen where too few turns
        are followed by another one, or the prompts do not agree on what belongs there. `details["dropped"]` is the id.

    >>> prompt, told = [5, 1, 198, 6], [0] * 4
    >>> rows = [[*prompt, 7, 1, 6, 8, 7, 1]] * 8
    >>> turn_separators(rows, [[*told, 1, 1, 0, 0, 1, 1]] * 8, ends={1}).details["dropped"]
    198
    """
    behind, elsewhere = Counter[tuple[int, int]](), Counter[tuple[int, int]]()
    for tokens, whose in zip(rows(ids), rows(sampled)):  # noqa: B905 - Python 3.9
        own = [at for at, each in enumerate(whose) if each]
        for at in range(own[0] - 1 if own else 0):
            elsewhere[(int(tokens[at]), int(tokens[at + 1]))] += 1
        for at, later in zip(own, own[1:]):  # noqa: B905, RUF007 - Python 3.9
            if later > at + 1:
                behind[(int(tokens[at]), int(tokens[at + 1]))] += 1
    closing = Counter[int]()
    for (end, _), times in behind.items():
        if end in ends:
            closing[end] += times
    end, turns = next(iter(closing.most_common(1)), (-1, 0))
    expected = Counter({token: times for (close, token), times in elsewhere.items() if close == end})
    token, times = next(iter(expected.most_common(1)), (-1, 0))
    if turns < LEAST_TURNS or times < LEAST_TURNS or times < AGREED * sum(expected.values()):
        return unseen("turn-separators", f"{turns} sampled turns and {times} of the prompts tell too little")
    share = 1 - behind[(end, token)] / turns
    details = {"dropped": token, "end": end, "turns": turns, "of_prompts": times}
    reason = f"behind {share:.0%} of {turns} sampled turns id {token} is missing, which follows id {end} in the prompts"
    return Verdict("turn-separators", BROKEN if share >= AGREED else HOLDS, share, AGREED, reason, details)


def same_tokens(engine: Iterable[Sequence[int]], trained: Iterable[Sequence[int]]) -> Verdict:
    """Whether each sequence that is trained on is one that the engine saw, token by token.

    A template that is applied again, text that is decoded and encoded, or turns that are joined without their
    separator make another sequence, whose log probabilities are those of another context.

    Args:
        engine: sequences as the engine had them: prompt and answer; of several turns, those of each request.
        trained: sequences as the loss has them, each up to its last trained token: that one was sampled, so the engine
            had the whole of it.

    Returns:
        `value` is the number of sequences that differ. `details`: `row`, `at` (the first difference), `engine` and
        `trainer` (ids around it), `dropped` (ids that the trainer lacks there) or `added`.

    >>> same_tokens([[1, 2, 3, 4]], [[1, 2, 3, 4]]).state.value
    'holds'
    >>> same_tokens([[1, 2, 198, 3, 4]], [[1, 2, 3, 4]]).details["dropped"]
    [198]
    """
    held = [list(each) for each in engine]
    if not held:
        return unseen("same-tokens", "nothing is known of the engine's sequences")
    wrong = []
    count = 0
    for row, each in enumerate(trained):
        count += 1
        ids = list(each)
        nearest = max(held, key=lambda other, ids=ids: _common(other, ids))  # type: ignore[misc]
        at = _common(nearest, ids)
        if at < len(ids):
            wrong.append((row, at, nearest, ids))
    if not count:
        return unseen("same-tokens", "no sequence was handed over")
    if not wrong:
        return Verdict("same-tokens", HOLDS, 0.0, 0.0, f"{count} sequences are those of the engine")
    row, at, nearest, ids = wrong[0]
    details = {"row": row, "at": at, "engine": nearest[at : at + _SHOWN], "trainer": ids[at : at + _SHOWN]}
    details.update(_edit(nearest, ids, at))
    reason = f"{len(wrong)} of {count} sequences are not those of the engine; sequence {row} differs at {at}"
    return Verdict("same-tokens", BROKEN, float(len(wrong)), 0.0, reason, details)


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    """Length of the common beginning."""
    at = 0
    for at, (mine, yours) in enumerate(zip(one, other)):  # noqa: B905 - Python 3.9
        if mine != yours:
            return at
    return min(len(one), len(other))


def _edit(engine: Sequence[int], trained: Sequence[int], at: int) -> dict[str, list[int]]:
    """Up to four ids that one side has more at a place, where behind them both go on alike."""
    for size in range(1, _SHOWN + 1):
        if _goes_on(engine[at + size :], trained[at:]):
            return {"dropped": list(engine[at : at + size])}
        if _goes_on(engine[at:], trained[at + size :]):
            return {"added": list(trained[at : at + size])}
    return {}


def _goes_on(one: Sequence[int], other: Sequence[int]) -> bool:
    size = min(len(one), len(other), 2 * _SHOWN)
    return (size > 0 or len(one) == len(other)) and list(one[:size]) == list(other[:size])


def prefix_property(turns: Sequence[Sequence[int]]) -> Verdict:
    """Whether a conversation that grows keeps what was rendered of it before.

    Args:
        turns: ids of the conversation after each turn, growing.

    Returns:
        `value` is the number of turns whose rendering is no beginning of the next one; `details["turns"]` names them
        (from 0), `turn` and `at` the first of them and its first place that differs.

    >>> prefix_property([[1, 2], [1, 2, 3], [1, 2, 3, 4, 5]]).state.value
    'holds'
    >>> prefix_property([[1, 2, 9], [1, 2, 3]]).reason
    'the rendering of turn 0 is not a prefix of that of turn 1: they differ at token 2'
    """
    if len(turns) < 2:
        return unseen("prefix-property", "one turn cannot change another")
    broken = []
    for number, (before, after) in enumerate(zip(turns, turns[1:])):  # noqa: B905, RUF007 - Python 3.9
        at = _common(before, after)
        if at < len(before):
            broken.append((number, at))
    if not broken:
        return Verdict("prefix-property", HOLDS, 0.0, 0.0, f"{len(turns)} turns each begin as the one before")
    number, at = broken[0]
    reason = f"the rendering of turn {number} is not a prefix of that of turn {number + 1}: they differ at token {at}"
    details = {"turn": number, "at": at, "turns": [each for each, _ in broken]}
    return Verdict("prefix-property", BROKEN, float(len(broken)), 0.0, reason, details)


def template_prefix(render: Callable[[Sequence[Any]], Sequence[int]], messages: Sequence[Any]) -> Verdict:
    """`prefix_property` of a chat template, over a conversation message by message.

    Args:
        render: messages -> ids, without a generation prompt: a partial of a tokenizer's `apply_chat_template`.
        messages: a conversation with several turns.

    >>> template_prefix(lambda said: [len(each) for each in said], ["a", "bb", "ccc"]).state.value
    'holds'
    """
    return prefix_property([list(render(messages[:size])) for size in range(1, len(messages) + 1)])


def round_trip(
    sequences: Iterable[Sequence[int]],
    decode: Callable[[Sequence[int]], str],
    encode: Callable[[str], Sequence[int]],
) -> Verdict:
    """Whether ids survive being decoded to text and encoded again, as a pipeline that passes on text does to them.

    Args:
        sequences: ids as they were sampled.
        decode: of the tokenizer, with special tokens kept.
        encode: of the tokenizer, without adding special tokens.

    Returns:
        `value` is the share of the sequences that change. Doubtful above 0: sampling splits words as encoding does not,
        so only a pipeline that trains on the ids it sampled is exact.

    >>> round_trip([[104, 105]], lambda ids: bytes(ids).decode(), lambda text: list(text.encode())).state.value
    'holds'
    """
    changed, count, first = 0, 0, -1
    for ids in sequences:
        if list(encode(decode(ids))) != list(ids):
            first = count if not changed else first
            changed += 1
        count += 1
    if not count:
        return unseen("round-trip", "no sequence was handed over")
    value = changed / count
    reason = f"{changed} of {count} sequences change when they are decoded and encoded again"
    return Verdict("round-trip", DOUBTFUL if changed else HOLDS, value, 0.0, reason, {"first": first})
