"""Archiving from a real broker: exact under repeats, corrections, late rows and garbage."""

import datetime as dt
import shutil
from dataclasses import replace

import pytest
from pyspark.sql import functions as F

from jobs import archive, build_baseline, repair_history, score
from jobs.backends import history_table, offset_ledger, tables
from jobs.errors import JobError
from jobs.transforms.history_rows import COLUMNS
from stack.deploy import topics
from tests.jobs.readings import NOON, kept, produce
from tests.support.topics import consume

FRIDAY = ("--from", "2026-11-20", "--to", "2026-11-20")


def dead_letters(broker, feed) -> list[tuple[bytes, dict]]:
    letters = consume(broker.kafka, feed.dead_letter_topic)
    found = {message.key(): (message.value(), dict(message.headers())) for message in letters}
    return [found[key] for key in sorted(found)]


def test_history_holds_each_reading_on_its_local_date_and_garbage_is_dead_lettered(spark, run_job, live_platform, broker, feed):
    night = dt.datetime(2026, 11, 21, 4, 59, 50, tzinfo=dt.UTC)
    produce(broker, feed, ("www", NOON, 7), ("login", night, 9), ("www", b"\x00garbage", 0), ("www", night, 0))
    run_job(archive, live_platform, "--run-id", "run-1", "--feed", feed.name)
    friday = dt.date(2026, 11, 20)
    expected = [("login", night, 9, friday), ("www", NOON, 7, friday), ("www", night, 0, friday)]
    assert kept(spark, live_platform, feed) == expected
    ((payload, headers),) = dead_letters(broker, feed)
    assert payload == b"\x00garbage"
    assert (headers["topic"], headers["offset"], headers["key"]) == (feed.topic.encode(), b"2", b"www")
    assert headers["reason"].startswith(b"unknown schema id")


@pytest.mark.full
def test_archiving_again_changes_nothing(spark, run_job, live_platform, broker, feed):
    produce(broker, feed, ("www", NOON, 7))
    run_job(archive, live_platform, "--run-id", "run-1", "--feed", feed.name)
    version = tables.history(live_platform, feed).version()
    run_job(archive, live_platform, "--run-id", "run-1", "--feed", feed.name)
    assert tables.history(live_platform, feed).version() == version
    assert kept(spark, live_platform, feed) == [("www", NOON, 7, dt.date(2026, 11, 20))]


def test_a_correction_replaces_and_a_late_reading_lands_in_its_own_date(spark, run_job, live_platform, broker, feed):
    late = NOON - dt.timedelta(days=400)
    produce(broker, feed, ("www", NOON, 7), ("www", NOON, 8))
    run_job(archive, live_platform, "--run-id", "run-1", "--feed", feed.name)
    assert kept(spark, live_platform, feed) == [("www", NOON, 8, dt.date(2026, 11, 20))]
    produce(broker, feed, ("www", NOON, 9), ("www", late, 1))
    run_job(archive, live_platform, "--run-id", "run-1", "--feed", feed.name)
    assert kept(spark, live_platform, feed) == [("www", late, 1, dt.date(2025, 10, 16)), ("www", NOON, 9, dt.date(2026, 11, 20))]


@pytest.mark.full
def test_a_correction_in_another_partition_replaces_by_the_brokers_time(spark, run_job, live_platform, broker, feed):
    topics.deploy(broker.kafka, [each if each.name != feed.topic else replace(each, partitions=2) for each in feed.topics])
    produce(broker, feed, ("other", NOON, 1), ("other", NOON, 2), ("www", NOON, 7), partition=0)
    produce(broker, feed, ("www", NOON, 8), partition=1)
    run_job(archive, live_platform, "--run-id", "run-1", "--feed", feed.name)
    friday = dt.date(2026, 11, 20)
    assert kept(spark, live_platform, feed) == [("other", NOON, 2, friday), ("www", NOON, 8, friday)]


