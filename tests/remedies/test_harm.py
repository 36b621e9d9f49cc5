"""No remedy orders the removal of a path that was read: it may be shortened, or without the user's name in it."""

from __future__ import annotations

import re

from doctor.catalogue.index import load
from doctor.catalogue.problem_files import declared

REMOVES = re.compile(r"`[^`]*\brm\s+-\w*[rR]\w*\s[^`]*\{\w+\}")


def test_no_remedy_removes_a_path_that_was_read() -> None:
    removing = {
        entry.id
        for entry in load()
        for message in declared(entry).messages.values()
        for words in (message.en, message.zh)
        if words is not None and REMOVES.search(words.remedy)
    }
    assert removing == set()
    assert REMOVES.search("Delete it: `rm -rf {folder}`.")
