"""The three variables by which a Kafka client is let in: all, the CA alone, or none; a password is told to nobody."""

import pytest

from contracts.kafka_credentials import CredentialsError, KafkaCredentials

SECRET = 'p"a\\ss word'


@pytest.fixture
def ca(tmp_path):
    file = tmp_path / "ca.crt"
    file.write_text("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n")
    return str(file)


def credentials(user="", password="", ca=""):
    given = {"SUNDIAL_KAFKA_USER": user, "SUNDIAL_KAFKA_PASSWORD": password, "SUNDIAL_KAFKA_CA": ca}
    return KafkaCredentials.from_environment({name: value for name, value in given.items() if value})


def test_without_variables_a_client_gets_the_addresses_alone():
    assert credentials().client_options("a:1,b:1") == {"bootstrap.servers": "a:1,b:1"}
    assert credentials().spark_options("a:1,b:1") == {"kafka.bootstrap.servers": "a:1,b:1"}


def test_a_ca_alone_is_tls(ca):
    assert credentials(ca=ca).client_options("a:1") == {
        "bootstrap.servers": "a:1",
        "security.protocol": "SSL",
        "ssl.ca.location": ca,
    }
    spark = credentials(ca=ca).spark_options("a:1")
    assert spark["kafka.security.protocol"] == "SSL"
    assert spark["kafka.ssl.truststore.type"] == "PEM"
    assert spark["kafka.ssl.truststore.certificates"].startswith("-----BEGIN CERTIFICATE-----")
    assert "kafka.sasl.mechanism" not in spark


def test_all_three_are_scram_within_tls(ca):
    client = credentials("streams", SECRET, ca).client_options("a:1")
    assert client["security.protocol"] == "SASL_SSL"
    assert (client["sasl.mechanism"], client["sasl.username"], client["sasl.password"]) == ("SCRAM-SHA-512", "streams", SECRET)
    spark = credentials("streams", SECRET, ca).spark_options("a:1")
    assert spark["kafka.security.protocol"] == "SASL_SSL"
    assert spark["kafka.sasl.jaas.config"] == (
        'org.apache.kafka.common.security.scram.ScramLoginModule required username="streams" password="p\\"a\\\\ss word";'
    )


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ({"user": "streams"}, "SUNDIAL_KAFKA_PASSWORD, SUNDIAL_KAFKA_CA not set"),
        ({"password": SECRET}, "SUNDIAL_KAFKA_USER, SUNDIAL_KAFKA_CA not set"),
        ({"user": "streams", "password": SECRET}, "SUNDIAL_KAFKA_CA not set"),
        ({"user": "streams", "ca": "/ca"}, "SUNDIAL_KAFKA_PASSWORD not set"),
        ({"password": SECRET, "ca": "/ca"}, "SUNDIAL_KAFKA_USER not set"),
    ],
)
def test_a_part_of_them_is_an_error_that_names_what_is_missing(given, missing):
    with pytest.raises(CredentialsError, match=missing) as refused:
        credentials(**given)
    assert SECRET not in str(refused.value)


def test_what_cannot_be_right_is_told_at_once(ca, tmp_path):
    with pytest.raises(CredentialsError, match="SUNDIAL_KAFKA_PASSWORD has characters that can't be printed") as refused:
        credentials("streams", f"{SECRET}\n", ca)
    assert SECRET not in str(refused.value)
    with pytest.raises(CredentialsError, match="SUNDIAL_KAFKA_CA names /nowhere, which can't be read: No such file"):
        credentials(ca="/nowhere")
    (tmp_path / "key.pem").write_text("-----BEGIN PRIVATE KEY-----\n")
    with pytest.raises(CredentialsError, match=r"SUNDIAL_KAFKA_CA names .*, which holds no certificate in PEM"):
        credentials(ca=str(tmp_path / "key.pem"))


def test_the_password_is_not_shown(ca):
    assert "ss word" not in repr(credentials("streams", SECRET, ca))
