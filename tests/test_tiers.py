"""The tiers leave out what they should and nothing else, and a skip that nobody allowed fails the run."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import tiers

pytest_plugins = ["pytester"]
SUITE = """
    import pytest

    @pytest.fixture
    def broker(): return 1

    @pytest.fixture
    def topic(broker): return broker

    def test_plain(): pass
    def test_with_a_broker(topic): pass
    @pytest.mark.parts
    def test_with_parts_of_its_own(): pass
    @pytest.mark.full
    def test_of_the_long_run(): pass
"""
OF_TIER = {"check": {"plain"}, "test": {"plain", "with_a_broker", "with_parts_of_its_own"}}
OF_TIER["all"] = OF_TIER["test"] | {"of_the_long_run"}


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeconftest('pytest_plugins = ["tests.support.tiers"]')
    return pytester


def passed(result: pytest.RunResult) -> set[str]:
    marks = ("PASSED", "::test_")
    return {line.split("::test_")[1].split()[0] for line in result.outlines if all(mark in line for mark in marks)}


@pytest.mark.parametrize("tier", tiers.TIERS)
def test_a_tier_runs_what_its_fixtures_and_marks_say(suite, tier):
    suite.makepyfile(SUITE)
    result = suite.runpytest("-v", f"--tier={tier}")
    assert passed(result) == OF_TIER[tier]


def test_a_fixture_that_there_is_not_fails_each_tier(suite):
    suite.makepyfile(
        """
        import pytest

        @pytest.fixture
        def page(screen): return 1

        def test_plain(): pass
        @pytest.mark.full
        def test_of_the_long_run(page): pass
        """
    )
    result = suite.runpytest("--tier=check")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*::test_of_the_long_run: no fixture screen"])


def test_what_needs_the_stack_comes_first_and_then_the_stack_stops(suite):
    suite.makepyfile(
        """
        import pytest
        seen = []

        @pytest.fixture(scope="session")
        def platform_stack():
            seen.append("up")
            yield
            seen.append("down")

        @pytest.fixture(scope="session")
        def story(platform_stack):
            yield seen.append("primed")
            seen.append("over")

        def test_one(): assert seen == ["up", "primed", "over", "down"]
        def test_two(story): pass
        def test_three(platform_stack): assert seen == ["up", "primed"]
        """
    )
    suite.runpytest().assert_outcomes(passed=3)


@pytest.mark.parametrize("reason", ["there is no kubectl here", "I do not feel like it"])
def test_only_a_listed_skip_lets_the_run_pass(suite, reason):
    suite.makepyfile(f"import pytest\n\ndef test_a(): pass\n\n@pytest.mark.skipif(True, reason={reason!r})\ndef test_b(): pass")
    result = suite.runpytest()
    allowed = reason.startswith("there is no kubectl")
    assert result.ret == (pytest.ExitCode.OK if allowed else pytest.ExitCode.TESTS_FAILED)
    assert (f"Skipped: {reason}" in "\n".join(result.outlines)) is not allowed


@given(units=st.sets(st.text(st.characters(codec="ascii"), min_size=1), max_size=40), count=st.integers(1, 5))
def test_shards_share_out_all_units_and_none_twice(units, count):
    found = tiers.shares(units, count)
    assert len(found) == count
    assert sorted(name for share in found for name in share) == sorted(units)


def test_shards_are_of_about_the_same_length(monkeypatch):
    seconds = {"a": 90.0, "b": 50.0, "c": 45.0, "d": 5.0, "e": 5.0}
    monkeypatch.setattr(tiers, "cost", seconds.__getitem__)
    assert tiers.shares(set(seconds), 2) == [{"a", "d", "e"}, {"b", "c"}]


def test_one_worker_runs_all_that_needs_a_whole_stack():
    scope = tiers.ByUnit._split_scope
    stacks = [f"{file}::test_a" for file in ("tests/end_to_end/test_nights.py", "tests/end_to_end/test_cluster.py")]
    stacks += [f"{tiers.PAGES}::test_a[{page}]" for page in ("rides.md", tiers.PAGE)]
    assert {scope(None, nodeid) for nodeid in stacks} == {"whole stacks"}
    assert scope(None, "tests/jobs/test_killed.py::test_a") == "tests/jobs/test_killed.py"


def test_some_of_a_room_of_the_long_run_is_in_every_tier():
    assert all(Path(file).is_file() and file.startswith(tiers.FULL_ROOMS) for file in tiers.EVERY_TIER)


@pytest.mark.parametrize("shard", ["0/3", "4/3", "2", "a/b", ""])
def test_a_wrong_shard_is_refused(suite, shard):
    suite.makepyfile("def test_a(): pass")
    result = suite.runpytest(f"--shard={shard}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR


def test_the_parts_of_a_shared_folder_are_one_unit():
    assert tiers.unit("tests/delivery/test_groups.py::test_a[x::y]") == "tests/delivery/*"
    assert tiers.unit("tests/jobs/test_archive.py::test_a[x::y]") == "tests/jobs/test_archive.py"


def test_a_typed_page_is_a_unit_but_for_those_that_share_a_stack_or_a_topic():
    def of(page: str) -> str:
        return tiers.unit(f"tests/docs/test_pages.py::test_one_sees_what_the_page_shows[{page}]")

    assert of("events.md") == "tests/docs/test_pages.py[events.md]"
    assert of("queries.md") == of("rides.md")
    assert of(tiers.PAGE) == tiers.unit("tests/end_to_end/test_main_path.py::test_a")
    assert tiers.unit("tests/docs/test_pages.py::test_pages_are_typed") == "tests/docs/test_pages.py"
