"""The DAGs beside the night: what came late repairs the baseline by itself, lost rows come back, old dates go."""

import datetime as dt
import json
from collections.abc import Iterator
from contextlib import contextmanager

import deltalake
import httpx
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from contracts.users import Users
from stack.commands.cli import app
from stack.parts import airflow
from stack.parts.dag_run import watch
from tests.end_to_end import oracle
from tests.end_to_end.story import FEED, NIGHT, SERVICES, Story
from tests.support.waiting import until

pytestmark = [pytest.mark.timeout(3600), pytest.mark.full]
ARCHIVE, REPAIR, MAINTAIN = (f"{kind}.{FEED.name}" for kind in ("archive_history", "repair_history", "maintain_tables"))
JUDGE = f"judge_incident.{FEED.name}"


@contextmanager
def paused_after(story: Story, *dags: str) -> Iterator[None]:
    """What they do by themselves would get between other tests."""
    try:
        yield
    finally:
        for dag in dags:
            story.api.pause(dag)


def run(story: Story, dag: str) -> str:
    """The run that is due, or one of now; its id, once it has succeeded."""
    started = story.api.start(dag)
    watch(story.api, dag, started, print, NIGHT)
    return started


def judged_by_api(story: Story, statement: dict) -> str:
    """What an operator says by serving's API, with a token that `sundial users add` makes; the token."""
    users, token = Users.read(story.instance.users).added("olga", "operator", dt.datetime.now(dt.UTC), None)
    story.instance.users.write_text(users.text())
    with httpx.Client(base_url=story.instance.api, headers={"Authorization": f"Bearer {token}"}, timeout=60) as client:
        asked = client.post(f"/api/feeds/{FEED.name}/statements", json=statement)
        assert asked.status_code == 202, asked.text
        until("Airflow has done it", lambda: client.get(asked.headers["location"]).json()["state"] == "success", 300)
    return token


def history(story: Story) -> deltalake.DeltaTable:
    return deltalake.DeltaTable(str(story.instance.lake / "history" / FEED.table))


def note_of(table: deltalake.DeltaTable, run: str) -> dict:
    notes = (json.loads(commit.get("userMetadata") or "{}") for commit in table.history())
    return next(note for note in notes if note.get("run_id") == run)


def rows_of(story: Story, date: dt.date) -> dict[tuple[str, int], int]:
    """The values that history holds of a date, by service and instant."""
    columns = ["ServiceName", "Timestamp", "Value"]
    rows = history(story).to_pyarrow_table(partitions=[("Date", "=", str(date))], columns=columns).to_pylist()
    found = {(row["ServiceName"], round(row["Timestamp"].timestamp() * 1000)): row["Value"] for row in rows}
    assert len(found) == len(rows), "one row for each reading"
    return found


def sent_of(story: Story, date: dt.date) -> dict[tuple[str, int], int]:
    """What it must hold: the latest of what the topic holds."""
    story.verifier.look()
    every = ((service, at, value) for service, values in story.verifier.history.items() for at, value in values.items())
    return {(service, at): value for service, at, value in every if oracle.place(at)[0] == date}


def test_late_readings_are_archived_and_repair_the_baseline_by_themselves(story):
    story.calm()
    date = story.correct(2, hours=6)
    with paused_after(story, ARCHIVE, REPAIR):
        story.api.unpause(REPAIR)
        archived = run(story, ARCHIVE)
        assert str(date) in note_of(history(story), archived)["late"]
        caused = {"run_type": "asset_triggered", "order_by": "-run_after", "limit": 1}
        runs = until("the repair", lambda: story.api.call("GET", f"dags/{REPAIR}/dagRuns", params=caused)["dag_runs"], 300)
        repair = runs[0]["dag_run_id"]
        watch(story.api, REPAIR, repair, print, NIGHT)
    assert rows_of(story, date) == sent_of(story, date)
    assert note_of(history(story), repair)["repaired"][0] == str(date)
    story.sees(version := story.promoted(repair))
    assert f"passed the gate after a repair of {date} to " in story.commits()[version]["reason"]
    story.check_content(version)
    assert story.verifier.baseline(version) != story.verifier.baseline(story.first)
    story.play(rounds=20)
    story.all_judged()


