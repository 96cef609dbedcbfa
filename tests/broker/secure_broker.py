"""One Kafka with TLS, SCRAM and ACLs in a container. Every listener that hosts reach asks for TLS and a password.

The same broker listens with four certificates: a right one, one that has expired, one for another host and one of an
authority that nobody trusts.
"""

import secrets
import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kafka_container import ApacheKafka, free_port
from secure_certs import Authority

#: listener -> port in the container. WRONGHOST and the like differ in their certificates only.
LISTENERS = {"HOST": 9092, "EXPIRED": 9193, "WRONGHOST": 9194, "UNKNOWN": 9195}
KAFKA_BIN = "/opt/kafka/bin"
INSIDE = "localhost:19092"
ACLS = Path(__file__).parents[2] / "deploy" / "acls"


class SecureKafka(ApacheKafka):
    """`folder` gets the certificates. `users`: names, each of which gets a password of this run."""

    def __init__(self, folder: Path, users: Sequence[str]) -> None:
        folder.chmod(0o755)
        self.folder = folder
        trusted, unknown = Authority(folder, "trusted"), Authority(folder, "unknown")
        trusted.issue("HOST.pem")
        trusted.issue("EXPIRED.pem", expired=True)
        trusted.issue("WRONGHOST.pem", "kafka.elsewhere.example")
        unknown.issue("UNKNOWN.pem")
        self.ca_file = trusted.file
        self.passwords = {user: secrets.token_hex(12) for user in users}
        self.ports_outside = {name: free_port() for name in LISTENERS}
        listeners = ",".join(f"{name}://:{port}" for name, port in LISTENERS.items())
        advertised = ",".join(f"{name}://127.0.0.1:{port}" for name, port in self.ports_outside.items())
        environment = {
            # The two inner listeners are published nowhere; who comes through them is ANONYMOUS, the broker itself.
            "KAFKA_LISTENERS": f"{listeners},INTERNAL://localhost:19092,CONTROLLER://localhost:9093",
            "KAFKA_ADVERTISED_LISTENERS": f"{advertised},INTERNAL://{INSIDE}",
            "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT,"
            + ",".join(f"{name}:SASL_SSL" for name in LISTENERS),
            "KAFKA_SASL_ENABLED_MECHANISMS": "SCRAM-SHA-512",
            "KAFKA_AUTHORIZER_CLASS_NAME": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "KAFKA_SUPER_USERS": "User:ANONYMOUS;User:admin",
            "KAFKA_ALLOW_EVERYONE_IF_NO_ACL_FOUND": "false",
        }
        for name in LISTENERS:
            prefix = f"KAFKA_LISTENER_NAME_{name}"
            environment |= {
                f"{prefix}_SSL_KEYSTORE_TYPE": "PEM",
                f"{prefix}_SSL_KEYSTORE_LOCATION": f"/certificates/{name}.pem",
                f"{prefix}_SCRAM___SHA___512_SASL_JAAS_CONFIG": (
                    "org.apache.kafka.common.security.scram.ScramLoginModule required;"
                ),
            }
        super().__init__(**environment)
        self.ports.clear()
        for name, port in LISTENERS.items():
            self.ports[port] = ("127.0.0.1", self.ports_outside[name])
        self.with_volume_mapping(str(folder), "/certificates", "ro")
        self.with_volume_mapping(str(ACLS), "/acls", "ro")

    def add_users(self) -> None:
        """Store the users' passwords in the broker."""
        lines = [
            f"{KAFKA_BIN}/kafka-configs.sh --bootstrap-server {INSIDE} --alter --entity-type users --entity-name {user}"
            f" --add-config 'SCRAM-SHA-512=[iterations=4096,password={password}]'"
            for user, password in self.passwords.items()
        ]
        self.run(" &\n".join(lines) + "\nwait")

    def grant(self, role: str, *users: str, prefix: str = "", remove: bool = False) -> str:
        """Give users a role by the script of deploy/, as an operator does; what it prints."""
        principals = " ".join(f"User:{user}" for user in users)
        flag = "--remove " if remove else ""
        # What kafka-acls.sh runs; not every image has that.
        command = f"{KAFKA_BIN}/kafka-run-class.sh org.apache.kafka.tools.AclCommand"
        given = {"KAFKA_ACLS": command, "BOOTSTRAP": INSIDE, "PREFIX": prefix}
        return self.run(f"sh /acls/grant.sh {flag}{role} {principals}", **given)

    def run(self, script: str, **environment: str) -> str:
        """A shell script in the container, as the broker's own user; its output. Asserts status 0."""
        given = {"KAFKA_HEAP_OPTS": "-Xmx96m", **environment}
        status, output = self.get_wrapped_container().exec_run(["sh", "-ec", script], environment=given)
        assert status == 0, output.decode()
        return output.decode()

    def address(self, listener: str = "HOST") -> str:
        """`host:port` of a listener."""
        return f"127.0.0.1:{self.ports_outside[listener]}"

    def client_options(self, user: str, listener: str = "HOST") -> dict[str, Any]:
        """Of an aiokafka client that comes as this user."""
        return {
            "bootstrap_servers": self.address(listener),
            "security_protocol": "SASL_SSL",
            "ssl_context": ssl.create_default_context(cafile=str(self.ca_file)),
            "sasl_mechanism": "SCRAM-SHA-512",
            "sasl_plain_username": user,
            "sasl_plain_password": self.passwords[user],
        }

    def worker_settings(self, user: str, listener: str = "HOST") -> dict[str, Any]:
        """The documented settings of a worker that comes as this user; its password is in a file."""
        return {
            "broker": self.address(listener),
            "security_protocol": "SASL_SSL",
            "sasl_mechanism": "SCRAM-SHA-512",
            "sasl_username": user,
            "sasl_password_file": self.password_file(user),
            "ssl_ca_file": self.ca_file,
        }

    def password_file(self, user: str) -> Path:
        file = self.folder / f"{user}.password"
        file.write_text(self.passwords[user] + "\n")
        return file
