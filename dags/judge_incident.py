"""
# Judge an incident

Keeps what a person says of an incident or of readings, with who, when and why, as one statement in `exclusions/<feed>`. The page
and `GET /api/feeds/<feed>/incidents` show it beside the incident. `sundial incidents` triggers this DAG.

| verdict | what it says | needs |
|---|---|---|
| `acknowledge` | you look after the incident | **Incident** |
| `false` | the incident is a false alarm, its readings are normal | **Incident** |
| `exclude` | the readings are not normal | **Incident**, or **From** and **To** (with **Service**, if not of all services) |
| `note` | the text in **Reason**, and nothing follows from it | **Incident** |
| `take_back` | an earlier statement no longer counts | **Statement** |

The detector does not learn from readings that are not normal. So `find_incidents.<feed>` runs afterwards: if readings were
excluded, or an exclusion was taken back, it walks again from the first date of these readings. Then its tables are as if it had
been so all the time. Unpause `find_incidents.<feed>` for that.

## Run it by hand

*Trigger* it with the verdict, what it is about, and the reason. The log of `judge_incident` has the number of the statement, with
which you can take it back, and says how many readings are excluded. `sundial incidents list` shows incidents and statements.

## When it fails

- **`judge_incident` is red:** the last line of its log says what is wrong with the Params, and which choices there are; trigger
  the DAG again. Nothing was written. If the line says that the table has changed, another person judged at the same moment:
  *Clear* the task.
"""

import datetime as dt

from airflow.sdk import Param

from contracts.feeds import load_feeds
from dags.feed_dags import BY, MINUTE, RUN_ID, USER, asset, feed_dag
from dags.lineage import topic
from dags.spark_job import DEFAULT_POOL, spark_job

# Airflow's form goes by the format `date-time`, but Airflow does not check it.
INSTANT = r"^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.]\d+)?)?(Z|[+-]\d\d:\d\d)?)?$"


def instant(title: str, what: str) -> Param:
    description = f"{what} UTC, unless it has an offset."
    return Param(None, type=["string", "null"], format="date-time", pattern=INSTANT, title=title, description=description)


def text(title: str, most: int, what: str) -> Param:
    return Param(None, type=["string", "null"], maxLength=most, title=title, description=what)


PARAMS = {
    "verdict": Param(
        type="string",
        enum=["acknowledge", "false", "exclude", "note", "take_back"],
        title="Verdict",
        description="What to say; see above.",
    ),
    "incident": text("Incident", 1100, "Its id, e.g. `www@2026-11-21T12:00:00Z`."),
    "service": text("Service", 1024, "Whose readings from *From* to *To* are excluded. Empty: those of all services."),
    "from": instant("From", "The first moment to exclude."),
    "to": instant("To", "The end of what is excluded; a reading at this moment stays."),
    "statement": Param(
        None, type=["integer", "null"], minimum=1, title="Statement", description="Number of the statement to take back."
    ),
    "reason": Param(
        type="string",
        minLength=1,
        maxLength=500,
        title="Reason",
        description="Why, or the text of the note. Kept with the statement.",
    ),
    "user": USER,
}


def given(param: str) -> str:
    """The option of a Param, unless that is empty."""
    return f"{{{{ '--{param}=' ~ params['{param}'] if params['{param}'] else '' }}}}"


for feed in load_feeds().values():
    with feed_dag(
        "judge_incident",
        feed,
        __doc__,
        ["batch", "repair"],
        schedule=None,
        dagrun_timeout=dt.timedelta(hours=1),
        params=PARAMS,
    ):
        spark_job(
            "judge_incident",
            feed.name,
            RUN_ID,
            "--verdict={{ params.verdict }}",
            *map(given, ("incident", "service", "from", "to", "statement")),
            BY,
            "--reason={{ params.reason }}",
            inlets=[asset("incidents", feed), topic(feed.incidents_topic)],
            outlets=[asset("exclusions", feed)],
            pool=DEFAULT_POOL,  # it starts no Spark session
            retries=0,  # a person waits for it, and can trigger it again
            execution_timeout=15 * MINUTE,
        )
