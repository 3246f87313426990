"""The gate: Great Expectations decides whether a run's baseline candidate may be promoted. Exit code 1: refused.

The suite is schemas/expectations/baseline.json; its parameters come from the feed's `gate`. An expectation of severity `warning`
is told and kept, but refuses nothing. Results are kept in the table gate_results and as Data Docs (HTML). A refused candidate
leaves the baseline in force as it is.
"""

import datetime as dt
import html
import json
import os

import pandas as pd
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from contracts.feeds import SCHEMAS, Feed
from jobs import lake, settings, spark
from jobs.settings import JobError, Platform
from jobs.transforms import baseline
from jobs.transforms.profile import profile

os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")  # must stand before the import: no usage statistics leave this machine
import great_expectations as gx

SAMPLE_ROWS = 5


def main(platform: Platform) -> None:
    arguments = settings.parser(__doc__)
    settings.add_run_id(arguments)
    options = arguments.parse_args()
    feed: Feed = options.feed
    candidate = _candidate_of(platform, feed, options.run_id)
    docs = f"{platform.lake}/data_docs/{feed.table}/{options.run_id}"
    session = spark.session(f"check_baseline {feed.name}", platform)
    results = validate(profiled(session, platform, feed, candidate), feed, docs)
    _keep(platform, feed, options.run_id, candidate.version, results, docs)
    for each in results:
        print(f"{_verdict(each)}  {each['expectation']}", flush=True)
    for each in results:
        if not each["success"]:
            print(f"{_verdict(each)}  {each['expectation']}: {each['notes']} Observed: {each['observed']}", flush=True)
            for row in each["sample"]:
                print(f"        {json.dumps(row)}", flush=True)
    refusing = [each["expectation"] for each in results if refuses(each)]
    if refusing:
        refused = f"gate refused candidate {candidate.version} of {feed.name}, the baseline in force is unchanged"
        raise JobError(f"{refused}: {'; '.join(refusing)}. Data Docs: {docs}/index.html")


def profiled(session: SparkSession, platform: Platform, feed: Feed, candidate: lake.Commit) -> pd.DataFrame:
    """The figures of every service and day type (see `transforms.profile`), from one pass over the candidate.

    What is in force is read only where the candidate is made from other inputs: elsewhere the two are the same. A backfilled
    candidate, for an earlier night than the one in force, is judged by itself: the other knows what came after.
    """
    as_of = dt.date.fromisoformat(candidate.note["as_of"])
    in_force, wanted = lake.baseline(platform, feed), candidate.note["inputs"]
    promoted = in_force.newest("inputs")
    ahead = promoted is not None and promoted.note["as_of"] > candidate.note["as_of"]
    compared = in_force.version() >= 0 and not ahead
    held = promoted.note["inputs"] if promoted and compared else {}
    changed = [int(each) for each in wanted.keys() | held.keys() if wanted.get(each) != held.get(each)]
    new = lake.candidate(platform, feed).read(session, candidate.version)
    old = in_force.read(session).where(F.col("DayType").isin(changed)) if compared else new.limit(0)
    last = as_of - dt.timedelta(days=1)
    history, columns = lake.history(platform, feed), ["ServiceName", "Slot", "Value"]
    runs = history.map_files(session, candidate.note["history_version"], [last], columns, baseline.pack, baseline.RUNS)
    last_day = baseline.by_day_type(runs, feed.holiday_dates(last, last))
    return profile(new, old, last_day, as_of, feed.slots, feed.gate.moved_percent).toArrow().to_pandas()


def validate(figures: pd.DataFrame, feed: Feed, docs: str) -> list[dict]:
    """Every expectation of the suite on those figures: with severity, notes, success, what was observed, rows at fault."""
    # A service's name is whatever a record's key said, and Data Docs take it for HTML.
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


def _verdict(result: dict) -> str:
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


def _candidate_of(platform: Platform, feed: Feed, run_id: str) -> lake.Commit:
    commits = lake.candidate(platform, feed).commits()
    found = next((commit for commit in commits if commit.note.get("run_id") == run_id), None)
    if found is None:
        raise JobError(f"baseline_candidate/{feed.table} holds none of run {run_id}; run jobs/build_baseline.py first")
    return found


def _keep(platform: Platform, feed: Feed, run_id: str, version: int, results: list[dict], docs: str) -> None:
    row = {
        "Feed": feed.name,
        "RunId": run_id,
        "CandidateVersion": version,
        "CheckedAt": dt.datetime.now(dt.UTC),
        "Success": not any(refuses(each) for each in results),
        "Results": json.dumps(results),
        "DocsPath": docs,
    }
    lake.gate_results(platform).add([row], {"run_id": run_id})


if __name__ == "__main__":
    settings.run(main)
