"""Credentials that change while the process runs."""

import asyncio
from pathlib import Path

import pytest
from multidict import CIMultiDict

from muster.operator.kube.auth import Issued, PluginAuth, StaticAuth, TokenFileAuth, with_bearer
from muster.operator.kube.errors import CredentialsError

from .conftest import Time


def issued(token: str, expires: float | None = None) -> Issued:
    return Issued(with_bearer(CIMultiDict(), token), expires)


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    return write(tmp_path / "token", "first\n")


async def test_static_headers_cannot_be_renewed() -> None:
    auth = StaticAuth(with_bearer(CIMultiDict(), "t"))
    assert auth.current() == {"Authorization": "Bearer t"}
    assert await auth.renew(auth.current()) is False


def test_a_token_file_is_read_again_every_minute(token_file: Path, time: Time) -> None:
    auth = TokenFileAuth(token_file, headers=CIMultiDict({"Impersonate-User": "u"}), clock=time.clock)
    first = auth.current()
    assert first == {"Impersonate-User": "u", "Authorization": "Bearer first"}
    write(token_file, "second")
    time.now += 59
    assert auth.current() is first
    time.now += 1
    assert auth.current()["Authorization"] == "Bearer second"


def test_an_unchanged_token_keeps_its_headers_object(token_file: Path, time: Time) -> None:
    auth = TokenFileAuth(token_file, clock=time.clock)
    first = auth.current()
    time.now += 60
    assert auth.current() is first


async def test_a_token_file_is_read_at_once_when_its_token_is_rejected(token_file: Path, time: Time) -> None:
    auth = TokenFileAuth(token_file, clock=time.clock)
    rejected = auth.current()
    assert await auth.renew(rejected) is False
    write(token_file, "second")
    assert await auth.renew(rejected) is True
    assert auth.current()["Authorization"] == "Bearer second"
    assert await auth.renew(rejected) is True


@pytest.mark.parametrize("trouble", ["missing", "empty"])
def test_the_last_token_is_kept_while_the_file_is_unreadable(
    token_file: Path, time: Time, trouble: str, caplog: pytest.LogCaptureFixture
) -> None:
    auth = TokenFileAuth(token_file, clock=time.clock)
    if trouble == "missing":
        token_file.unlink()
    else:
        write(token_file, "")
    time.now += 60
    assert auth.current()["Authorization"] == "Bearer first"
    assert "keeping the previous token" in caplog.text


def test_a_token_file_that_is_not_there_to_begin_with_is_named(tmp_path: Path) -> None:
    with pytest.raises(CredentialsError, match=r"token: token file cannot be read: No such file or directory$"):
        TokenFileAuth(tmp_path / "token")


async def test_a_plugin_is_asked_first_when_needed_and_again_when_its_answer_expires(time: Time) -> None:
    answers = [issued("one", expires=1010), issued("two")]
    auth = PluginAuth(lambda: answers.pop(0), wall_clock=time.clock)
    assert auth.current() is None
    assert await auth.renew(None) is True
    assert auth.current() == {"Authorization": "Bearer one"}
    time.now += 10
    assert auth.current() is None
    await auth.renew(None)
    time.now += 1e9
    assert auth.current() == {"Authorization": "Bearer two"}


async def test_a_plugin_is_asked_once_for_all_requests_that_were_rejected_together(time: Time) -> None:
    answers = [issued("one"), issued("two"), issued("three")]
    auth = PluginAuth(lambda: answers.pop(0), wall_clock=time.clock)
    await auth.renew(None)
    rejected = auth.current()
    assert await asyncio.gather(*(auth.renew(rejected) for _ in range(5))) == [True] * 5
    assert auth.current() == {"Authorization": "Bearer two"}
    assert len(answers) == 1


async def test_an_error_of_the_credential_plugin_reaches_the_caller() -> None:
    def fail() -> Issued:
        raise CredentialsError("no")

    with pytest.raises(CredentialsError, match="no"):
        await PluginAuth(fail).renew(None)


def test_no_repr_shows_a_token() -> None:
    assert "secret" not in repr(issued("secret"))
