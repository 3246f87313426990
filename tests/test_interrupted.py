"""A test that runs out of time while Spark works fails alone."""

import pytest

from stack.instance import ROOT

pytest_plugins = ["pytester"]


@pytest.mark.full
def test_the_test_after_one_that_ran_out_of_time_in_spark_gets_its_own_answers(pytester, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    pytester.makeconftest('pytest_plugins = ["tests.conftest"]')
    pytester.makepyfile(
        test_both="""
            import pytest

            @pytest.mark.timeout(20)
            def test_hangs(spark):
                spark.range(1).selectExpr("java_method('java.lang.Thread', 'sleep', 25000L)").collect()

            def test_next(spark):
                assert spark.range(5).count() == 5
                assert [row.id for row in spark.range(3).collect()] == [0, 1, 2]
        """
    )
    found = pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider", "-o", "markers=full")
    found.assert_outcomes(failed=1, passed=1)
    assert "Timeout (>20.0s)" in found.stdout.str()
