"""A stack's folder: ports that stay, secrets that only the owner reads, an environment without leftovers."""

import contextlib
import datetime as dt
import os
import stat
import threading
from pathlib import Path

import pytest

from stack.errors import StackError
from stack.install import class_archive
from stack.instance import DEFAULT_BASE, MARK, PORTS, UNASSIGNED, Instance
from stack.parts import airflow, connect, live, samples, watcher


def test_ports_follow_from_the_base(tmp_path):
    instance = Instance(tmp_path).make(base=20_000)
    assert instance.ports == dict(zip(PORTS, range(20_000, 20_005), strict=True))
    assert instance.environment() == {
        "SUNDIAL_KAFKA": "127.0.0.1:20002",
        "SUNDIAL_REGISTRY": "http://127.0.0.1:20004/apis/ccompat/v7",
        "SUNDIAL_LAKE": str(tmp_path / "lake"),
        "SUNDIAL_STREAMS": str(tmp_path / "streams"),
        "SUNDIAL_JARS": str(Path(__file__).parents[2] / ".jars/spark"),
        "SUNDIAL_JAVA_OPTIONS": class_archive.java_options(Path(__file__).parents[2] / ".classes/spark.jsa"),
        "SUNDIAL_BATCH_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "SUNDIAL_SPARK_POOL": "spark",
        "SUNDIAL_API": "http://127.0.0.1:20000",
        "SUNDIAL_HOME": str(tmp_path),
    }


