"""The file of users: what it keeps of tokens, whose token counts until when, and what is wrong with a damaged one."""

import datetime as dt
import json

import pytest

from contracts.users import Users, UsersError

NOW = dt.datetime(2026, 11, 25, 12, tzinfo=dt.UTC)
NOBODY = Users({})


def test_a_token_is_of_its_user_and_is_not_kept(tmp_path):
    users, token = NOBODY.added("anna@example.org", "operator", NOW, None)
    users, other = users.added("grafana", "viewer", NOW, None)
    file = tmp_path / "users.json"
    file.write_text(users.text())
    assert token not in file.read_text()
    again = Users.read(file)
    assert again == users
    assert again.of_token(token, NOW).name == "anna@example.org"
    assert again.of_token(other, NOW).role == "viewer"
    assert len({token, other, NOBODY.added("anna", "viewer", NOW, None)[1]}) == 3
    for wrong in ("", token[:-1], token + "x", token.upper(), "sundial_"):
        assert again.of_token(wrong, NOW) is None


def test_an_operator_may_what_a_viewer_may():
    users, _ = NOBODY.added("o", "operator", NOW, None)
    users, _ = users.added("v", "viewer", NOW, None)
    may = {(name, role): users.by_name[name].may(role) for name in "ov" for role in ("viewer", "operator")}
    assert may == {("o", "viewer"): True, ("o", "operator"): True, ("v", "viewer"): True, ("v", "operator"): False}


def test_a_token_counts_until_its_end_and_no_longer_than_its_user():
    users, token = NOBODY.added("anna", "viewer", NOW, NOW + dt.timedelta(days=1))
    user = users.by_name["anna"]
    last, end = NOW + dt.timedelta(days=1, seconds=-1), NOW + dt.timedelta(days=1)
    assert (users.of_token(token, last), users.of_token(token, end)) == (user, None)
    assert (users.of_login("anna", user.sha256, last), users.of_login("anna", user.sha256, end)) == (user, None)
    assert users.without("anna").of_token(token, NOW) is None
    again, _ = users.without("anna").added("anna", "viewer", NOW, None)
    assert again.of_login("anna", user.sha256, NOW) is None, "another token of the same name"


def test_names_are_checked():
    users, _ = NOBODY.added("anna", "viewer", NOW, None)
    with pytest.raises(UsersError, match="there is a user 'anna' already"):
        users.added("anna", "viewer", NOW, None)
    with pytest.raises(UsersError, match="there is no user 'bob'; there are: anna"):
        users.without("bob")
    for name in ("", " anna", "a/b", "<b>", "a" * 101, "a\nb"):
        with pytest.raises(UsersError, match="is no user's name"):
            users.added(name, "viewer", NOW, None)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "the file"),
        ("[{}]", "0.name"),
        (json.dumps([{"name": "a", "role": "admin", "sha256": "0" * 64, "made_at": "2026-11-25T00:00:00Z"}]), "0.role"),
        (json.dumps([{"name": "a", "role": "viewer", "sha256": "0" * 63, "made_at": "2026-11-25T00:00:00Z"}]), "0.sha256"),
        (json.dumps([{"name": "a", "role": "viewer", "sha256": "0" * 64, "made_at": "2026-11-25T00:00:00"}]), "0.made_at"),
    ],
)
def test_a_damaged_file_is_named(tmp_path, text, what):
    file = tmp_path / "users.json"
    file.write_text(text)
    with pytest.raises(UsersError, match=f"{file} is damaged: {what}"):
        Users.read(file)


def test_without_a_file_there_is_nobody(tmp_path):
    assert Users.read(tmp_path / "none.json") == NOBODY
