"""Why a broker can't be used, in closed words: certificates, passwords and rights give no text of theirs to the log."""

import asyncio
import ssl
from typing import NamedTuple

from aiokafka import errors
from aiokafka.conn import collect_hosts, create_conn
from aiokafka.protocol.metadata import MetadataRequest

from plangate.shell import clients
from plangate.shell.settings import Settings

PROBE_SECONDS = 10.0
# X509_V_ERR_ numbers of OpenSSL.
_CERTIFICATE = {
    9: "its certificate is not valid yet",
    10: "its certificate has expired",
    18: "its certificate is of an authority that is not trusted",
    19: "its certificate is of an authority that is not trusted",
    20: "its certificate is of an authority that is not trusted",
    21: "its certificate is of an authority that is not trusted",
    62: "its certificate is for another host",
    64: "its certificate is for another host",
}
_RIGHTS = {
    errors.TopicAuthorizationFailedError: "topic",
    errors.GroupAuthorizationFailedError: "consumer group",
    errors.TransactionalIdAuthorizationFailed: "transactional id",
    errors.ClusterAuthorizationFailedError: "cluster",
}
#: what the broker answers where the user lacks a right
DENIALS = tuple(_RIGHTS)


class Fault(NamedTuple):
    """`lasting`: trying again won't help, somebody must change a setting, a file or the broker."""

    text: str
    lasting: bool


async def why_unreachable(settings: Settings) -> Fault:
    """Try each bootstrap address once, as the clients do, and say what was wrong. Lasting only if all are so."""
    options = clients.connection(settings)
    options.pop("bootstrap_servers")
    texts, lasting = [], True
    for host, port, _ in collect_hosts(settings.broker, randomize=False):
        try:
            conn = await create_conn(host, port, request_timeout_ms=int(PROBE_SECONDS * 1000), **options)
            try:
                await conn.send(MetadataRequest([]))
            finally:
                conn.close()
            fault = Fault("it answers now", False)
        except (TimeoutError, OSError, errors.KafkaError, ValueError) as error:
            fault = explain(error, settings.security_protocol)
            if isinstance(error, errors.KafkaConnectionError) and await _speaks_tls(host, port, settings):
                fault = Fault(f"it speaks TLS, and security_protocol is {settings.security_protocol}", True)
        texts.append(f"{host}:{port}: {fault.text}")
        lasting = lasting and fault.lasting
    return Fault("; ".join(texts), lasting)


async def _speaks_tls(host: str, port: int, settings: Settings) -> bool:
    """Whether a listener that closed a connection without TLS would have taken one with it."""
    if settings.security_protocol.endswith("SSL"):
        return False
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # nothing is sent
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            _, writer = await asyncio.open_connection(host, port, ssl=context)
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True


def explain(error: BaseException, protocol: str) -> Fault:
    """One address that gave this error on connecting."""
    if isinstance(error, ssl.SSLCertVerificationError):
        unknown = f"its certificate is refused (OpenSSL error {error.verify_code})"
        return Fault(_CERTIFICATE.get(error.verify_code, unknown), True)
    if isinstance(error, ssl.SSLError) and not isinstance(error, ssl.SSLEOFError):
        return Fault("it speaks no TLS, or refuses ours", True)
    if isinstance(error, errors.SaslAuthenticationFailed):
        return Fault("it refuses the user or the password", True)
    if isinstance(error, errors.UnsupportedSaslMechanismError | errors.IllegalSaslStateError):
        return Fault("it does not take this sasl_mechanism", True)
    if isinstance(error, errors.KafkaConnectionError):
        return Fault(f"it closes the connection: does its listener speak {protocol}?", False)
    if isinstance(error, TimeoutError):
        return Fault("it does not answer in time", False)
    if isinstance(error, ConnectionRefusedError):
        return Fault("nobody listens there", False)
    return Fault(f"no connection ({type(error).__name__})", False)


def denied(error: BaseException) -> str | None:
    """Which right the worker lacks, from a broker's answer; None if that is not what it says."""
    for kind, what in _RIGHTS.items():
        if isinstance(error, kind):
            # What the client puts there are names of ours: topics, the group, the transactional id.
            names = [name for arg in error.args for name in (arg if isinstance(arg, set | frozenset) else [arg])]
            named = ", ".join(sorted(name for name in names if isinstance(name, str)))
            return f"no right on {what} {named}".rstrip()
    return None