@pytest.mark.full
def test_a_table_of_a_release_without_the_brokers_time_goes_on(spark, run_job, live_platform, broker, feed):
    produce(broker, feed, ("www", NOON, 7), ("login", NOON, 1))
    run_job(archive, live_platform, "--run-id", "run-1", "--feed", feed.name)
    table = tables.history(live_platform, feed)
    older, note = table.read(spark).drop("KafkaTimestamp").toPandas(), table.commits(1)[0].note
    shutil.rmtree(table.path)
    columns = {name: kind for name, kind in COLUMNS.items() if name != "KafkaTimestamp"}
    older = spark.createDataFrame(older, ", ".join(f"{name} {kind}" for name, kind in columns.items()))
    table.replace(older, [], note)
    assert "KafkaTimestamp" not in table.read(spark).columns
    produce(broker, feed, ("www", NOON, 8), ("www", NOON + dt.timedelta(days=1), 9))
    run_job(archive, live_platform, "--run-id", "run-2", "--feed", feed.name)
    friday, saturday = dt.date(2026, 11, 20), dt.date(2026, 11, 21)
    expected = [("login", NOON, 1, friday), ("www", NOON, 8, friday), ("www", NOON + dt.timedelta(days=1), 9, saturday)]
    assert kept(spark, live_platform, feed) == expected
    assert {row.ServiceName for row in table.read(spark).where("KafkaTimestamp IS NULL").collect()} == {"login"}
    run_job(build_baseline, live_platform, "--run-id", "run-2", "--feed", feed.name, "--as-of", "2026-11-23")
    assert tables.candidate(live_platform, feed).version() == 0


@pytest.mark.full
@pytest.mark.parametrize(
    ("change", "differs"),
    [
        ({"interval_seconds": 20}, "interval_seconds was 10 and is 20"),
        ({"timezone": "Europe/Paris"}, "timezone was America/New_York and is Europe/Paris"),
    ],
)
def test_a_changed_interval_or_zone_is_refused_and_nothing_is_lost(
    run_job, live_platform, broker, feed, monkeypatch, own_signals, change, differs
):
    produce(broker, feed, ("www", NOON, 7))
    run_job(archive, live_platform, "--run-id", "run-1", "--feed", feed.name)
    version = tables.history(live_platform, feed).version()
    produce(broker, feed, ("www", b"garbage", 0), ("www", NOON + dt.timedelta(seconds=10), 8))
    with monkeypatch.context() as patch:
        patch.setattr("jobs.backends.settings.load_feed", lambda name: feed.model_copy(update=change))
        run = ("--run-id", "run-2")
        for job, options in ((archive, run), (repair_history, (*run, *FRIDAY)), (build_baseline, run), (score, ())):
            with pytest.raises(JobError, match=f"was made with another interval or time zone: {differs}; take the change back"):
                run_job(job, live_platform, "--feed", feed.name, *options)
    assert (tables.history(live_platform, feed).version(), dead_letters(broker, feed)) == (version, [])
    run_job(archive, live_platform, "--run-id", "run-3", "--feed", feed.name)
    assert "offsets" in tables.history(live_platform, feed).commits()[0].note
    assert len(dead_letters(broker, feed)) == 1


@pytest.mark.full
def test_late_dates_stand_in_the_commits_note(run_job, live_platform, broker, feed, capsys):
    produce(broker, feed, ("www", NOON - dt.timedelta(days=1), 1), ("www", NOON, 7))
    run_job(archive, live_platform, "--run-id", "run-1", "--feed", feed.name)
    produce(broker, feed, ("login", NOON, 9), ("www", NOON - dt.timedelta(days=1, minutes=1), 2))
    run_job(archive, live_platform, "--run-id", "run-1", "--feed", feed.name)
    second, first = tables.history(live_platform, feed).commits()
    assert (first.note["rows"], first.note["late"]) == ({"2026-11-19": 1, "2026-11-20": 1}, [])
    assert (second.note["rows"], second.note["late"]) == ({"2026-11-19": 1, "2026-11-20": 1}, ["2026-11-19"])
    assert "2 records of 2026-11-19 to 2026-11-20, late ones of 2026-11-19" in capsys.readouterr().out


@pytest.mark.full
def test_readings_of_today_are_not_late_after_one_of_a_date_to_come(run_job, live_platform, broker, feed):
    """A clock that is ahead gives a reading of a date to come, which is the table's newest until then."""
    now, day = dt.datetime.now(dt.UTC), dt.timedelta(days=1)
    today = now.astimezone(feed.zone).date()
    produce(broker, feed, ("www", now - day, 1), ("www", now, 2), ("ahead", now + 3 * day, 3), ("ahead", now + 5 * day, 3))
    run_job(archive, live_platform, "--run-id", "run-1", "--feed", feed.name)
    produce(broker, feed, ("login", now, 4), ("ahead", now + 3 * day, 4))
    run_job(archive, live_platform, "--run-id", "run-2", "--feed", feed.name)
    produce(broker, feed, ("login", now - day, 5))
    run_job(archive, live_platform, "--run-id", "run-3", "--feed", feed.name)
    third, second, first = tables.history(live_platform, feed).commits()
    assert [each.note["late"] for each in (first, second, third)] == [[], [], [str(today - day)]]