def test_rows_that_were_lost_come_back_from_the_topic(story):
    story.calm()
    with paused_after(story, ARCHIVE):
        run(story, ARCHIVE)
    date = story.today() - dt.timedelta(days=3)
    history(story).delete(f"Date = '{date}' AND ServiceName = 'login'")
    assert {service for service, _ in rows_of(story, date)} == {"checkout"}
    with paused_after(story, REPAIR):
        story.api.unpause(REPAIR)
        repair = story.begin(REPAIR, **{"from": str(date), "to": str(date), "reason": "a disk was full"})
        watch(story.api, REPAIR, repair, print, NIGHT)
    assert rows_of(story, date) == sent_of(story, date)
    note = note_of(history(story), repair)
    assert (note["repaired"], note["reason"]) == ([str(date)] * 2, "a disk was full")
    story.sees(version := story.promoted(repair))
    story.check_content(version)


def test_dates_beyond_the_retention_go_and_nothing_else(story):
    story.calm()
    old = story.now - dt.timedelta(days=FEED.history_days + 2)
    at = int(old.timestamp() * 1000)
    date, _ = oracle.place(at)
    with paused_after(story, MAINTAIN):
        archive_long_ago(story, old, date, 7)
        assert rows_of(story, date) == {("checkout", at): 7}
        before, gates = dates(story), gate_runs(story)
        run(story, MAINTAIN)
    assert rows_of(story, date) == {}
    assert dates(story) == before - {str(date)}
    assert gate_runs(story) == gates
    assert len(gate_results(story).file_uris()) == 1
    yesterday = story.today() - dt.timedelta(days=1)
    assert rows_of(story, yesterday) == sent_of(story, yesterday)
    assert oracle.stored_baseline(story.verifier.table, story.first) == story.verifier.baseline(story.first)
    story.play(rounds=20)
    story.all_judged()


def archive_long_ago(story: Story, at: dt.datetime, date: dt.date, value: int) -> None:
    """As an archive run of that time has left it. Today a reading of so long ago is a dead letter."""
    yesterday = str(story.today() - dt.timedelta(days=1))
    row = history(story).to_pyarrow_table(partitions=[("Date", "=", yesterday)]).slice(0, 1)
    changed = {"ServiceName": "checkout", "Date": date, "Timestamp": at, "Value": value}
    old = pa.Table.from_pylist([row.to_pylist()[0] | changed], schema=row.schema)
    deltalake.write_deltalake(history(story), old, mode="append")


def dates(story: Story) -> set[str]:
    return {part["Date"] for part in history(story).partitions()}


def gate_results(story: Story) -> deltalake.DeltaTable:
    return deltalake.DeltaTable(str(story.instance.lake / "gate_results"))


def gate_runs(story: Story) -> list[str]:
    return sorted(gate_results(story).to_pyarrow_table(columns=["RunId"]).column("RunId").to_pylist())


def test_what_a_person_says_is_kept_with_the_name_and_can_be_taken_back(story):
    def judge(*words: str):
        return CliRunner().invoke(app, ["--home", str(story.instance.path), "incidents", *words])

    end = story.now.replace(minute=0, second=0) - dt.timedelta(hours=1)
    span = ("--from", (end - dt.timedelta(minutes=10)).isoformat(), "--to", end.isoformat())
    with paused_after(story, JUDGE):
        said = judge("exclude", FEED.name, "--service", SERVICES[0], *span, "--reason", "load test, 'planned'")
        assert said.exit_code == 0, said.stderr
        assert f"statement 1 is in force: not normal: {SERVICES[0]}, " in said.stdout
        wrong = judge("take-back", FEED.name, "7", "--reason", "a mistake")
        assert wrong.exit_code == 1
        assert "one that is in force can be taken back: 1" in wrong.stderr
        taken_back = judge("take-back", FEED.name, "1", "--reason", "a mistake")
        assert taken_back.exit_code == 0, taken_back.stderr
        token = judged_by_api(story, {"verdict": "exclude", "from": span[1], "to": span[3], "reason": "by the API"})
        events = story.api.call("GET", "assets/events", params={"source_dag_id": JUDGE})["asset_events"]
    rows = deltalake.DeltaTable(str(story.instance.lake / "exclusions" / FEED.table)).to_pyarrow_table().sort_by("Id").to_pylist()
    kept = [(row["Kind"], row["ServiceName"], row["End"], row["TakesBack"], row["By"], row["Reason"]) for row in rows]
    assert kept == [
        ("exclude", SERVICES[0], end, None, airflow.USER, "load test, 'planned'"),
        ("take_back", None, None, 1, airflow.USER, "a mistake"),
        ("exclude", None, end, None, f"olga, by {airflow.USER}", "by the API"),
    ]
    audit = (story.instance.logs / "audit.jsonl").read_text()
    assert json.loads(audit.splitlines()[-1])["user"] == "olga"
    assert token not in audit
    assert len(events) == len(rows), "the walk of incidents follows each"
