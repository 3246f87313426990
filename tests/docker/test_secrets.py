"""docker/secrets.sh: what it creates, and what it leaves alone."""

import datetime as dt
import shutil
import stat
import subprocess

import pytest

from contracts.users import Users
from tests.docker.compose import ROOT, SECRET, secrets

BROKERS = ("kafka-1", "kafka-2", "kafka-3")


def test_secrets_are_made_once_and_are_their_owners_alone(tmp_path):
    first = secrets(tmp_path)
    keys = contents(tmp_path / ".secrets")
    assert secrets(tmp_path) == first
    assert {file: file.read_bytes() for file in keys} == keys
    open_ = [tmp_path / ".secrets" / name for name in ("ca.crt", "prometheus/token")]  # containers of other users read them
    for file in (tmp_path / ".env", *keys):
        assert stat.S_IMODE(file.stat().st_mode) == (0o644 if file in open_ else 0o600), file
    assert stat.S_IMODE((tmp_path / ".secrets").stat().st_mode) == 0o700
    token = (tmp_path / ".secrets/prometheus/token").read_text()
    assert Users.read(tmp_path / ".secrets/users/users.json").of_token(token, dt.datetime.now(dt.UTC)).role == "viewer"
    values = [value for name, value in first.items() if SECRET.search(name)]
    assert len(set(values)) == len(values)
    assert min(map(len, values)) >= 40
    assert first["SUNDIAL_UID"] != "0"


@pytest.mark.parametrize("lost", [("ca.key",), ("ca.crt",), ("ca.key", "ca.crt")])
def test_a_lost_authority_is_not_replaced_while_brokers_have_its_certificates(tmp_path, lost):
    secrets(tmp_path)
    folder, elsewhere = tmp_path / ".secrets", tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in lost:
        (folder / name).rename(elsewhere / name)
    shutil.rmtree(folder / "kafka-2")
    before = contents(folder)
    done = subprocess.run([ROOT / "docker/secrets.sh", tmp_path], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    first, remedy = done.stderr.splitlines()
    assert first == f"no {lost[0]} in {folder}, so nothing can sign certificates for: kafka-2"
    assert remedy.startswith(
        "copy it back from where you keep it, then run this again; if it is lost, delete ca.key, ca.crt and kafka-*"
    )
    assert contents(folder) == before
    for name in lost:
        (elsewhere / name).rename(folder / name)
    secrets(tmp_path)
    assert_signed(folder)


def test_the_authoritys_key_may_be_elsewhere_while_nothing_has_to_be_signed(tmp_path):
    first = secrets(tmp_path)
    folder = tmp_path / ".secrets"
    (folder / "ca.key").unlink()
    before = contents(folder)
    assert secrets(tmp_path) == first
    assert contents(folder) == before


def test_without_its_key_an_authority_signs_no_broker_at_all(tmp_path):
    secrets(tmp_path)
    folder = tmp_path / ".secrets"
    (folder / "ca.key").unlink()
    before = (folder / "ca.crt").read_bytes()
    for broker in BROKERS:
        shutil.rmtree(folder / broker)
    done = subprocess.run([ROOT / "docker/secrets.sh", tmp_path], capture_output=True, text=True)
    assert (done.returncode, (folder / "ca.crt").read_bytes()) == (1, before)
    assert done.stderr.startswith(f"no ca.key in {folder}, so nothing can sign certificates for: kafka-1 kafka-2 kafka-3\n")
    (folder / "ca.crt").unlink()  # as the message says
    secrets(tmp_path)
    assert_signed(folder)


def contents(folder):
    return {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def assert_signed(folder):
    """Every broker has a certificate of this authority, which clients accept."""
    for broker in BROKERS:
        checked = ["openssl", "verify", "-CAfile", folder / "ca.crt", folder / broker / "broker.pem"]
        subprocess.run(checked, check=True, capture_output=True)
        assert (folder / broker / "ca.crt").read_bytes() == (folder / "ca.crt").read_bytes()
