"""Judges verl-dataloader-empty (VRL018), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.verl_settings import Verl, place_settings, verl_of
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.dataset import Dataset
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.verl_config import VerlConfig

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
MESSAGE = TOML["main"]

#: what brings rows of its own, or takes them otherwise
_OWN = ("data.custom_cls.path", "data.datagen.path", "data.sampler.class_path")
_BATCHES = ("data.gen_batch_size", "data.train_batch_size")


@check(PROBLEM)
def fewer_rows_than_a_batch(verl_config: VerlConfig, packages: Packages, launch: Launch, dataset: Dataset) -> Judgement:
    """One file of rows, counted; what is filtered out of it only makes it less.

    https://github.com/volcengine/verl/blob/b178a3cd56f58b2d502255daba591e92833930a7/verl/trainer/ppo/ray_trainer.py#L350
    """
    verl = verl_of(verl_config, packages, launch)
    if not isinstance(verl, Verl):
        yield from verl
        return
    files = verl.value("data.train_files")
    alone = isinstance(files, str) or (isinstance(files, list | tuple) and len(files) == 1)
    if not alone or dataset.rows is None or any(verl.value(each) is not None for each in _OWN):
        return
    key = next((each for each in _BATCHES if verl.value(each) is not None), _BATCHES[-1])
    batch = verl.number(key)
    if batch is None or not dataset.rows < batch:
        return
    yield found(
        PROBLEM,
        MESSAGE,
        confidence=LIKELY,
        rows=dataset.rows,
        batch=batch,
        key=key,
        where=place_of(*place_settings(verl, key, "data.train_files")),
        evidence=(*verl.quoted(key), Observed.quoted(dataset.path, f"{dataset.rows} rows")),
    )


def explain(hits: Hits) -> Finding:
    """Which loader, and how many rows the filter left."""
    training = hits.get("which") == "Train"
    left = hits.get("left")
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED,
        training=training,
        left=left,
    )
