"""Sources that are written for a newer Python than the one that reads them."""

from __future__ import annotations

import ast
import re

#: parameters of types behind the name of a function or class, and the statement that names a type (Python 3.12,
#: https://peps.python.org/pep-0695/)
_PARAMETERS = re.compile(r"^(\s*(?:async\s+)?(?:def|class)\s+\w+)\[[^\]\n]*\]", re.MULTILINE)
_ALIAS = re.compile(r"^(\s*)type\s+(\w+)(?:\[[^\]\n]*\])?(\s*=)", re.MULTILINE)


def parse(text: str, path: str) -> ast.Module:
    """Parse a source; what Python 3.12 writes about types is left out where this Python does not know it.

    Raises:
        SyntaxError: it cannot be read even so. A release of which a file is not read must not count as one without it.

    """
    try:
        return ast.parse(text, path)
    except SyntaxError:
        return ast.parse(_ALIAS.sub(r"\1\2\3", _PARAMETERS.sub(r"\1", text)), path)
