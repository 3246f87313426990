"""The compose file without a Docker: it follows the rules that this project sets itself."""

import json
import re
import subprocess
import sys

import pytest

from tests.docker.compose import COMPOSE, OURS, ROOT, SECRET, SERVICES, TEXT, VARIABLE, filled, health_of, secrets

OTHERS = {name: service for name, service in SERVICES.items() if "build" not in service}
ONCE = {"init", "init-kafka", "sources"}  # they end, and are not asked for their health
FINAL = ("kafka", "registry", "sundial")
PINNED = re.compile(r"[\w./-]+:v?\d+\.\d+[\w.-]*")
# They send alerts; the DAG processor, of failed runs.
TELLING = ("airflow-scheduler", "airflow-triggerer", "airflow-dag-processor", "alerts")
every_service = pytest.mark.parametrize("name", SERVICES)


def test_it_is_as_the_compose_specification_wants_it():
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", ROOT / "docker-compose.yml"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_all_parts_are_there():
    assert {f"kafka-{n}" for n in (1, 2, 3)} | {"registry-1", "registry-2", "postgres", "init", "init-kafka"} <= SERVICES.keys()
    assert {"airflow-api-server", "airflow-scheduler", "airflow-dag-processor", "airflow-triggerer"} <= SERVICES.keys()
    assert {
        "spark-master",
        "spark-worker-1",
        "spark-worker-2",
        "spark-history",
        "serving",
        "prometheus",
        "grafana",
    } <= SERVICES.keys()


@every_service
def test_an_image_has_a_version_and_is_pinned_or_built_here(name):
    service = SERVICES[name]
    assert PINNED.fullmatch(service["image"]), service["image"]
    if name in OURS:
        assert service["build"]["dockerfile"] == "docker/Dockerfile"
        assert service["build"]["target"] in FINAL
        assert service["image"].split(":")[0] == "sundial" + {"sundial": ""}.get(
            service["build"]["target"], f"-{service['build']['target']}"
        )


@every_service
def test_a_container_may_do_little(name):
    service = SERVICES[name]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["read_only"] is True
    assert service["user"].split(":")[0] not in ("", "0", "root")
    forbidden = {"privileged", "cap_add", "devices", "pid", "ipc", "network_mode", "userns_mode", "volumes_from", "env_file"}
    assert not forbidden & service.keys()
    assert not any("docker.sock" in str(volume) for volume in service.get("volumes", []))


@every_service
def test_a_container_has_limits_and_comes_back(name):
    service = SERVICES[name]
    limits = service["deploy"]["resources"]["limits"]
    assert {"cpus", "memory", "pids"} == limits.keys()
    assert service["logging"]["options"]["max-size"]
    if name in ONCE:
        assert service["restart"] in ("on-failure:20", "no")
        assert health_of(service) is None
    else:
        assert service["restart"] == "unless-stopped"
        assert health_of(service)


@every_service
def test_nothing_is_published_beyond_this_machine(name):
    for port in SERVICES[name].get("ports", []):
        assert re.fullmatch(r"127\.0\.0\.1:\$\{[A-Z_]+_PORT:-\d+\}:\d+", port), port
    networks = set(SERVICES[name]["networks"])
    assert networks <= COMPOSE["networks"].keys()
    if "edge" in networks:
        assert SERVICES[name].get("ports") or name in TELLING


def test_only_one_network_leads_out():
    assert [name for name, network in COMPOSE["networks"].items() if not network.get("internal")] == ["edge"]


@every_service
def test_no_secret_stands_in_the_file(name):
    for variable, value in SERVICES[name].get("environment", {}).items():
        if SECRET.search(variable) and not variable.endswith("_FILE"):
            found = list(VARIABLE.finditer(value))
            assert len(found) == 1, variable
            assert found[0][2] == "?", f"{variable} must have no default"
            rest = VARIABLE.sub("", value)
            assert rest in ("", "postgresql+psycopg://airflow:@postgres/airflow"), variable
    assert not SECRET.search(" ".join(map(str, SERVICES[name].get("command", []))))


