"""What the compose file starts, without a Docker: images, scripts, commands and health checks."""

import http.server
import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import click
import pytest
import uvicorn

from stack.commands.cli import app
from tests.docker.compose import OURS, ROOT, SECRET, SERVICES, dockerfile, health_of, stages

FINAL = ("kafka", "registry", "sundial")
PINNED = re.compile(r"[\w./-]+:v?\d+\.\d+[\w.-]*")


def image_tags():
    return {stage.base for stage in stages().values() if stage.base not in stages()}


def test_base_images_are_pinned_and_each_in_one_version():
    assert all(PINNED.fullmatch(tag) for tag in image_tags())
    assert len({tag.split(":")[0] for tag in image_tags()}) == len(image_tags())
    assert any(tag.startswith("python:3.11.") for tag in image_tags())


@pytest.mark.parametrize("name", FINAL)
def test_an_image_ends_without_root(name):
    stage = stages()[name]
    assert stage.of("USER") == ["sundial"]
    assert [instruction for instruction, _ in stage.instructions[-3:]] == ["USER", "HEALTHCHECK", "CMD"]
    assert isinstance(json.loads(stage.of("CMD")[0]), list)
    (check,) = stage.of("HEALTHCHECK")
    assert check == "NONE" or json.loads(check[check.index("CMD") + 3 :])


def test_the_dockerfile_installs_only_what_is_locked():
    text = dockerfile()
    assert not re.search(r"^ADD |apt-get|apk |curl|wget|sudo|chmod 777|:latest", text, re.MULTILINE)
    assert "python -m stack.install.setup" in text
    assert "--require-hashes --no-deps -r docker/postgres.txt" in text
    assert not any(SECRET.search(line) for stage in stages().values() for line in stage.of("ENV") + stage.of("ARG"))
    for line in (ROOT / "docker/postgres.txt").read_text().splitlines():
        assert re.match(r"#|[a-z-]+==[\d.]+ \\|    --hash=sha256:", line), line


@pytest.mark.parametrize("script", sorted((ROOT / "docker").rglob("*.sh")), ids=lambda file: file.name)
def test_a_script_is_executable_and_its_syntax_is_right(script):
    assert os.access(script, os.X_OK)
    shell = script.read_text().splitlines()[0].removeprefix("#!")
    assert shell in ("/bin/sh", "/bin/bash")
    assert "set -eu" in script.read_text()
    subprocess.run([shell, "-n", script], check=True)


def commands(program: str) -> list[list[str]]:
    found = [service.get("entrypoint", []) + service["command"] for service in OURS.values() if "command" in service]
    return [command for command in found if command[: len(program.split())] == program.split()]


def test_every_command_is_of_a_kind_that_is_checked_below():
    kinds = [commands(kind) for kind in ("python -m airflow", "python -m uvicorn", "spark-class", "sundial")]
    scripts = [[command] for service in OURS.values() if (command := service.get("command", [""])[0]).startswith("docker/")]
    assert sum(map(len, kinds)) + len(scripts) == len([service for service in OURS.values() if "command" in service])
    assert all((ROOT / script).exists() for (script,) in scripts)
    assert json.loads(stages()["kafka"].of("CMD")[0]) == ["/opt/kafka/config/start.sh"]
    assert json.loads(stages()["registry"].of("CMD")[0]) == ["/opt/registry/config/start.sh"]


def test_airflow_takes_its_commands_and_its_executor(tmp_path):
    """In a process of its own, as Airflow reads its configuration once."""
    lines = [command[3:] for command in commands("python -m airflow")]
    assert len(lines) == 4
    lines.append(["pools", "set", "spark", "2", "words"])
    lines.append(["db", "migrate"])
    code = f"""
from airflow.cli.cli_parser import get_parser
from airflow.executors.executor_loader import ExecutorLoader
for line in {lines}:
    get_parser().parse_args(line)
assert ExecutorLoader.get_default_executor_name().alias == "LocalExecutor"
"""
    settings = {k: v for k, v in SERVICES["airflow-scheduler"]["environment"].items() if k.startswith("AIRFLOW__CORE__EXECUTOR")}
    environment = {**os.environ, **settings, "AIRFLOW_HOME": str(tmp_path), "AIRFLOW__CORE__UNIT_TEST_MODE": "True"}
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr[-2000:]


def test_airflow_knows_every_setting_that_is_given():
    from airflow.configuration import conf

    for name in SERVICES["airflow-scheduler"]["environment"]:
        if name.startswith("AIRFLOW__"):
            section, key = name.removeprefix("AIRFLOW__").lower().split("__")
            known = conf.configuration_description.get(section, {}).get("options", {})
            assert key in known or (section == "core" and key.startswith("simple_auth_manager")), name


def test_uvicorn_takes_its_command():
    (command,) = commands("python -m uvicorn")
    context = uvicorn.main.make_context("uvicorn", command[3:])
    assert context.params["app"] == "serving.app:app"
    assert (ROOT / "serving/app.py").exists()


def test_sundial_takes_its_commands():
    import typer.main

    cli: Any = typer.main.get_command(app)
    known = set(cli.list_commands(click.Context(cli)))
    for script in ("init.sh", "init-kafka.sh"):
        for line in (ROOT / "docker" / script).read_text().splitlines():
            if line.startswith("sundial "):
                name, *arguments = line.split()[1:]
                assert name in known, line
                command = cli.get_command(click.Context(cli), name)
                if isinstance(command, click.Group):
                    command = command.get_command(click.Context(command), arguments.pop(0))
                assert command.make_context(name, arguments, parent=click.Context(cli)), line


@pytest.mark.full
@pytest.mark.parametrize("kind", ["master.Master", "worker.Worker"])
def test_spark_takes_its_commands(kind):
    """The class says in its usage which options it knows; it wants each value by itself."""
    lines = [command for command in commands("spark-class") if command[1].endswith(kind)]
    assert lines
    binary = Path(sys.executable).parent / "spark-class"
    environment = {**os.environ, "PATH": f"{binary.parent}{os.pathsep}{os.environ['PATH']}"}
    usage = subprocess.run([binary, lines[0][1], "--help"], env=environment, capture_output=True, text=True, timeout=60)
    for line in lines:
        for option in (part for part in line[2:] if part.startswith("--")):
            assert f"{option} " in usage.stdout + usage.stderr, option


def test_the_health_check_believes_only_an_answer_that_says_healthy():
    answers = {
        "/health": (200, "ok"),
        "/sick": (503, "no"),
        "/monitor": (200, json.dumps({"scheduler": {"status": "healthy"}, "triggerer": {"status": "unhealthy"}})),
    }

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            status, text = answers[self.path]
            self.send_response(status)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def code(path: str, *component: str) -> int:
        url = f"http://127.0.0.1:{server.server_port}{path}"
        script = ROOT / "docker/health.py"
        return subprocess.run([sys.executable, script, url, *component], stderr=subprocess.DEVNULL, timeout=30).returncode

    try:
        assert code("/health") == 0
        assert code("/sick") == 1
        assert code("/monitor", "scheduler") == 0
        assert code("/monitor", "triggerer") == 1
        assert code("/monitor", "dag_processor") == 1
    finally:
        server.shutdown()
        server.server_close()


def test_health_checks_are_commands_of_their_images():
    for name, service in SERVICES.items():
        check = health_of(service)
        if check and name in OURS:
            assert check[0] in ("python", "bash", "/opt/registry/config/healthy.sh"), name
            assert check[0] != "python" or (ROOT / check[1]).exists()
        elif check:
            assert check[0] in ("pg_isready", "wget"), name
