"""The types that the page's JavaScript is checked against are the API's."""

import re
from pathlib import Path

from pydantic import BaseModel

from serving import baseline_models, fleet_models, health_models, models, overview_models, statement_models
from serving.access.provider_routes import ProviderInfo
from serving.access.routes import Me
from serving.acts.models import ActInfo
from serving.query_tables import models as query_models

TYPES = (Path(models.__file__).parent / "page.d.ts").read_text()
OF_EVENTS = {"PromotionEvent", "GateEvent", "GateOutcome", "RowEvent"}
NOT_SHOWN = OF_EVENTS | {"Problem", "Bucket"}  # the page reads the text of a problem, and no bucket by itself
OF_FLEET = {"SparkPoint", "FleetRow", "FleetFilter", "FleetLine"}
ONLY_THE_PAGES = OF_FLEET | {"Plot", "Shown", "Span", "IncidentFilter", "ChartLine", "OwnChart"}


def interfaces() -> dict[str, dict[str, str]]:
    """Fields and their types by the name of each interface that stands for itself."""
    found = {}
    for name, base, body in re.findall(
        r"^export interface (\w+)(?: extends (\w+))? \{\n(.*?)^\}", TYPES, re.MULTILINE | re.DOTALL
    ):
        found[name] = found.get(base, {}) | dict(re.findall(r"^  (\w+): (.+);$", body, re.MULTILINE))
    return {name: fields for name, fields in found.items() if name not in ONLY_THE_PAGES}


def test_the_page_knows_each_model_field_by_field():
    rooms = (models, baseline_models, health_models, fleet_models, overview_models, query_models, statement_models)
    others = {each.__name__: each for each in (Me, ProviderInfo, ActInfo)}
    all_ = {name: each for room in rooms for name, each in vars(room).items()} | others
    declared = {name: each for name, each in all_.items() if isinstance(each, type) and issubclass(each, BaseModel)}
    del declared["BaseModel"]
    wanted = {name: {field: _nullable(each, field) for field in each.model_fields} for name, each in declared.items()}
    known = {name: {field: kind.endswith("| null") for field, kind in each.items()} for name, each in interfaces().items()}
    assert known == {name: fields for name, fields in wanted.items() if name not in NOT_SHOWN}


def _nullable(model: type[BaseModel], field: str) -> bool:
    described = model.model_json_schema()["properties"][field]
    return {"type": "null"} in described.get("anyOf", [])