@pytest.mark.full
def test_a_backlog_is_archived_in_steps_that_each_commit(spark, run_job, live_platform, broker, feed, capsys, monkeypatch):
    readings = [("www", NOON + dt.timedelta(seconds=10 * number), number) for number in range(10)]
    produce(broker, feed, *readings)
    steps = archive._archive
    done = []

    def dies_in_the_third(*arguments):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(steps(*arguments))

    with monkeypatch.context() as patch:
        patch.setattr(archive, "_archive", dies_in_the_third)
        with pytest.raises(KeyboardInterrupt):
            run_job(archive, live_platform, "--run-id", "run-1", "--feed", feed.name, "--step", "4")
    table = tables.history(live_platform, feed)
    assert [sum(commit.note["offsets"].values()) for commit in table.commits()] == [6, 3]
    assert "6 of 10 records archived (60 %)" in capsys.readouterr().out
    run_job(archive, live_platform, "--run-id", "run-1", "--feed", feed.name, "--step", "4")
    assert kept(spark, live_platform, feed) == [(*reading, dt.date(2026, 11, 20)) for reading in readings]
    assert all(len(paths) == 1 for paths in files(table).values()), "a date is as few files as its rows allow"


def files(table: tables.Table) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in table.log().file_uris():
        found.setdefault(path.split("Date=")[1][:10], []).append(path)
    return found


@pytest.mark.full
def test_a_repair_makes_dates_anew_from_the_topic_and_keeps_what_it_no_longer_holds(spark, run_job, live_platform, broker, feed):
    day = dt.timedelta(days=1)
    now = dt.datetime.now(dt.UTC).replace(microsecond=0)
    today = now.astimezone(feed.zone).date()
    produce(broker, feed, ("www", now - day, 1), ("www", now, 2), ("login", now, 3))
    run_job(archive, live_platform, "--run-id", "run-1", "--feed", feed.name)
    table = tables.history(live_platform, feed)
    damaged = table.read(spark).where("ServiceName = 'www'").withColumn("Value", F.col("Value") + 100)
    nowhere = {"KafkaPartition": F.lit(-1), "KafkaOffset": F.lit(-1), "KafkaTimestamp": F.lit(None)}
    old = table.read(spark).limit(1).withColumns({"ServiceName": F.lit("old"), "Date": F.lit(today)} | nowhere)
    history_table.write(spark, table, damaged.unionByName(old).cache(), [today - day, today], {})
    run_job(
        repair_history,
        live_platform,
        "--run-id",
        "run-1",
        "--feed",
        feed.name,
        "--from",
        str(today),
        "--to",
        str(today),
        "--reason",
        "test",
    )
    repaired = {(service, value, date) for service, _, value, date in kept(spark, live_platform, feed)}
    assert {row for row in repaired if row[0] != "old"} == {("www", 101, today - day), ("www", 2, today), ("login", 3, today)}
    assert [row[0] for row in repaired].count("old") == 1
    newest = table.commits(1)[0].note
    assert (newest["repaired"], newest["reason"]) == ([str(today), str(today)], "test")
    assert sum(offset_ledger.archived(table).values()) == 3, "what is archived is still known"


def test_a_repair_that_cannot_be_meant_is_refused(run_job, live_platform, feed):
    with pytest.raises(JobError, match="--from 2026-11-02 --to 2026-11-01: must be 1 to 400 days"):
        run_job(
            repair_history, live_platform, "--run-id", "run-1", "--feed", feed.name, "--from", "2026-11-02", "--to", "2026-11-01"
        )
    with pytest.raises(JobError, match="was never archived"):
        run_job(
            repair_history, live_platform, "--run-id", "run-1", "--feed", feed.name, "--from", "2026-11-01", "--to", "2026-11-02"
        )


@pytest.mark.full
def test_a_run_that_dies_before_its_commit_is_made_good_by_the_next(spark, run_job, live_platform, broker, feed, monkeypatch):
    produce(broker, feed, ("www", NOON, 7), ("www", b"?", 0))
    with monkeypatch.context() as patch:
        patch.setattr(tables.Table, "replace", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            run_job(archive, live_platform, "--run-id", "run-1", "--feed", feed.name)
    assert tables.history(live_platform, feed).version() == -1
    run_job(archive, live_platform, "--run-id", "run-1", "--feed", feed.name)
    assert kept(spark, live_platform, feed) == [("www", NOON, 7, dt.date(2026, 11, 20))]
    assert [payload for payload, _ in dead_letters(broker, feed)] == [b"?"]  # twice sent under one key
