"""Names that are made by running code, which `ast` does not see: (module, name) -> (gone in, back in)."""

from __future__ import annotations

#: package -> ((module, name), (gone in, back in or None)); each from the release notes of the library
SEED = {
    # https://numpy.org/doc/stable/release/1.24.0-notes.html#expired-deprecations; bool is back in 2.0:
    # https://numpy.org/doc/stable/release/2.0.0-notes.html
    "numpy": {
        ("numpy", "float"): ("1.24", None),
        ("numpy", "int"): ("1.24", None),
        ("numpy", "object"): ("1.24", None),
        ("numpy", "complex"): ("1.24", None),
        ("numpy", "str"): ("1.24", None),
        ("numpy", "bool"): ("1.24", "2.0"),
    },
}
