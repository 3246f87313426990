"""Queries that are declared while serving runs, and mistakes in their files."""

import yaml

from serving.query_tables.declared_queries import DeclaredQueries

QUERY = {
    "name": "places",
    "description": "Places",
    "inputs": {"check_ins": {"topic": "check-ins", "record": "check_in", "encoding": "json"}},
    "sql": "SELECT * FROM check_ins",
    "outputs": [{"topic": "places", "record": "check_in", "encoding": "json", "key": "User"}],
}


def test_without_a_folder_there_are_none(declared):
    queries = DeclaredQueries(declared.parent / "queries")
    assert (queries.look(), queries.mistakes) == ({}, [])


def test_a_query_that_comes_is_seen_and_a_mistake_leaves_all_as_it_was(declared):
    folder = declared.parent / "queries"
    folder.mkdir()
    file = folder / "places.yaml"
    file.write_text(yaml.safe_dump(QUERY))
    queries = DeclaredQueries(folder)
    assert "places" in queries.look()
    file.write_text(yaml.safe_dump(QUERY | {"mode": "never"}))
    assert "places" in queries.look()
    assert queries.mistakes == ["places.yaml: mode: Input should be 'append' or 'update'"]
    file.write_text(yaml.safe_dump(QUERY | {"description": "Better"}))
    assert queries.look()["places"].description == "Better"
    assert queries.mistakes == []
