"""A test that fails is named at once."""

import pytest

pytest_plugins = ["pytester"]


@pytest.mark.parametrize("options", [[], ["-n", "1"]], ids=["alone", "on a worker"])
def test_a_failure_is_named_before_the_next_test_runs(pytester, options):
    pytester.makeconftest('pytest_plugins = ["tests.support.failures"]')
    pytester.makepyfile(
        test_one="""
            import pytest

            @pytest.fixture
            def missing(): raise RuntimeError("no way\\nat all")

            def test_wrong(): assert 1 == 2, "because"
            def test_without(missing): pass
            def test_right(): pass
        """
    )
    printed = pytester.runpytest("-q", *options).outlines
    report = next(number for number, line in enumerate(printed) if line.startswith("===="))
    named = [line for line in printed[:report] if line.startswith("failed: ")]
    assert named[0].startswith("failed: test_one.py::test_wrong (call): AssertionError: because")
    assert named[1:] == ["failed: test_one.py::test_without (setup): RuntimeError: no way"]
    written = (pytester.path / "build" / "failures.txt").read_text()
    assert written.count("==== ") == 2
    assert "==== test_one.py::test_without (setup)" in written
    assert "at all" in written
