"""A conversation of three turns through templates as models have them, with the real tokenizers."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from doctor.checks.rl.rewards import template_rewrites_history
from doctor.monitors.rehearse.settings import VARIABLE, PassSettings
from tests.rehearse.running import PROGRAMS

pytestmark = pytest.mark.process
ROOT = Path(__file__).parents[2]

_TURN = "<|im_start|>{{ message['role'] }}\n"
_END = "<|im_end|>\n"
TEMPLATES = {
    "appends": f"{{% for message in messages %}}{_TURN}{{{{ message['content'] }}}}{_END}{{% endfor %}}",
    # thinking stays in the last answer alone, as Qwen3's template has it
    "forgets": (
        f"{{% for message in messages %}}{_TURN}{{% if loop.last %}}{{{{ message['content'] }}}}{{% else %}}"
        f"{{{{ message['content'].split('</think>')[-1] }}}}{{% endif %}}{_END}{{% endfor %}}"
    ),
    "knows-no-tools": (
        "{% for message in messages %}{% if message['role'] == 'tool' %}{{ raise_exception('roles alternate') }}"
        f"{{% endif %}}{_TURN}{{{{ message['content'] }}}}{_END}{{% endfor %}}"
    ),
    "mended-by-the-trainer": "",
    "never-ends": f"{{% for message in messages %}}{_TURN}{{{{ message['content'] }}}}\n{{% endfor %}}",
}

#: looks at each template as a trainer whose rollouts have several turns would have it
_PROGRAM = """
import json, sys
from types import SimpleNamespace
sys.path[:0] = sys.argv[1:3]
from datasets import Dataset
from doctor.monitors.rehearse import conversations
from stage import tokenizer
templates = json.loads(sys.argv[3])
for name, template in templates.items():
    made = tokenizer()
    made.chat_template = template or templates["forgets"]
    own = None if template else templates["appends"]
    data = Dataset.from_list([{"prompt": [{"role": "user", "content": "What is 2 + 3?"}]}])
    given = {"processing_class": made, "train_dataset": data, "tools": [print], "model": None, "chat_template": own}
    conversations.look(SimpleNamespace(**given))
"""


@pytest.fixture(scope="module")
def told(python: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Template -> what was noted of it."""
    folder = tmp_path_factory.mktemp("conversations")
    (folder / "stage").mkdir()
    settings = folder / "settings.json"
    settings.write_text(PassSettings(folder / "stage", time.time_ns(), held=True).as_json())
    words = [str(ROOT), str(PROGRAMS), json.dumps(TEMPLATES)]
    done = subprocess.run(
        [str(python), "-c", _PROGRAM, *words], cwd=folder, capture_output=True, text=True, timeout=200, check=False,
        env={VARIABLE: str(settings), "HOME": str(folder), "PATH": "/usr/bin:/bin", "HF_HUB_OFFLINE": "1"},
    )  # fmt: skip
    lines = [line for path in sorted(folder.glob("stage/journal/*")) for line in path.read_text().splitlines()]
    noted = [each for each in map(json.loads, lines) if each["kind"] == "conversation"]
    assert len(noted) == len(TEMPLATES), (done.stderr[-2000:], lines)
    return dict(zip(TEMPLATES, noted, strict=True))


def test_a_template_that_appends_is_left_in_peace(told: dict[str, dict[str, Any]]) -> None:
    noted = told["appends"]
    assert (noted["tools"], noted["broken"], noted["ends"], noted["same"]) == (True, [], True, True)
    assert noted["turns"] == 6
    assert template_rewrites_history.of_rehearsal(noted) is None


def test_an_answer_that_changes_when_another_turn_follows_is_told(told: dict[str, dict[str, Any]]) -> None:
    noted = told["forgets"]
    assert noted["broken"] == [1, 2]
    assert noted["text"].startswith("<think>")
    found = template_rewrites_history.of_rehearsal(noted)
    assert found is not None
    assert "answer 1" in found.words("en").headline
    assert template_rewrites_history.of_rehearsal({**noted, "several": False}) is None, "one turn: nothing follows"


def test_a_template_without_tools_is_given_turns_that_alternate(told: dict[str, dict[str, Any]]) -> None:
    noted = told["knows-no-tools"]
    assert (noted["tools"], noted["broken"], noted["turns"]) == (False, [], 4)


def test_an_answer_without_its_end_is_told(told: dict[str, dict[str, Any]]) -> None:
    noted = told["never-ends"]
    assert noted["ends"] is False
    found = template_rewrites_history.of_rehearsal(noted)
    assert found is not None
    assert "puts no end token after an answer" in found.words("en").headline
    assert template_rewrites_history.of_rehearsal({**noted, "ends": None}) is None, "nobody knows which token ends one"
    assert template_rewrites_history.of_rehearsal({**noted, "several": False}) is None


def test_ids_that_do_not_survive_are_worth_knowing(told: dict[str, dict[str, Any]]) -> None:
    found = template_rewrites_history.of_rehearsal({**told["appends"], "same": False})
    assert found is not None
    assert (found.severity.name.lower(), "change after" in found.words("en").headline) == ("info", True)


def test_the_trainers_own_template_counts(told: dict[str, dict[str, Any]]) -> None:
    assert told["mended-by-the-trainer"]["broken"] == []
