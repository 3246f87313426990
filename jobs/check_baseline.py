"""The gate: Great Expectations decides whether a run's baseline candidate may be promoted. Exit code 1: refused.

The suite is schemas/expectations/baseline.json; its parameters come from the feed's `gate`. Results are kept in the table
gate_results and as Data Docs (HTML). A refused candidate leaves the baseline in force as it is.
"""

import datetime as dt
import json
import os

from pyspark.sql import DataFrame, SparkSession

from contracts.feeds import SCHEMAS, Feed
from jobs import lake, settings, spark
from jobs.settings import JobError, Platform
from jobs.transforms.profile import profile

os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")  # must stand before the import: no usage statistics leave this machine
import great_expectations as gx

SAMPLE_ROWS = 5


def main(platform: Platform) -> None:
    arguments = settings.parser(__doc__)
    settings.add_run_id(arguments)
    options = arguments.parse_args()
    feed: Feed = options.feed
    session = spark.session(f"check_baseline {feed.name}", platform)
    version = _candidate_of(platform, feed, options.run_id)
    candidate = lake.candidate(platform, feed).read(session, version)
    in_force = lake.baseline(platform, feed)
    compared = in_force.read(session) if in_force.version() >= 0 else candidate.limit(0)
    docs = f"{platform.lake}/data_docs/{feed.table}/{options.run_id}"
    results = validate(profile(candidate, compared, feed.gate.moved_percent), feed, docs)
    _keep(session, platform, feed, options.run_id, version, results, docs)
    for each in results:
        print(f"{'passed' if each['success'] else 'FAILED'}  {each['expectation']}", flush=True)
    failed = [each for each in results if not each["success"]]
    for each in failed:
        print(f"FAILED  {each['expectation']}: {each['notes']} Observed: {each['observed']}", flush=True)
        for row in each["sample"]:
            print(f"        {json.dumps(row)}", flush=True)
    if failed:
        names = "; ".join(each["expectation"] for each in failed)
        refused = f"gate refused candidate {version} of {feed.name}, the baseline in force is unchanged"
        raise JobError(f"{refused}: {names}. Data Docs: {docs}/index.html")


def validate(profiled: DataFrame, feed: Feed, docs: str) -> list[dict]:
    """Every expectation of the suite on that profile: expectation, notes, success, observed and a sample of the rows at fault."""
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False}
    store = {"class_name": "TupleFilesystemStoreBackend", "base_directory": docs}
    site = {"class_name": "SiteBuilder", "site_index_builder": {"class_name": "DefaultSiteIndexBuilder"}, "store_backend": store}
    context.add_data_docs_site(site_name="gate", site_config=site)
    suite = gx.ExpectationSuite(**json.loads((SCHEMAS / "expectations" / "baseline.json").read_text()))
    context.suites.add(suite)
    asset = context.data_sources.add_spark(name="spark").add_dataframe_asset(name=feed.name)
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
    parameters = {"slots": [feed.slots], "covered_share": feed.gate.covered_share, "moved_share": feed.gate.moved_share}
    outcome = checkpoint.run(batch_parameters={"dataframe": profiled.cache()}, expectation_parameters=parameters)
    (run,) = outcome.run_results.values()
    return [_summary(each.to_json_dict()) for each in run.results]


def _summary(result: dict) -> dict:
    config, found = result["expectation_config"], result["result"]
    kwargs = {name: value for name, value in config["kwargs"].items() if name != "batch_id"}
    broken = result["exception_info"].get("exception_message")
    at_fault = f"{found.get('unexpected_count')} rows at fault"
    return {
        "expectation": f"{config['type']}({', '.join(f'{name}={value}' for name, value in kwargs.items())})",
        "notes": config["meta"]["notes"],
        "success": result["success"],
        "observed": broken or found.get("observed_value", at_fault),
        "sample": found.get("partial_unexpected_index_list", [])[:SAMPLE_ROWS],
    }


def _candidate_of(platform: Platform, feed: Feed, run_id: str) -> int:
    commits = lake.candidate(platform, feed).commits()
    found = next((commit.version for commit in commits if commit.note.get("run_id") == run_id), None)
    if found is None:
        raise JobError(f"baseline_candidate/{feed.table} holds none of run {run_id}; run jobs/build_baseline.py first")
    return found


def _keep(
    session: SparkSession, platform: Platform, feed: Feed, run_id: str, version: int, results: list[dict], docs: str
) -> None:
    success = all(each["success"] for each in results)
    row = (feed.name, run_id, version, dt.datetime.now(dt.UTC), success, json.dumps(results), docs)
    identity = "Feed string, RunId string, CandidateVersion long, CheckedAt timestamp"
    schema = f"{identity}, Success boolean, Results string, DocsPath string"
    lake.gate_results(platform).append(session.createDataFrame([row], schema), {"run_id": run_id})


if __name__ == "__main__":
    settings.run(main)
