"""Which version of a baseline is in force, from lists of commits as delta-rs gives them, newest first."""

import datetime as dt
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.baseline_log import BaselineLog, baseline_log, changed_day_types

MIDNIGHT = dt.datetime(2026, 11, 20, tzinfo=dt.UTC)
UPKEEP = (
    {"operation": "OPTIMIZE"},
    {"operation": "VACUUM START"},
    {"operation": "VACUUM END"},
    {"operation": "SET TBLPROPERTIES"},
    {"operation": "VACUUM START", "note": {"run_id": "upkeep-1", "maintained": True}},
    {"operation": "WRITE", "note": {"run_id": "upkeep-1", "maintained": True}},  # a note alone, as `commit_note` writes it
)


def promotion(candidate: int, **note) -> dict:
    own = {"candidate_version": candidate, "run_id": f"night-{candidate}", "as_of": "2026-11-20", "gate": True, "by": "scheduler"}
    own |= {"reason": "passed the gate", "at": "2026-11-20T03:00:00.250+01:00", "inputs": {"1": f"of {candidate}"}}
    return {"operation": "WRITE", "note": own | note}


def rollback(then: dict, to: int, **note) -> dict:
    own = {"rolled_back_to": to, "run_id": f"rollback-to-{to}", "by": "mara", "reason": "it was worse"}
    return {"operation": "RESTORE", "note": then["note"] | own | note}


def foreign(**commit) -> dict:
    return {"operation": "WRITE"} | commit


def history(*commits: dict) -> list[dict]:
    """Commits in the order in which they were made, as `DeltaTable.history()` gives them."""
    found = []
    for version, commit in enumerate(commits):
        metadata = {"userMetadata": json.dumps(commit["note"])} if "note" in commit else {}
        at = MIDNIGHT + dt.timedelta(hours=version)
        found.append({"version": version, "timestamp": int(at.timestamp() * 1000), "operation": commit["operation"], **metadata})
    return found[::-1]


def test_a_table_that_does_not_exist_has_nothing_in_force():
    assert baseline_log([]) == BaselineLog()
    assert (BaselineLog().in_force, BaselineLog().version_in_force, BaselineLog().table_version) == (None, -1, -1)


def test_a_promotion_says_since_when_by_whom_from_which_candidate_and_as_of_which_date():
    log = baseline_log(history(promotion(5), promotion(7, gate=False, by="omar", reason="a known move", as_of="2026-11-21")))
    newest, first = log.entries
    assert log.in_force is newest
    assert (newest.version, newest.kind, newest.candidate_version, newest.as_of) == (1, "promotion", 7, dt.date(2026, 11, 21))
    assert (newest.gate, newest.by, newest.reason) == (False, "omar", "a known move")
    assert (first.version, first.gate, first.run_id, first.inputs) == (0, True, "night-5", {"1": "of 5"})
    assert first.promoted_at == dt.datetime(2026, 11, 20, 2, 0, 0, 250_000, tzinfo=dt.UTC)
    assert first.rolled_back_to is None


def test_a_rollback_is_in_force_with_the_candidate_the_date_and_the_inputs_of_the_older_version():
    first = promotion(5)
    log = baseline_log(history(first, promotion(6, as_of="2026-11-21"), rollback(first, 0)))
    in_force = log.in_force
    assert (in_force.version, in_force.kind, in_force.rolled_back_to) == (2, "rollback", 0)
    assert (in_force.candidate_version, in_force.as_of, in_force.inputs) == (5, dt.date(2026, 11, 20), {"1": "of 5"})
    assert (in_force.by, in_force.reason, in_force.run_id) == ("mara", "it was worse", "rollback-to-0")
    assert [entry.version for entry in log.earlier] == [1, 0]


@pytest.mark.parametrize("upkeep", UPKEEP)
def test_upkeep_puts_nothing_in_force(upkeep):
    log = baseline_log(history(upkeep, promotion(5), upkeep, promotion(6), upkeep, upkeep))
    assert [(entry.version, entry.candidate_version) for entry in log.entries] == [(3, 6), (1, 5)]
    assert (log.version_in_force, log.table_version) == (3, 5)
    assert log.of_run("upkeep-1") is None
    alone = baseline_log(history(upkeep))
    assert (alone.in_force, alone.table_version) == (None, 0)


@pytest.mark.parametrize(
    "metadata",
    [None, "", "not JSON", "[1]", "{}", '{"by": 7, "candidate_version": "3", "gate": "yes", "as_of": "soon", "at": "x"}'],
)
def test_a_commit_that_names_no_candidate_is_in_force_as_a_write_of_which_nothing_is_known(metadata):
    commits = history(promotion(5), foreign())
    commits[0] |= {} if metadata is None else {"userMetadata": metadata}
    log = baseline_log(commits)
    found = log.in_force
    assert (found.version, found.kind, found.promoted_at) == (1, "write", MIDNIGHT + dt.timedelta(hours=1))
    assert (found.by, found.reason, found.gate, found.as_of, found.candidate_version, found.run_id, found.inputs) == (None,) * 7
    assert [entry.version for entry in log.earlier] == [0], "a rollback takes the write back"


def test_a_write_is_nothing_to_roll_back_to():
    log = baseline_log(history(promotion(5), foreign(), promotion(6)))
    assert [entry.version for entry in log.earlier] == [0]


def test_a_run_is_found_by_what_it_put_in_force():
    log = baseline_log(history(promotion(5), promotion(6), foreign(note={"run_id": "by hand"})))
    assert log.of_run("night-5").version == 0
    assert log.of_run("night-9") is None


def test_day_types_made_from_other_inputs_are_changed():
    assert changed_day_types({"1": "a", "2": "b", "7": "c"}, {"1": "a", "2": "x", "3": "y"}) == [2, 3, 7]
    assert changed_day_types({"1": "a"}, {"1": "a"}) == []
    assert changed_day_types({"1": "a"}, None) == [1, 2, 3, 4, 5, 6, 7], "nothing is known of the others"


@given(st.lists(st.sampled_from(["promotion", "rollback", "write", "upkeep"]), max_size=12), st.data())
def test_in_force_is_the_last_change_whatever_upkeep_lies_between(kinds, data):
    """Interleaved at will: what is in force, and what came before it, are the same as without the upkeep."""
    commits, changes = [], []  # changes: version, kind and candidate of each commit that is not upkeep, oldest first
    for kind in kinds:
        promoted = [(version, commits[version]) for version, made, _ in changes if made != "write"]
        if kind == "promotion":
            commits.append(promotion(len(commits)))
        elif kind == "rollback" and promoted:
            to, then = data.draw(st.sampled_from(promoted))
            commits.append(rollback(then, to))
        elif kind == "write":
            commits.append(foreign())
        else:
            commits.append(data.draw(st.sampled_from(UPKEEP)))
            continue
        changes.append((len(commits) - 1, kind, commits[-1].get("note", {}).get("candidate_version")))
    log = baseline_log(history(*commits))
    assert [(entry.version, entry.kind, entry.candidate_version) for entry in log.entries] == changes[::-1]
    assert log.version_in_force == (changes[-1][0] if changes else -1)
    assert log.table_version == len(commits) - 1