def test_each_part_gets_only_the_secrets_of_alerts_that_it_needs_and_none_is_printed(tmp_path, monkeypatch):
    for name in [name for name in os.environ if name.startswith("SUNDIAL_ALERT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("SUNDIAL_ALERT_WEBHOOK", "https://s3cret.test/airflow")
    monkeypatch.setenv("SUNDIAL_ALERT_SHOP_KEY", "s3cret")
    monkeypatch.setattr(live, "newest", lambda *_: dt.datetime.now(dt.UTC))
    instance = Instance(tmp_path).make(base=0)
    for sample in samples.SAMPLES:
        sample.kept(instance).write_text('{"weeks": 9, "end": 0, "loaded_at": 0}')
    parts = [each.part() for each in watcher.watched(instance).values()]
    parts += [watcher.part(instance), connect._part(instance, [], 1)]
    found = {part.name: {name for name in part.environment if name.startswith("SUNDIAL_ALERT_")} for part in parts}
    both, webhook = {"SUNDIAL_ALERT_WEBHOOK", "SUNDIAL_ALERT_SHOP_KEY"}, {"SUNDIAL_ALERT_WEBHOOK"}
    needs = {"alerts": both, "watcher": both} | dict.fromkeys(airflow.COMPONENTS, webhook)
    assert found == {part.name: needs.get(part.name, set()) for part in parts}
    assert "s3cret" not in str(instance.environment())


def test_the_caller_may_name_a_backend_for_lineage_and_its_key_is_not_printed(tmp_path, monkeypatch):
    for name in [name for name in os.environ if name.startswith("OPENLINEAGE")]:
        monkeypatch.delenv(name)
    instance = Instance(tmp_path).make(base=0)
    assert airflow.environment(instance)["AIRFLOW__OPENLINEAGE__NAMESPACE"] == "sundial"
    assert not [name for name in instance.process_environment() if name.startswith("OPENLINEAGE")]
    given = {"OPENLINEAGE_URL": "http://127.0.0.1:9", "OPENLINEAGE_API_KEY": "s3cret", "OPENLINEAGE_NAMESPACE": "plant"}
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert given.items() <= instance.process_environment().items()
    assert airflow.environment(instance)["AIRFLOW__OPENLINEAGE__NAMESPACE"] == "plant"
    assert "s3cret" not in str(airflow.environment(instance))


def test_free_ports_are_chosen_once(tmp_path):
    first = Instance(tmp_path).make(base=0).ports
    assert len(set(first.values())) == len(PORTS)
    assert all(port in UNASSIGNED for port in first.values()), "the system gives none of these to anybody else"
    assert Instance(tmp_path).make(base=0).ports == first
    assert Instance(tmp_path).make().ports == first


def test_more_brokers_have_ports_of_their_own_behind_the_others(tmp_path):
    instance = Instance(tmp_path).make(base=20_000, brokers=3)
    assert instance.ports["registry"] == 20_004
    assert [instance.ports[name] for name in ("kafka-2", "controller-2", "kafka-3", "controller-3")] == [
        20_005,
        20_006,
        20_007,
        20_008,
    ]
    assert instance.kafka == "127.0.0.1:20002,127.0.0.1:20005,127.0.0.1:20007"
    assert instance.replication == 3
    assert list(Instance(tmp_path).make(base=0).brokers) == [1, 2, 3], "as many as it was made with"


def test_the_number_of_brokers_can_not_be_changed(tmp_path):
    Instance(tmp_path).make(base=0)
    with pytest.raises(StackError, match="was made with 1 Kafka broker, not 3") as failure:
        Instance(tmp_path).make(brokers=3)
    assert "sundial clean" in failure.value.remedy
    assert Instance(tmp_path).make(brokers=1).replication == 1


def test_without_a_wish_the_default_base_is_used_and_a_wish_replaces_it(tmp_path):
    assert Instance(tmp_path).make().ports["serving"] == DEFAULT_BASE
    assert Instance(tmp_path).make(base=21_000).ports["serving"] == 21_000
    assert Instance(tmp_path).make().ports["serving"] == 21_000


@pytest.mark.parametrize("name", ["logs/app.log", "lake/table", "kafka/x", "airflow/dags/mine.py", "users.json"])
def test_a_folder_whose_names_are_those_of_a_stack_is_not_taken_for_one(tmp_path, name):
    mine = tmp_path / name
    mine.parent.mkdir(parents=True, exist_ok=True)
    mine.write_text("mine")
    with pytest.raises(StackError, match=f"is no stack's folder: it holds {name.partition('/')[0]}"):
        Instance(tmp_path).make(base=0)
    assert (Instance(tmp_path).exists(), mine.read_text()) == (False, "mine")


def test_a_lock_and_empty_folders_do_not_make_a_folder_another_ones(tmp_path):
    (tmp_path / "streams").mkdir()
    instance = Instance(tmp_path)
    with instance.locked():
        assert instance.make(base=0).exists()


@pytest.mark.parametrize("base", [80, 65_534, -1])
def test_an_impossible_base_is_refused(tmp_path, base):
    with pytest.raises(StackError, match=f"--port-base {base} is out of range"):
        Instance(tmp_path).make(base=base)


def test_secrets_are_made_once_and_only_the_owner_reads_them(tmp_path):
    instance = Instance(tmp_path).make(base=0)
    assert stat.S_IMODE((tmp_path / "secrets.json").stat().st_mode) == 0o600
    assert len(instance.secrets["jwt"]) >= 64
    assert Instance(tmp_path).make().secrets == instance.secrets
    assert Instance(tmp_path / "other").make(base=0).secrets["jwt"] != instance.secrets["jwt"]


def test_a_stack_of_an_older_sundial_gets_the_secrets_that_it_lacks_and_keeps_the_others(tmp_path):
    Instance(tmp_path).make(base=0)
    (tmp_path / "secrets.json").write_text('{"jwt": "j", "api": "a", "password": "p"}')
    found = Instance(tmp_path).secrets
    assert {name: value for name, value in found.items() if name in ("jwt", "api", "password")} == {
        "jwt": "j",
        "api": "a",
        "password": "p",
    }
    assert (len(found["connect"]), len(found["session"])) == (16, 64)
    assert Instance(tmp_path).secrets == found
    assert stat.S_IMODE((tmp_path / "secrets.json").stat().st_mode) == 0o600


def test_a_process_inherits_nothing_of_another_stack_or_airflow(tmp_path, monkeypatch):
    monkeypatch.setenv("AIRFLOW__CORE__DAGS_FOLDER", "/elsewhere")
    monkeypatch.setenv("SUNDIAL_LAKE", "/elsewhere")
    monkeypatch.setenv("UNRELATED", "kept")
    environment = Instance(tmp_path).make(base=0).process_environment()
    assert "AIRFLOW__CORE__DAGS_FOLDER" not in environment
    assert environment["SUNDIAL_LAKE"] == str(tmp_path / "lake")
    assert environment["UNRELATED"] == "kept"
    assert environment[MARK] == str(tmp_path)


def test_a_process_that_a_process_of_the_stack_starts_has_the_same_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("SUNDIAL_SPARK_MASTER", "spark://head:7077")
    instance = Instance(tmp_path).make(base=0)
    once = instance.process_environment()
    for name, value in once.items():
        monkeypatch.setenv(name, value)
    assert instance.process_environment() == once
    assert once["SUNDIAL_SPARK_MASTER"] == "spark://head:7077", "the person who starts a stack may say it"


def test_two_commands_at_once_do_not_both_start_the_stack(tmp_path):
    instance = Instance(tmp_path).make(base=0)
    refused = pytest.raises(StackError, match="another command is starting or stopping")
    with instance.locked(), refused, instance.locked(patience=0):
        pass


def test_a_command_waits_for_who_holds_the_lock_for_a_moment(tmp_path):
    instance = Instance(tmp_path).make(base=0)
    held = contextlib.ExitStack()
    held.enter_context(instance.locked())
    threading.Timer(0.3, held.close).start()
    with instance.locked(), pytest.raises(StackError), instance.locked(patience=0):
        pass


def test_a_folder_without_a_stack_is_named(tmp_path):
    with pytest.raises(StackError, match=f"no stack in {tmp_path}"):
        _ = Instance(tmp_path).ports