def test_every_required_variable_is_made_by_the_script_and_every_other_is_documented(tmp_path):
    assert "$" not in VARIABLE.sub("", TEXT), "a variable that neither says how to make it nor has a default"
    used = {found[1]: found[2] for found in VARIABLE.finditer(TEXT)}
    made = secrets(tmp_path)
    assert {name for name, kind in used.items() if kind == "?"} == made.keys()
    documented = (ROOT / "docs/deployment.md").read_text()
    for name in (name for name, kind in used.items() if kind == "-"):
        assert f"`{name}`" in documented, name


def test_secrets_stay_out_of_the_repository_and_of_the_images():
    ignored = (ROOT / ".gitignore").read_text().splitlines()
    assert {".env", ".secrets/"} <= set(ignored)
    let_in = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")]
    assert let_in[0] == "*"
    assert not any(line.startswith(("!.", "!*")) for line in let_in)


def test_the_image_has_every_package_that_it_compiles():
    (compiled,) = re.findall(r"^RUN python -m compileall -q (.*)$", (ROOT / "docker/Dockerfile").read_text(), re.M)
    packages = {file.parent.name for file in ROOT.glob("*/__init__.py")} - {"tests"}
    assert packages <= set(compiled.split())
    assert {f"!{name}" for name in compiled.split()} <= set((ROOT / ".dockerignore").read_text().splitlines())


def test_each_kafka_client_is_a_user_of_its_own():
    users = {
        name: SERVICES[name]["environment"].get("SUNDIAL_KAFKA_USER")
        for name in SERVICES
        if "SUNDIAL_KAFKA_PASSWORD" in SERVICES[name].get("environment", {})
    }
    assert users == {
        "init-kafka": "admin",
        "registry-1": "registry",
        "registry-2": "registry",
        "airflow-scheduler": "batch",
        "airflow-triggerer": "streams",
        "serving": "serving",
        "alerts": "serving",
        "sources": "sources",
    }
    for name, user in users.items():
        assert f"KAFKA_{user.upper()}_PASSWORD:?" in SERVICES[name]["environment"]["SUNDIAL_KAFKA_PASSWORD"]


def test_each_part_of_airflow_and_nothing_else_knows_the_backend_of_lineage(tmp_path):
    made = secrets(tmp_path)
    for name, service in SERVICES.items():
        airflow = name == "init" or name.startswith("airflow-")
        sends = [variable for variable in service.get("environment", {}) if "OPENLINEAGE" in variable]
        assert bool(sends) is airflow, name
        if airflow:
            assert filled(service["environment"]["OPENLINEAGE_URL"], made) == "", "off by default"
            assert filled(service["environment"]["AIRFLOW__OPENLINEAGE__NAMESPACE"], made) == "sundial"
            chosen = made | {"OPENLINEAGE_URL": "https://lineage.example", "OPENLINEAGE_NAMESPACE": "plant"}
            assert filled(service["environment"]["OPENLINEAGE_URL"], chosen) == "https://lineage.example"
            assert filled(service["environment"]["AIRFLOW__OPENLINEAGE__NAMESPACE"], chosen) == "plant"


def test_spark_jobs_run_on_the_cluster_within_their_pool():
    for name in ("airflow-scheduler", "airflow-triggerer"):
        environment = SERVICES[name]["environment"]
        assert json.loads(environment["AIRFLOW_CONN_SPARK_DEFAULT"]) == {
            "conn_type": "spark",
            "host": "spark://spark-master",
            "port": 7077,
        }
        assert environment["SUNDIAL_SPARK_POOL"] == SERVICES["init"]["environment"]["SUNDIAL_SPARK_POOL"] == "spark"
    assert 'airflow pools set "$SUNDIAL_SPARK_POOL"' in (ROOT / "docker/init.sh").read_text()
