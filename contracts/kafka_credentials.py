"""How Sundial's Kafka clients prove who they are, and make the broker prove itself: SUNDIAL_KAFKA_USER, _PASSWORD and _CA.

None of them: plain text, for a broker on the same machine. The CA alone: TLS. All three: TLS, and SCRAM-SHA-512 within it. A user
without a CA is an error: any process at the broker's address could then take part in the proof.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

USER, PASSWORD, CA = "SUNDIAL_KAFKA_USER", "SUNDIAL_KAFKA_PASSWORD", "SUNDIAL_KAFKA_CA"
VARIABLES = (USER, PASSWORD, CA)
MECHANISM = "SCRAM-SHA-512"
LOGIN_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"


class CredentialsError(ValueError):
    """The variables contradict each other or name what is not there; the message says which and never shows a password."""


@dataclass(frozen=True)
class KafkaCredentials:
    """What a client adds to the brokers' addresses; by default nothing."""

    user: str = ""
    password: str = field(default="", repr=False)
    ca: str = ""  # path of a PEM file with the certificates to trust

    @classmethod
    def from_environment(cls, env: Mapping[str, str] = os.environ) -> "KafkaCredentials":
        """Raises CredentialsError naming the variable at fault."""
        user, password, ca = (env.get(name, "") for name in VARIABLES)
        missing = [name for name in VARIABLES if not env.get(name)]
        if (user or password) and missing:
            raise CredentialsError(f"{', '.join(missing)} not set: set all of {', '.join(VARIABLES)}, or {CA} alone, or none")
        for name, value in ((USER, user), (PASSWORD, password)):
            if not value.isprintable():
                raise CredentialsError(f"{name} has characters that can't be printed; a line break at its end, perhaps")
        if ca and "-----BEGIN CERTIFICATE-----" not in _text(ca):
            raise CredentialsError(f"{CA} names {ca}, which holds no certificate in PEM")
        return cls(user, password, ca)

    def client_options(self, bootstrap: str) -> dict[str, str]:
        """Options of librdkafka, as confluent-kafka takes them."""
        options = {"bootstrap.servers": bootstrap}
        if self.ca:
            options |= {"security.protocol": self._protocol(), "ssl.ca.location": self.ca}
        if self.user:
            options |= {"sasl.mechanism": MECHANISM, "sasl.username": self.user, "sasl.password": self.password}
        return options

    def spark_options(self, bootstrap: str) -> dict[str, str]:
        """Options of Spark's Kafka source and sink. They hold all that is needed: executors need neither file nor variable.

        Spark hides the login from plans, logs and pages: its value names a password, which `spark.redaction.regex` looks for.
        """
        options = {"bootstrap.servers": bootstrap}
        if self.ca:
            options |= {
                "security.protocol": self._protocol(),
                "ssl.truststore.type": "PEM",
                "ssl.truststore.certificates": _text(self.ca),
            }
        if self.user:
            login = f"{LOGIN_MODULE} required username={_quoted(self.user)} password={_quoted(self.password)};"
            options |= {"sasl.mechanism": MECHANISM, "sasl.jaas.config": login}
        return {f"kafka.{name}": value for name, value in options.items()}

    def _protocol(self) -> str:
        return "SASL_SSL" if self.user else "SSL"


PLAIN = KafkaCredentials()


def _text(ca: str) -> str:
    try:
        return Path(ca).read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is not text"
        raise CredentialsError(f"{CA} names {ca}, which can't be read: {reason}") from error


def _quoted(value: str) -> str:
    """A value as a login configuration of Java quotes it."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
