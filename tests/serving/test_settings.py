"""Settings from the environment: every variable at fault is named."""

from pathlib import Path

import pytest

from serving.settings import Settings, SettingsError


def test_settings_name_every_variable_at_fault():
    with pytest.raises(SettingsError) as error:
        Settings.from_env({"SUNDIAL_REGISTRY": "registry:8081", "SUNDIAL_LAKE": "/lake"})
    assert [line.split(" ")[0] for line in str(error.value).splitlines()] == [
        "SUNDIAL_KAFKA",
        "SUNDIAL_STREAMS",
        "SUNDIAL_REGISTRY",
    ]
    env = {"SUNDIAL_KAFKA": "k:1", "SUNDIAL_REGISTRY": "http://r/", "SUNDIAL_LAKE": "/l/", "SUNDIAL_STREAMS": "/s"}
    assert Settings.from_env(env) == Settings("k:1", "http://r", "/l", "/s")
    assert Settings.from_env(env | {"SUNDIAL_API_HOSTS": "sundial.example, 127.0.0.1"}).hosts == ("sundial.example", "127.0.0.1")


def test_a_bound_is_a_whole_number():
    env = {"SUNDIAL_KAFKA": "k:1", "SUNDIAL_REGISTRY": "http://r/", "SUNDIAL_LAKE": "/l/", "SUNDIAL_STREAMS": "/s"}
    for text in ("-1", "many", "1e3", "1000001", "9" * 5000):
        with pytest.raises(SettingsError, match=r"^SUNDIAL_METRICS_SERVICES_PER_FEED is no whole number from 0 to 1,000,000$"):
            Settings.from_env(env | {"SUNDIAL_METRICS_SERVICES_PER_FEED": text})
    with pytest.raises(SettingsError, match=r"^SUNDIAL_SERVICES_PER_FEED is no whole number from 1 to"):
        Settings.from_env(env | {"SUNDIAL_SERVICES_PER_FEED": "0"})
    assert Settings.from_env(env | {"SUNDIAL_SERVICES_PER_FEED": "5000"}).services_per_feed == 5000
    assert Settings.from_env(env | {"SUNDIAL_METRICS_SERVICES_PER_FEED": "0"}).metrics_services_per_feed == 0
    assert Settings.from_env(env | {"SUNDIAL_METRICS_SERVICES_PER_FEED": ""}).metrics_services_per_feed == 200


def test_settings_of_access_go_together():
    env = {"SUNDIAL_KAFKA": "k:1", "SUNDIAL_REGISTRY": "http://r/", "SUNDIAL_LAKE": "/l/", "SUNDIAL_STREAMS": "/s"}
    with pytest.raises(SettingsError) as error:
        Settings.from_env(env | {"SUNDIAL_AIRFLOW": "http://airflow:8080", "SUNDIAL_SESSION_SECRET": "short"})
    assert [line.split(" ")[0] for line in str(error.value).splitlines()] == [
        "SUNDIAL_AIRFLOW_USER",
        "SUNDIAL_AIRFLOW_PASSWORD",
        "SUNDIAL_SESSION_SECRET",
    ]
    secret = "a secret of 32 characters or more"
    airflow = {"SUNDIAL_AIRFLOW": "http://airflow:8080/", "SUNDIAL_AIRFLOW_USER": "u", "SUNDIAL_AIRFLOW_PASSWORD": "hidden"}
    found = Settings.from_env(env | airflow | {"SUNDIAL_SESSION_SECRET": secret, "SUNDIAL_USERS": "/u.json"})
    assert (found.airflow, found.airflow_url, found.users) == ("http://airflow:8080", "http://airflow:8080", Path("/u.json"))
    assert found.session_secret == secret
    assert secret not in repr(found)
    assert "hidden" not in repr(found)
    one, two = (Settings.from_env(env).session_secret for _ in range(2))
    assert one != two
    elsewhere = Settings.from_env(env | airflow | {"SUNDIAL_AIRFLOW_URL": "https://airflow.example.org/"})
    assert elsewhere.airflow_url == "https://airflow.example.org"
    with pytest.raises(SettingsError, match=r"^SUNDIAL_AIRFLOW_URL is no http\(s\) URL$"):
        Settings.from_env(env | airflow | {"SUNDIAL_AIRFLOW_URL": "javascript:alert(1)"})


def test_the_identity_provider_needs_the_public_address():
    env = {"SUNDIAL_KAFKA": "k:1", "SUNDIAL_REGISTRY": "http://r/", "SUNDIAL_LAKE": "/l/", "SUNDIAL_STREAMS": "/s"}
    env |= {"SUNDIAL_OIDC_ISSUER": "https://login.example.org", "SUNDIAL_OIDC_CLIENT_ID": "sundial"}
    env |= {"SUNDIAL_OIDC_CLIENT_SECRET": "hidden", "SUNDIAL_OIDC_VIEWERS": "staff"}
    with pytest.raises(SettingsError, match=r"^SUNDIAL_API is no https:// URL"):
        Settings.from_env(env)
    found = Settings.from_env(env | {"SUNDIAL_API": "https://sundial.example.org/"})
    assert found.provider.redirect_uri == "https://sundial.example.org/login/callback"
    assert "hidden" not in repr(found)
