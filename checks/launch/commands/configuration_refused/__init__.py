"""Judges the rows of configuration-refused (LCH6560) that have no file of their own."""

from __future__ import annotations

from doctor.catalogue.finding import Finding
from doctor.catalogue.shared.refusals import about_data, refused, setting_refused
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of


def explain(hits: Hits) -> Finding | None:
    """Only where the message names settings and tells their relation.

    What a row `heeds`: "settings" where the frames of its signature check versions, devices and objects, too; "all"
    where they check settings alone; "no_data" where they look at batches as well.
    """
    row = words_of(f"{__name__}.{hits.row}")
    program, frame = row.values["program"], row.signatures[0].frame
    if row.values["heeds"] == "settings":
        return setting_refused(row.problem, program, hits, frame)
    if row.values["heeds"] == "no_data" and about_data(hits.get("message") or ""):
        return None
    return refused(row.problem, program, hits, frame)
