"""Settings from the environment: every variable at fault is named."""

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
