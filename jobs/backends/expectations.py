"""The gate's verdict on a candidate's figures, by Great Expectations.

A separate module, because importing Great Expectations takes seconds.
"""

import html
import json
import os

import pandas as pd

from contracts.declarations import SCHEMAS
from contracts.feeds import Feed

os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")  # must stand before the import: no usage statistics leave this machine
import great_expectations as gx

SAMPLE_ROWS = 5


def validate(figures: pd.DataFrame, feed: Feed, docs: str) -> list[dict]:
    """Every expectation of the suite on those figures: with severity, notes, success, what was observed, rows at fault."""
    # A service's name comes from a record's key and may be any text; Data Docs would show it as HTML.
    figures = figures.assign(ServiceName=figures["ServiceName"].map(html.escape))
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False}
    store = {"class_name": "TupleFilesystemStoreBackend", "base_directory": docs}
    site = {"class_name": "SiteBuilder", "site_index_builder": {"class_name": "DefaultSiteIndexBuilder"}, "store_backend": store}
    context.add_data_docs_site(site_name="gate", site_config=site)
    suite = gx.ExpectationSuite(**json.loads((SCHEMAS / "expectations" / "baseline.json").read_text()))
    context.suites.add(suite)
    asset = context.data_sources.add_pandas(name="pandas").add_dataframe_asset(name=feed.name)
    batch = asset.add_batch_definition_whole_dataframe("profile")
    definition = context.validation_definitions.add(gx.ValidationDefinition(name=feed.name, data=batch, suite=suite))
    checkpoint = context.checkpoints.add(
        gx.Checkpoint(
            name=f"gate-{feed.name}",
            validation_definitions=[definition],
            actions=[gx.checkpoint.UpdateDataDocsAction(name="docs", site_names=["gate"])],
            result_format={"result_format": "COMPLETE", "unexpected_index_column_names": ["ServiceName", "DayType"]},
        )
    )
    parameters = feed.gate.model_dump() | {"slots": [feed.slots]}
    outcome = checkpoint.run(batch_parameters={"dataframe": figures}, expectation_parameters=parameters)
    (run,) = outcome.run_results.values()
    return [_summary(each.to_json_dict()) for each in run.results]


def refuses(result: dict) -> bool:
    """Whether a failed expectation keeps the candidate from promotion; a warning does not."""
    return not result["success"] and result["severity"] != "warning"


def verdict(result: dict) -> str:
    """One word for a result."""
    return "passed " if result["success"] else "FAILED " if refuses(result) else "warning"


def _summary(result: dict) -> dict:
    config, found = result["expectation_config"], result["result"]
    kwargs = {name: value for name, value in config["kwargs"].items() if name != "batch_id"}
    broken = result["exception_info"].get("exception_message")
    at_fault = f"{found.get('unexpected_count')} rows at fault"
    return {
        "expectation": f"{config['type']}({', '.join(f'{name}={value}' for name, value in kwargs.items())})",
        "severity": config.get("severity") or "critical",
        "notes": config["meta"]["notes"],
        "success": result["success"],
        "observed": broken or found.get("observed_value", at_fault),
        "sample": found.get("partial_unexpected_index_list", [])[:SAMPLE_ROWS],
    }
