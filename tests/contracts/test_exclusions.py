"""What of people's statements is in force, what it excludes, and which statement judges an incident."""

import datetime as dt

from contracts.exclusions import (
    COLUMNS,
    Excluded,
    Statement,
    acknowledgement,
    attended,
    excluded,
    in_force,
    notes,
    statements,
    verdict,
)

NOON = dt.datetime(2026, 11, 20, 12, tzinfo=dt.UTC)
HOUR = dt.timedelta(hours=1)


def said(number: int, kind: str, **more) -> Statement:
    about = {"service": None, "start": None, "end": None, "takes_back": None, "incident": None} | more
    return Statement(id=number, kind=kind, **about, by="mara", reason="a drill", at=NOON, run_id=f"r{number}")


DRILL = said(1, "exclude", start=NOON, end=NOON + HOUR)
OF_A = said(2, "exclude", service="a", start=NOON, end=NOON + 2 * HOUR, incident="a@12")
FALSE = said(3, "false", service="b", start=NOON, incident="b@12")


def test_the_rows_of_the_table_are_statements_in_the_order_of_their_ids():
    rows = [{column: getattr(each, field) for field, column in COLUMNS.items()} for each in (FALSE, DRILL, OF_A)]
    assert statements(rows) == [DRILL, OF_A, FALSE]


def test_a_statement_is_in_force_until_it_is_taken_back_and_can_be_made_again():
    log = [DRILL, OF_A, FALSE]
    assert in_force(log) == log
    log += [said(4, "take_back", takes_back=1), said(5, "take_back", takes_back=3)]
    assert in_force(log) == [OF_A]
    again = said(6, "exclude", start=NOON, end=NOON + HOUR)
    assert in_force([*log, again]) == [OF_A, again]
    assert in_force([]) == []


def test_only_exclusions_in_force_exclude():
    log = [DRILL, OF_A, FALSE]
    assert excluded(log) == [Excluded(None, NOON, NOON + HOUR), Excluded("a", NOON, NOON + 2 * HOUR)]
    assert excluded([*log, said(4, "take_back", takes_back=1)]) == [Excluded("a", NOON, NOON + 2 * HOUR)]


def test_an_incident_is_judged_by_the_newest_statement_that_names_it_or_excludes_its_first_reading():
    log = [DRILL, OF_A, FALSE]
    assert verdict(log, "b@12", "b", NOON, None) == FALSE
    assert verdict(log, "b@12:30", "b", NOON + HOUR / 2, None) == DRILL
    assert verdict(log, "a@12:30", "a", NOON + HOUR / 2, None) == OF_A
    assert verdict(log, "b@13", "b", NOON + HOUR, None) is None, "the end is excluded"
    assert verdict(log, "b@11", "b", NOON - HOUR, None) is None
    assert verdict([], "b@12", "b", NOON, None) is None


def test_who_looks_after_an_incident_is_no_verdict_on_it():
    first, second = (said(number, "acknowledge", service="b", start=NOON, incident="b@12") for number in (4, 5))
    log = [FALSE, first, second]
    assert acknowledgement(log, "b@12") == second
    assert verdict(log, "b@12", "b", NOON, None) == FALSE
    assert verdict([first], "b@12", "b", NOON, None) is None
    assert acknowledgement([FALSE], "b@12") is None
    assert acknowledgement(in_force([*log, said(6, "take_back", takes_back=5)]), "b@12") == first
    assert excluded(log) == []


def test_notes_are_kept_in_their_order_and_nothing_follows_from_them():
    first, of_a, second = (said(4 + number, "note", incident=each) for number, each in enumerate(("b@12", "a@12", "b@12")))
    log = [first, of_a, second]
    assert notes(log, "b@12") == [first, second]
    assert notes([FALSE, DRILL], "b@12") == []
    assert notes(in_force([*log, said(7, "take_back", takes_back=4)]), "b@12") == [second]
    assert verdict(log, "b@12", "b", NOON, None) is None
    assert verdict([FALSE, *log], "b@12", "b", NOON, None) == FALSE
    assert acknowledgement(log, "b@12") is None
    assert not attended(log, "b@12", "b", NOON, None)
    assert excluded(log) == []


def test_the_newest_statement_about_an_incident_or_its_group_judges_the_incident():
    of_group = said(9, "false", service="*", start=NOON, incident="*@12")
    assert verdict([FALSE, of_group], "b@12", "b", NOON, "*@12") == of_group
    assert verdict([of_group, FALSE], "b@12", "b", NOON, "*@12") == FALSE
    assert verdict([of_group], "b@12", "b", NOON, "*@13") is None
    assert verdict([DRILL], "b@11", "b", NOON - HOUR, None) is None, "no incident is no group"
    assert attended([of_group], "b@12", "b", NOON, "*@12")


def test_an_incident_that_was_acknowledged_or_judged_is_attended():
    seen = said(4, "acknowledge", service="b", start=NOON, incident="b@12")
    assert attended([seen], "b@12", "b", NOON, None)
    assert attended([FALSE], "b@12", "b", NOON, None)
    assert attended([DRILL], "c@12", "c", NOON, None)
    assert not attended([seen, FALSE, OF_A], "c@12", "c", NOON, None)
