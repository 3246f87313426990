"""Incidents as the API gives them: with their times, and with what people said of them."""

from collections.abc import Sequence
from typing import Literal

from contracts import exclusions
from contracts.exclusions import Statement
from contracts.feeds import Feed
from serving import models, series
from serving.incidents import Incident

SHOWN_NOTES = 50


def incident_info(feed: Feed, incident: Incident, said: Sequence[Statement]) -> models.IncidentInfo:
    cells = {name: getattr(incident, name) for name in Incident.__dataclass_fields__}
    times = {name: series.instant(cells[name]) for name in ("start", "last", "at", "end", "peak_at") if cells[name] is not None}
    newest = exclusions.verdict(said, incident.id, incident.service, times["start"], incident.group)
    kind: Literal["false", "exclude"] = "false" if newest and newest.kind == "false" else "exclude"
    verdict = models.Verdict(statement=newest.id, kind=kind, by=newest.by, at=newest.at, reason=newest.reason) if newest else None
    seen = exclusions.acknowledgement(said, incident.id)
    acknowledged = models.Acknowledgement(statement=seen.id, by=seen.by, at=seen.at, reason=seen.reason) if seen else None
    written = exclusions.notes(said, incident.id)[-SHOWN_NOTES:]
    notes = [models.Note(statement=each.id, by=each.by, at=each.at, text=each.reason) for each in written]
    local = times["start"].astimezone(feed.zone)
    return models.IncidentInfo(
        feed=feed.name, start_local=local, acknowledgement=acknowledged, verdict=verdict, notes=notes, **(cells | times)
    )
