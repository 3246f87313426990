"""A whole stack: up, up again, a part killed, down; what it keeps and what it leaves behind (nothing)."""

import datetime as dt
import json
import re
import shutil
import signal
import socket
import stat

import httpx
import psutil
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from typer.testing import CliRunner

from contracts.declared_topics import declared_topics
from stack.commands.cli import app
from stack.deploy import schemas
from stack.errors import StackError
from stack.instance import HOST, Instance
from stack.parts import airflow, kafka, lifecycle, process, registry, status
from stack.parts.airflow_api import AirflowApi
from supervision.files import StreamFolder, locked
from tests.support.waiting import until


def pids(instance: Instance) -> dict[str, int]:
    return {name: process.find(instance, name).pid for name in process.recorded(instance)}


def pid(instance: Instance, name: str) -> int | None:
    found = process.find(instance, name)
    return found and found.pid


def restarts(instance: Instance, name: str) -> int:
    (row,) = [row for row in status.rows(instance) if row.name == name]
    return row.restarts


def listeners(instance: Instance) -> dict[int, str]:
    """Ports on which the stack's processes listen, and the address."""
    own = {each.pid for each in process.strays(instance)}
    found = psutil.net_connections("tcp")
    return {each.laddr.port: each.laddr.ip for each in found if each.pid in own and each.status == psutil.CONN_LISTEN}


def test_a_memory_that_is_no_size_is_refused_before_anything_starts(tmp_path, monkeypatch):
    monkeypatch.setenv("SUNDIAL_BATCH_MEMORY", "2 GB")
    instance = Instance(tmp_path / "home").make(base=0)
    with pytest.raises(StackError, match="SUNDIAL_BATCH_MEMORY must be a size such as 3g or 2500m, is '2 GB'"):
        lifecycle.up(instance, lambda _: None)
    assert process.recorded(instance) == []


@pytest.mark.parts
@pytest.mark.full
def test_the_registrys_data_survive_a_restart_and_nothing_is_left_running(tmp_path):
    instance = Instance(tmp_path / "home").make(base=0)
    try:
        kafka.start(instance)
        registry.start(instance)
        ids = schemas.register(instance.registry, declared_topics())
        lifecycle.down(instance, lambda _: None)
        assert process.strays(instance) == []
        assert process.recorded(instance) == []
        for port in instance.ports.values():
            process.require_free(port, "the test")

        kafka.start(instance)
        registry.start(instance)
        assert schemas.register(instance.registry, declared_topics()) == ids
        client = SchemaRegistryClient({"url": instance.registry})
        assert {subject: client.get_latest_version(subject).schema_id for subject in client.get_subjects()} == ids
        assert client.get_config("service-use-value").compatibility_level == "FULL"
    finally:
        lifecycle.down(instance, lambda _: None)
    assert process.strays(instance) == []


def test_a_port_in_use_stops_the_start_and_names_the_way_out(tmp_path):
    instance = Instance(tmp_path / "home").make(base=0)
    with socket.socket() as taken:
        taken.bind((HOST, instance.ports["controller"]))
        taken.listen()
        with pytest.raises(StackError) as failure:
            kafka.start(instance)
    assert f"port {instance.ports['controller']} of {HOST}, which kafka's controller needs, is in use by process" in str(
        failure.value
    )
    assert "--port-base" in failure.value.remedy
    assert process.strays(instance) == []


