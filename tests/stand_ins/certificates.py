"""Certificates for servers in tests: made anew each time, signed by themselves."""

import ipaddress
import ssl
import tempfile
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@cache
def _pair() -> tuple[bytes, bytes]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test server")])
    names = [
        x509.DNSName("localhost"),
        x509.DNSName("api.example"),
        x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
    ]
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return certificate.public_bytes(serialization.Encoding.PEM), private


def server_tls() -> ssl.SSLContext:
    """For a server that is `localhost`, `api.example` and 127.0.0.1."""
    certificate, private = _pair()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "pair.pem"
        file.write_bytes(certificate + private)
        context.load_cert_chain(file)
    return context


def certificate_file(folder: Path) -> Path:
    """What a client trusts that reads a file."""
    file = folder / "certificate.pem"
    file.write_bytes(_pair()[0])
    return file


def client_tls() -> ssl.SSLContext:
    """For a client that trusts that server and nobody else."""
    return ssl.create_default_context(cadata=_pair()[0].decode())
