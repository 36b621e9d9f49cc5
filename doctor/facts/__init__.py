"""The only code that touches the machine. Each module holds one fact: a frozen dataclass and `collect`.

The module's name is the fact's name and the snake case of its dataclass: ``facts/gpus.py`` defines ``Gpus`` and
``collect``. What a fact needs of other facts its `collect` asks for by type annotation, as checks do.
"""