@pytest.mark.full
class TestWholeStack:
    def test_all_parts_are_healthy_and_listen_on_this_machine_only(self, platform_stack):
        rows = {row.name: row.state for row in status.rows(platform_stack)}
        assert rows == dict.fromkeys(["kafka", "registry", *airflow.COMPONENTS, "serving", "watcher"], "healthy")
        found = listeners(platform_stack)
        assert set(platform_stack.ports.values()) <= set(found)
        assert {ip.removeprefix("::ffff:") for ip in found.values()} == {HOST}

    def test_up_again_leaves_everything_alone(self, platform_stack):
        before = pids(platform_stack)
        lifecycle.up(platform_stack, lambda _: None)
        assert pids(platform_stack) == before

    def test_the_watcher_brings_back_what_died_and_only_that(self, platform_stack):
        before, count = pids(platform_stack), restarts(platform_stack, "registry")
        psutil.Process(before["registry"]).send_signal(signal.SIGKILL)
        until("another registry", lambda: pid(platform_stack, "registry") not in (None, before["registry"]))
        until("all is healthy", lambda: {row.state for row in status.rows(platform_stack)} == {"healthy"}, 180)
        after = pids(platform_stack)
        assert [name for name in before if after[name] != before[name]] == ["registry"]
        assert restarts(platform_stack, "registry") == count + 1
        assert "registry has ended. Its log ends:" in process.log_file(platform_stack, "watcher").read_text()

    def test_without_the_watcher_what_died_stays_dead_and_up_brings_back_both(self, platform_stack):
        before = pids(platform_stack)
        for name in ("watcher", "registry"):
            killed = psutil.Process(before[name])
            killed.kill()
            process.wait_gone([killed], 5)
        rows = {row.name: row for row in status.rows(platform_stack)}
        assert [name for name, row in rows.items() if row.state != "healthy"] == ["registry", "watcher"]
        assert (rows["registry"].state, rows["registry"].restart_in_seconds) == ("dead", None)
        lifecycle.up(platform_stack, lambda _: None)
        after = pids(platform_stack)
        assert {name for name in before if after[name] != before[name]} == {"registry", "watcher"}
        assert {row.state for row in status.rows(platform_stack)} == {"healthy"}

    def test_airflow_lets_in_its_user_only(self, platform_stack):
        wrong = {"username": airflow.USER, "password": "admin"}
        assert httpx.post(f"{platform_stack.airflow}/auth/token", json=wrong, timeout=30).status_code == 401
        assert httpx.get(f"{platform_stack.airflow}/api/v2/dags", timeout=30).status_code == 401
        assert AirflowApi(platform_stack).call("GET", "dags")["total_entries"] >= 1
        assert stat.S_IMODE((airflow.folder(platform_stack) / "passwords.json").stat().st_mode) == 0o600

    def test_a_dag_that_airflow_has_not_seen_yet_is_looked_for_at_once(self, platform_stack):
        """As of a feed that was declared a moment ago; the next parsing of all files would be five minutes later."""
        api, dag = AirflowApi(platform_stack), "rollback_baseline.road-traffic"

        def parsed() -> str:
            return api.call("GET", f"dags/{dag}")["last_parsed_time"]

        before = parsed()
        api.rest.answer("PUT", f"parseDagFile/{api.call('GET', f'dags/{dag}')['file_token']}").raise_for_status()
        until("its file is parsed", lambda: parsed() > before)
        api.rest.answer("DELETE", f"dags/{dag}").raise_for_status()
        api.unpause(dag)
        assert not api.call("GET", f"dags/{dag}")["is_paused"]

    def test_spark_jobs_have_a_pool_whose_size_stays_as_somebody_set_it(self, platform_stack):
        api = AirflowApi(platform_stack)
        assert api.call("GET", "pools/spark")["slots"] == lifecycle.SPARK_TASKS

        def resize(slots: int) -> None:
            body = {"pool": "spark", "slots": slots, "include_deferred": False}
            api.call("PATCH", "pools/spark", params={"update_mask": ["slots"]}, json=body)

        resize(3)
        lifecycle.start_airflow(platform_stack)
        assert api.call("GET", "pools/spark")["slots"] == 3
        resize(lifecycle.SPARK_TASKS)

    def test_no_secret_stands_in_a_log_or_on_a_command_line(self, platform_stack):
        lines = " ".join(" ".join(each.cmdline()) for each in process.strays(platform_stack))
        logs = "".join(file.read_text(errors="replace") for file in platform_stack.logs.glob("*.log"))
        for secret in platform_stack.secrets.values():
            assert secret not in lines
            assert secret not in logs

    def test_status_says_it_to_scripts(self, platform_stack):
        result = CliRunner().invoke(app, ["--home", str(platform_stack.path), "status", "--json"])
        report = json.loads(result.stdout)
        assert result.exit_code == 0, report
        assert report["airflow"] == platform_stack.airflow
        assert [row["pid"] for row in report["processes"] if row["name"] == "kafka"] == [pids(platform_stack)["kafka"]]
        listening = {row["name"]: row["port"] for row in report["processes"] if row["port"]}
        ports = platform_stack.ports
        assert listening == {name: ports[name] for name in ("kafka", "registry", "serving")} | {
            "airflow-api-server": ports["airflow"]
        }

    def test_status_fails_while_a_stream_is_dead_or_at_a_standstill(self, platform_stack):
        stream = StreamFolder.of(platform_stack.streams, "nobody", "score")
        stream.make()
        now = dt.datetime.now(dt.UTC).isoformat()
        beat = {"at": now, "state": "running", "health": {"lag_records": 7, "stalled_seconds": 40.0}, "baseline_version": -1}
        stream.write_driver({"pid": 1, "started_at": now})
        stream.write_heartbeat(beat)
        try:
            dead = CliRunner().invoke(app, ["--home", str(platform_stack.path), "status"], env={"COLUMNS": "300"})
            with locked(stream.driver_lock):
                stalled = CliRunner().invoke(app, ["--home", str(platform_stack.path), "status"], env={"COLUMNS": "300"})
        finally:
            shutil.rmtree(stream.path)
        assert (dead.exit_code, stalled.exit_code) == (1, 1)
        assert re.search(r"nobody[.]score +dead", dead.stdout)
        assert "not healthy: nobody.score is dead" in dead.stdout
        assert "7, none done for 40 s" in stalled.stdout
        assert "not healthy: nobody.score has done nothing for 40 s, and 7 records wait" in stalled.stdout
