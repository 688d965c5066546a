"""A certificate authority of the drill's own, and certificates of a chosen lifetime."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_PEM, _PLAIN = serialization.Encoding.PEM, serialization.NoEncryption()


class Authority:
    """Signs server certificates; clients trust `file`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.file = folder / "ca.pem"
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name("drill authority")
        now = datetime.now(UTC)
        builder = _builder(self._name, self._name, self._key, now, now + timedelta(days=1))
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), True)
        builder = builder.add_extension(
            x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), False
        )
        usage = dict.fromkeys(
            [
                "digital_signature", "content_commitment", "key_encipherment",
                "data_encipherment", "key_agreement", "encipher_only", "decipher_only",
            ],
            False,
        )  # fmt: skip
        builder = builder.add_extension(
            x509.KeyUsage(key_cert_sign=True, crl_sign=True, **usage), True
        )
        self.file.write_bytes(builder.sign(self._key, hashes.SHA256()).public_bytes(_PEM))

    def issue(self, service: str, seconds: float) -> tuple[Path, Path, float]:
        """Certificate, key and end of validity (epoch seconds, whole) of a server on loopback."""
        key = ec.generate_private_key(ec.SECP256R1())
        now = datetime.now(UTC)
        end = (now + timedelta(seconds=seconds)).replace(microsecond=0)
        start = now - timedelta(minutes=5)
        builder = _builder(_name(service), self._name, key, start, end)
        names = [x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))]
        builder = builder.add_extension(x509.SubjectAlternativeName(names), False)
        builder = builder.add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), False
        )
        certificate, secret = self.folder / f"{service}.pem", self.folder / f"{service}.key"
        certificate.write_bytes(builder.sign(self._key, hashes.SHA256()).public_bytes(_PEM))
        secret.touch(mode=0o600)
        secret.write_bytes(key.private_bytes(_PEM, serialization.PrivateFormat.PKCS8, _PLAIN))
        return certificate, secret, end.timestamp()


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    start: datetime,
    end: datetime,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(end)
    )
