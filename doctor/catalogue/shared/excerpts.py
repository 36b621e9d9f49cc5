"""What an excerpt says of its run, for conditions that are data: settings, and trainer and program by their words."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.base.patterns import later
from doctor.catalogue.courses import Courses
from doctor.catalogue.shared.said import Said

#: settings that say how many processes a run has, where nothing else tells its world
_PROCESSES = ("nproc_per_node", "num_processes", "n_gpus_per_node", "trainer.n_gpus_per_node", "world_size")
#: settings that name the model, in the words of the frameworks
_MODELS = ("model_name_or_path", "model", "model.path", "pretrain", "model_name")
_TRAINER = later(r"\b(?P<name>[A-Z]\w{1,20})(?:Trainer|Config)\b")
#: words that name a framework whose configuration has no name of its own
_FRAMEWORKS = (("openrlhf", later(r"\bopenrlhf\b")),)
#: classes that end as trainers and their configurations do, and are none of these
_NO_TRAINERS = frozenset({"Auto", "Peft", "Lora", "BitsAndBytes", "Generation", "Model", "Training", "Script"})


def in_excerpt(courses: Courses) -> Said:
    """All that an excerpt says; an absence in it proves nothing.

    Besides the keys of `doctor.catalogue.shared.said` there is `words`, all that is quoted and told.
    """
    settings = {name: Observed.written(name, value, True, str(value)) for name, value in courses.settings.items()}
    model = next((str(courses.settings[name]) for name in _MODELS if name in courses.settings), None)
    named = {match["name"].removesuffix("Script") for match in _TRAINER.finditer(courses.words)} - _NO_TRAINERS
    framework = next((name for name, pattern in _FRAMEWORKS if pattern.search(courses.words)), None)
    others: dict[str, object] = {
        "world.processes": courses.number(*_PROCESSES),
        "world.zero_stage": courses.number("zero_stage", "zero_optimization.stage"),
        "trainer": f"{named.pop()}Trainer" if len(named) == 1 else None,
        "model.name": model, "framework": framework, "script.imports": None,
        "words": courses.words, "command": courses.words,
    }  # fmt: skip
    return Said(settings, others, whole=False)
