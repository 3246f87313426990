"""How jobs are submitted: by the connection's master, with the platform's settings, and failing in the driver's own words."""

import contextlib
import itertools
import os
import sys
from types import SimpleNamespace

import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from bench import platform
from dags.spark_job import REPO, spark_job, stream_command, stream_environment
from stack.instance import Instance
from supervision.spark_history import line
from supervision.spark_jvm import COMPILE_ALL


@pytest.fixture
def spark_submit(tmp_path, monkeypatch):
    """A spark-submit of the test's making: a Python body that sees sys.argv and the environment."""

    def make(body: str):
        file = tmp_path / "spark-submit"
        file.write_text(f"#!{sys.executable}\nimport os, sys\n{body}\n")
        file.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path))

    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", '{"conn_type": "spark", "host": "local[3]"}')
    monkeypatch.setenv("SUNDIAL_JARS", "/jars")
    return make


class Task:
    """A running task, as far as links need one."""

    run_id = "r1"

    def __init__(self):
        self.links = {}

    def xcom_push(self, key, value):
        self.links[key] = value


def test_submits_the_job_with_what_it_needs(spark_submit, tmp_path, monkeypatch):
    monkeypatch.setenv("SUNDIAL_KAFKA", "127.0.0.1:9")
    spark_submit(f"open({str(tmp_path / 'said')!r}, 'w').write('|'.join([*sys.argv[1:], os.environ['PYTHONPATH']]))")
    spark_job("build_baseline", "world-cup", "", "--run-id=r1").execute({"ti": Task()})
    said = (tmp_path / "said").read_text().split("|")
    assert said[-5:] == [str(REPO / "jobs" / "build_baseline.py"), "--feed", "world-cup", "--run-id=r1", str(REPO)]
    assert said[said.index("--master") + 1] == "local[3]"
    assert f"spark.driver.defaultJavaOptions={COMPILE_ALL}" in said
    assert {"spark.driver.extraClassPath=/jars/*", "spark.executor.extraClassPath=/jars/*", "spark.ui.enabled=false"} <= set(said)


def test_a_failure_ends_with_the_drivers_own_last_lines(spark_submit, capfd):
    spark_submit("print('expectation spread_is_positive failed: 3 rows, e.g. web 07:10', file=sys.stderr); sys.exit(1)")
    with pytest.raises(AirflowException, match=r"Error code is: 1\.(.|\n)*expectation spread_is_positive failed: 3 rows"):
        spark_job("check_baseline", "world-cup").execute({"ti": Task()})


@pytest.mark.parametrize(("for_good", "raised"), [(True, AirflowFailException), (False, AirflowException)])
def test_a_failure_that_another_try_would_not_change_is_not_retried(spark_submit, for_good, raised):
    spark_submit("sys.exit('refused')")
    asked = []
    job = spark_job("check_baseline", "world-cup", for_good=lambda context: asked.append(context["ti"].run_id) or for_good)
    with pytest.raises(raised, match="refused") as failed:
        job.execute({"ti": Task()})
    assert (type(failed.value), asked) == (raised, ["r1"])


def test_links_are_there_while_the_job_runs_and_that_to_spark_when_it_has_said_its_name(spark_submit, monkeypatch):
    monkeypatch.setenv("SUNDIAL_API", "http://sundial")
    spark_submit(f"print({line('local-1700000000000')!r})")
    without, task = Task(), Task()
    spark_job("archive", "world-cup").execute({"ti": without})
    assert without.links == {"_link_Dashboard": "http://sundial/?feed=world-cup"}, "no history server here"
    monkeypatch.setenv("SUNDIAL_SPARK_HISTORY", "http://history:18080/")
    spark_job("archive", "world-cup").execute({"ti": task})
    assert task.links["_link_SparkHistory"] == "http://history:18080/history/local-1700000000000/"


