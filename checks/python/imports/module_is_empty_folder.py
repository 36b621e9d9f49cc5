"""Judges module-is-empty-folder (PYT011), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Skip, Where, found
from doctor.catalogue.shared.requirements import distributions_of
from doctor.catalogue.words import words_of
from doctor.facts.packages import Packages
from doctor.facts.script import Script
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


#: what Transformers' trainers use as soon as it can be found, named in `report_to` or not
_FOUND_IS_USED = frozenset({"wandb", "mlflow", "swanlab", "trackio"})


@check(PROBLEM)
def module_is_empty_folder(packages: Packages, script: Script | None, training: Training | None) -> Judgement:
    """Only folders that this run would trip over: imported by the script, or a tracker that trainers look for."""
    imported = {name.partition(".")[0] for name in script.imports} if script is not None else set()
    for module in packages.namespaces:
        folder = packages.modules.get(module)
        if not folder or any(name in packages.distributions for name in distributions_of(module)):
            continue
        if module not in imported and not (module in _FOUND_IS_USED and training is not None):
            continue
        if not packages.complete:
            yield Skip(packages.why_unknown(module))
            continue
        yield found(
            PROBLEM,
            MESSAGE,
            where=Where(file=folder),
            commands=(f"pip install {distributions_of(module)[0]}",),
            evidence=(Observed.quoted(folder, "a folder without `__init__.py`"),),
            module=module,
            folder=folder,
        )
