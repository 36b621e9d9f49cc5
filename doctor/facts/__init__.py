"""The shapes of the facts, one a file: frozen dataclasses, and nothing that touches the machine.

The module's name is the fact's name and the snake case of its dataclass: ``facts/gpus.py`` defines ``Gpus``. The reader
that collects it is the module of the same name in a room of `doctor.readers`.
"""