def test_the_master_is_the_connections_alone(monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", '{"conn_type": "spark", "host": "spark://head", "port": 7077}')
    monkeypatch.setenv("SUNDIAL_STREAMS", "/streams")
    monkeypatch.setenv("SUNDIAL_STREAM_JAVA_OPTIONS", "-XX:+UseZGC")
    command = stream_command("score", "service-use")
    assert command[:3] == ["spark-submit", "--master", "spark://head:7077"]
    assert "spark.cores.max=4" in command, "two queries of two partitions"
    java = next(each for each in command if "driver.extraJava" in each)
    assert "-XX:+UseZGC -Djava.io.tmpdir=/streams/service-use.score/scratch" in java
    assert command[-3:] == [str(REPO / "jobs" / "score.py"), "--feed", "service-use"]
    queries = stream_command("queries", "rides")
    assert queries[:3] == command[:3]
    assert queries[-3:] == [str(REPO / "jobs" / "run_queries.py"), "--application", "rides"]


@pytest.mark.parametrize(("host", "master"), [("local[2]", "local[4]"), ("local[8]", "local[8]"), ("yarn", "yarn")])
def test_a_master_on_this_machine_has_the_cores_that_the_stream_needs(monkeypatch, host, master):
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", f'{{"conn_type": "spark", "host": "{host}"}}')
    monkeypatch.setenv("SUNDIAL_STREAMS", "/streams")
    assert stream_command("score", "service-use")[:3] == ["spark-submit", "--master", master]


def options(command: list[str]) -> dict[str, str]:
    return dict(each.split("=", 1) for before, each in itertools.pairwise(command) if before == "--conf")


@pytest.mark.parametrize(
    ("said", "stream", "batch"), [({}, "2g", "2g"), ({"STREAM": "3g"}, "3g", "2g"), ({"BATCH": "2500m"}, "2g", "2500m")]
)
def test_drivers_and_executors_have_the_memory_that_the_platform_says(monkeypatch, said, stream, batch):
    monkeypatch.setenv("SUNDIAL_STREAMS", "/streams")
    for kind, size in said.items():
        monkeypatch.setenv(f"SUNDIAL_{kind}_MEMORY", size)
    command, job = stream_command("score", "service-use"), spark_job("archive", "world-cup")
    for which in ("driver", "executor"):
        assert f"spark.{which}.memory={stream}" in command
        assert job.conf[f"spark.{which}.memory"] == batch


@pytest.mark.parametrize("size", ["2 GB", "0g", "2", "2g --conf x=y"])
def test_what_is_no_size_is_refused(monkeypatch, size):
    monkeypatch.setenv("SUNDIAL_STREAMS", "/streams")
    monkeypatch.setenv("SUNDIAL_STREAM_MEMORY", size)
    with pytest.raises(ValueError, match=f"SUNDIAL_STREAM_MEMORY must be a size such as 3g or 2500m, is '{size}'"):
        stream_command("score", "service-use")


def test_a_benchmark_submits_its_driver_like_a_stream(tmp_path, monkeypatch):
    monkeypatch.setenv("SUNDIAL_STREAM_JAVA_OPTIONS", "-XX:+UseZGC")
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", '{"conn_type": "spark", "host": "local[2]"}')
    instance, started = Instance(tmp_path).make(0), []
    process = SimpleNamespace(pid=os.getpid(), poll=lambda: 0, wait=lambda _: 0)
    monkeypatch.setattr(platform.subprocess, "Popen", lambda command, **_: started.append(command) or process)
    with platform.driver(instance, platform.PROGRAMS["sundial"], "--feed", "service-use"):
        pass
    for name, value in instance.environment().items():
        monkeypatch.setenv(name, value)
    [command], stream = started, stream_command("score", "service-use")
    java = options(command).pop("spark.driver.extraJavaOptions")
    assert java.endswith("-XX:+UseZGC")
    scratch = f" -Djava.io.tmpdir={instance.streams}/service-use.score/scratch"
    assert options(stream).items() >= (options(command) | {"spark.driver.extraJavaOptions": java + scratch}).items()
    assert (command[1:3], command[-2:]) == (stream[1:3], stream[-2:])


def test_a_job_gets_no_secret_of_airflows(spark_submit, tmp_path, monkeypatch):
    secrets = {"AIRFLOW__API_AUTH__JWT_SECRET": "hush", "_AIRFLOW_X": "hush", "SUNDIAL_ALERT_WEBHOOK": "https://hush"}
    secrets |= {"SUNDIAL_ALERT_SHOP_KEY": "hush", "OPENLINEAGE_API_KEY": "hush", "OPENLINEAGE__TRANSPORT__AUTH": "hush"}
    for name, value in secrets.items():
        monkeypatch.setenv(name, value)
    for fails, ends in ((0, contextlib.nullcontext()), (1, pytest.raises(AirflowException))):
        spark_submit(f"open({str(tmp_path / 'said')!r}, 'w').write(str(os.environ)); sys.exit({fails})")
        with ends:
            spark_job("archive", "world-cup").execute({"ti": Task()})
        said = (tmp_path / "said").read_text()
        assert "PYTHONPATH" in said
        assert "hush" not in said
        assert "AIRFLOW" not in said
        assert {name: os.environ[name] for name in secrets} == secrets, "the task itself still has them"


@pytest.mark.parametrize("fails", [0, 1])
def test_what_a_job_leaves_behind_is_gone_with_it_and_no_setting_of_the_task_changes(spark_submit, tmp_path, monkeypatch, fails):
    """SIGKILL is how a driver ends whose task was stopped: it deletes nothing."""
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path / 'disk'},/other")
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", "-Dmine=1")
    before = dict(os.environ)
    names = "SPARK_LOCAL_DIRS", "TMPDIR", "SPARK_SUBMIT_OPTS", "SUNDIAL_SCRATCH"
    spark_submit(
        f"said = [os.environ[name] for name in {names}]; os.mkdir(f'{{said[0]}}/blockmgr')\n"
        f"open({str(tmp_path / 'said')!r}, 'w').write('|'.join(said))\n"
        f"{fails} and os.kill(os.getpid(), 9)"
    )
    with pytest.raises(AirflowException) if fails else contextlib.nullcontext():
        spark_job("archive", "world-cup").execute({"ti": Task()})
    folder, python, java, scratch = (tmp_path / "said").read_text().split("|")
    assert folder.startswith(f"{tmp_path}/disk/sundial-")
    assert (python, java, scratch) == (folder, f"-Dmine=1 -Djava.io.tmpdir={folder}", folder)
    assert list((tmp_path / "disk").iterdir()) == []
    assert dict(os.environ) == before | {"PATH": os.environ["PATH"]}


