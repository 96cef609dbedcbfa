"""Certificates for one run: authorities, and brokers' certificates that are right, expired or of another host."""

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

DAY = datetime.timedelta(days=1)
Key = ec.EllipticCurvePrivateKey


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


class Authority:
    """One that signs certificates; `file` is what its friends trust."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self.name = _name(name)
        self.key = ec.generate_private_key(ec.SECP256R1())
        now = datetime.datetime.now(datetime.UTC)
        self.certificate = (
            _builder(self.name, self.name, self.key, now - 10 * DAY, now + 10 * DAY)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(_usage(signs=True), critical=True)
            .sign(self.key, hashes.SHA256())
        )
        self.file = folder / f"{name}.pem"
        self.file.write_bytes(self.certificate.public_bytes(Encoding.PEM))

    def issue(self, file_name: str, host: str = "127.0.0.1", *, expired: bool = False) -> Path:
        """A server's key and certificate in one file, as Kafka's PEM key stores are; `host` is an address or a name."""
        key = ec.generate_private_key(ec.SECP256R1())
        now = datetime.datetime.now(datetime.UTC)
        until = now - DAY if expired else now + DAY
        try:
            general_name: x509.GeneralName = x509.IPAddress(ipaddress.ip_address(host))
        except ValueError:
            general_name = x509.DNSName(host)
        certificate = (
            _builder(_name(host), self.name, key, now - 5 * DAY, until)
            .add_extension(x509.SubjectAlternativeName([general_name]), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs=False), critical=True)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()), critical=False)
            .sign(self.key, hashes.SHA256())
        )
        file = self.folder / file_name
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        file.write_bytes(private + certificate.public_bytes(Encoding.PEM))
        file.chmod(0o644)  # the broker runs as another user; the key is worth nothing after the run
        return file


def _builder(
    subject: x509.Name, issuer: x509.Name, key: Key, start: datetime.datetime, end: datetime.datetime
) -> x509.CertificateBuilder:
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
    builder = builder.serial_number(x509.random_serial_number()).not_valid_before(start).not_valid_after(end)
    return builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)


def _usage(signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=not signs,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )
