"""Idioms of a script: code that runs and does something else than it looks like.

They are told by the patterns of `doctor.data`, and by the flow of values and calls where the order matters.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from doctor import data
from doctor.base.code_patterns import CodeForm, Held, Tree, first_match, words_of
from doctor.base.evidence import Observed
from doctor.base.record import replace
from doctor.readers.script.flow import flow_of
from doctor.readers.script.flow.across import idioms_across
from doctor.readers.script.flow.in_loops import in_loops
from doctor.readers.script.flow.late_variables import late_variables
from doctor.readers.script.loaded_models import loads_one_of
from doctor.readers.script.python_source import ParsedFile

#: a longer script is no training's; its tree would be searched too often
_LONGEST = 200_000


def idioms_in(source: ParsedFile, *, whole: bool) -> dict[str, Observed]:
    """The idioms that a script holds, each with the line of its last piece.

    Args:
        source: of the script.
        whole: it is a whole file; of a piece of one nothing is told that hangs on what is absent.

    """
    if len(source.text) > _LONGEST:
        return {}
    alone = (*late_variables(source.tree, source.text), *in_loops(source.tree))
    flow = (*flow_of(source.tree, source.text, whole=whole), *alone)
    found = {met.id: noted(met.id, source, met.holes, met.node) for met in reversed(flow)}
    tree = Tree(source.tree)
    for idiom in data.idioms():
        for form in idiom.forms:
            met = first_match(tree, form) if _may_hold(source, form) else None
            if met is not None:
                found[idiom.id] = noted(idiom.id, source, *met)
                break
    return found


def idioms_between(sources: Sequence[ParsedFile]) -> dict[str, Observed]:
    """The idioms that a script and the modules beside it hold together."""
    read = [each for each in sources if len(each.text) <= _LONGEST]
    return {met.id: noted(met.id, source, met.holes, met.node) for source, met in idioms_across(read)}


def noted(name: str, source: ParsedFile, held: Held, node: ast.AST) -> Observed:
    """The line that completes an idiom; the value is what its holes hold."""
    line = source.place(node).line or 1
    text = source.lines[line - 1].strip() if line <= len(source.lines) else ""
    return replace(Observed.quoted(source.path, text, line), name=name, value=dict(held))


def _may_hold(source: ParsedFile, form: CodeForm) -> bool:
    """Whether all names of a form stand in a text; most scripts are done with that."""
    named = all(word in source.text for piece in form.code for word in words_of(piece.code))
    mentions = named and (not form.mentions or re.search(form.mentions, source.text) is not None)
    return mentions and (not form.model or loads_one_of(source.tree, source.text, re.compile(form.model)))
