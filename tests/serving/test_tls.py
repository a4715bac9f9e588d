"""Handshakes with real certificates over loopback."""

import asyncio
import logging
import os
import shutil
import ssl
from pathlib import Path

import pytest

from muster.operator.serving import CertificateError, certificate_files, self_signed


async def openssl(*arguments: str) -> None:
    process = await asyncio.create_subprocess_exec(
        "openssl", *arguments, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
    )
    assert await process.wait() == 0


async def make_pair(folder: Path, name: str) -> tuple[Path, Path]:
    """A certificate for `name` and its key, as files."""
    certificate, key = folder / f"{name}.crt", folder / f"{name}.key"
    await openssl(
        *(
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-subj",
            f"/CN={name}",
        ),
        *("-keyout", str(key), "-out", str(certificate), "-days", "1", "-addext", f"subjectAltName=DNS:{name}"),
    )
    return certificate, key


async def presented(context: ssl.SSLContext, *, server_name: str | None = None) -> bytes:
    """The certificate (DER) that a server with this context shows to a client that trusts everyone."""
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=context)
    trusting = ssl.create_default_context()
    trusting.check_hostname = False
    trusting.verify_mode = ssl.CERT_NONE
    _, writer = await asyncio.open_connection(
        "127.0.0.1", server.sockets[0].getsockname()[1], ssl=trusting, server_hostname=server_name or "127.0.0.1"
    )
    shown: bytes = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.close()
    await writer.wait_closed()
    server.close()
    await server.wait_closed()
    return shown


def der(certificate: Path) -> bytes:
    return ssl.PEM_cert_to_DER_cert(certificate.read_text())


def replace(file: Path, by: Path) -> None:
    """Puts another file in the place of one, and makes sure that it looks newer."""
    later = file.stat().st_mtime_ns + 1_000_000_000
    shutil.copyfile(by, file)
    os.utime(file, ns=(later, later))


async def test_a_certificate_is_served_from_its_files(tmp_path: Path) -> None:
    pair = await make_pair(tmp_path, "one.example")
    assert await presented(certificate_files(*pair)) == der(pair[0])


@pytest.mark.parametrize("server_name", [None, "muster.example"])
async def test_a_renewed_certificate_is_served_to_the_next_connection(tmp_path: Path, server_name: str | None) -> None:
    pair, renewed = await make_pair(tmp_path, "one.example"), await make_pair(tmp_path, "two.example")
    context = certificate_files(*pair)
    await presented(context, server_name=server_name)
    for file, successor in zip(pair, renewed, strict=True):
        replace(file, by=successor)
    assert await presented(context, server_name=server_name) == der(renewed[0])


async def test_a_broken_renewal_leaves_the_old_certificate_in_service_and_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pair, other = await make_pair(tmp_path, "one.example"), await make_pair(tmp_path, "two.example")
    first = der(pair[0])
    context = certificate_files(*pair)
    replace(pair[0], by=other[0])
    assert await presented(context) == first
    assert await presented(context) == first
    assert [record.levelno for record in caplog.records if record.name.startswith("muster")] == [logging.ERROR]


def test_files_that_are_missing_are_named(tmp_path: Path) -> None:
    with pytest.raises(CertificateError, match=r"cannot serve with .*tls\.crt and .*tls\.key: open .*: no such file"):
        certificate_files(tmp_path / "tls.crt", tmp_path / "tls.key")


async def test_a_self_signed_certificate_is_good_for_all_its_names(tmp_path: Path) -> None:
    shown = await presented(await self_signed(["localhost", "127.0.0.1"]))
    certificate = tmp_path / "shown.pem"
    certificate.write_text(ssl.DER_cert_to_PEM_cert(shown))
    for check in (("-verify_hostname", "localhost"), ("-verify_ip", "127.0.0.1")):
        await openssl("verify", "-CAfile", str(certificate), *check, str(certificate))


async def test_two_self_signed_certificates_differ() -> None:
    assert await presented(await self_signed(["localhost"])) != await presented(await self_signed(["localhost"]))


async def test_a_name_that_no_certificate_can_hold_is_refused() -> None:
    with pytest.raises(CertificateError, match="openssl could not make a certificate"):
        await self_signed(["bad,name"])


async def test_without_the_openssl_command_the_reason_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CertificateError, match="needs the openssl command"):
        await self_signed(["localhost"])