def test_airflows_own_settings_stay_out_of_what_outlives_it(monkeypatch):
    monkeypatch.setenv("AIRFLOW__API_AUTH__JWT_SECRET", "hush")
    monkeypatch.setenv("SUNDIAL_ALERT_SHOP_KEY", "hush")
    monkeypatch.setenv("OPENLINEAGE_API_KEY", "hush")
    monkeypatch.setenv("SUNDIAL_STREAMS", "/streams")
    env = stream_environment()
    assert not [name for name in env if "AIRFLOW" in name or "OPENLINEAGE" in name or "ALERT" in name]
    assert (env["SUNDIAL_STREAMS"], env["PYTHONPATH"]) == ("/streams", str(REPO))


def test_no_secret_rides_along_into_rendered_templates(monkeypatch):
    monkeypatch.setenv("SUNDIAL_KAFKA_PASSWORD", "hush")
    assert "hush" not in str(spark_job("archive", "world-cup").env_vars)


def test_kafkas_password_reaches_the_driver_by_its_environment_alone(spark_submit, tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("SUNDIAL_STREAMS", "/streams")
    for name, value in (("USER", "batch"), ("PASSWORD", "hush"), ("CA", "/ca.crt")):
        monkeypatch.setenv(f"SUNDIAL_KAFKA_{name}", value)
    names = "SUNDIAL_KAFKA_USER", "SUNDIAL_KAFKA_PASSWORD", "SUNDIAL_KAFKA_CA"
    spark_submit(f"open({str(tmp_path / 'said')!r}, 'w').write('|'.join([' '.join(sys.argv), *map(os.environ.get, {names})]))")
    job = spark_job("archive", "world-cup", "--run-id=r1")
    job.execute({"ti": Task()})
    command, *environment = (tmp_path / "said").read_text().split("|")
    assert environment == ["batch", "hush", "/ca.crt"]
    assert "hush" not in command + str({name: getattr(job, name) for name in job.template_fields}) + "".join(capfd.readouterr())
    assert stream_environment()["SUNDIAL_KAFKA_PASSWORD"] == "hush"
    assert "hush" not in " ".join(stream_command("score", "world-cup"))
