"""A job ends with the processes of its task, and with no others."""

import os
import subprocess
import sys
import threading

import psutil
import pytest

from supervision.task_life import SCRATCH, VARIABLE, bound_to_this_task, watch


@pytest.fixture
def sleepers():
    """Two processes: a task's and its supervisor's."""
    started = [subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) for _ in range(2)]
    yield started
    for each in started:
        each.kill()
        each.wait()


def bound(sleepers) -> dict[str, str]:
    host = bound_to_this_task()[VARIABLE].split()[0]
    return {VARIABLE: " ".join([host, *(str(each.pid) for each in sleepers)])}


@pytest.mark.parametrize("killed", [0, 1])
def test_a_job_ends_when_its_task_or_the_supervisor_is_killed_though_nobody_has_waited_for_it(sleepers, killed):
    ended = threading.Event()
    watch(ended.set, bound(sleepers))
    assert not ended.wait(1.5)
    sleepers[killed].kill()
    assert ended.wait(5)
    assert psutil.Process(sleepers[killed].pid).status() == psutil.STATUS_ZOMBIE


def test_a_job_whose_task_was_killed_deletes_its_temporary_files(sleepers, tmp_path):
    (tmp_path / "scratch" / "blockmgr").mkdir(parents=True)
    code = "import time; from jobs.backends import settings; settings.run(lambda platform: time.sleep(60))"
    variables = {f"SUNDIAL_{name}": "x" for name in ("KAFKA", "REGISTRY", "LAKE", "STREAMS", "JARS")}
    variables |= {SCRATCH: str(tmp_path / "scratch")} | bound(sleepers)
    sleepers[0].kill()
    ended = subprocess.run([sys.executable, "-c", code], env=os.environ | variables, stderr=subprocess.PIPE, timeout=50)
    assert (ended.returncode, ended.stderr) == (1, b"ERROR the task that this job belongs to is gone\n")
    assert list(tmp_path.iterdir()) == []


def test_a_task_that_is_gone_already_counts(sleepers):
    sleepers[0].kill()
    sleepers[0].wait()
    ended = threading.Event()
    watch(ended.set, bound(sleepers))
    assert ended.wait(5)


@pytest.mark.parametrize("env", [{}, {VARIABLE: ""}, {VARIABLE: "elsewhere 1 999999999"}])
def test_a_job_of_nobody_or_of_another_host_goes_on(env):
    ended = threading.Event()
    watch(ended.set, env)
    assert not ended.wait(0.5)


def test_a_task_names_itself_and_its_parent():
    process = psutil.Process()
    assert bound_to_this_task()[VARIABLE].split()[1:] == [str(process.pid), str(process.ppid())]
