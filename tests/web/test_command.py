"""`muster web` as it is called."""

import asyncio
import os
import re
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from urllib.request import HTTPCookieProcessor, build_opener

from muster.sandbox import Sandbox
from tests.commands.asking import BY_DEFAULT, bounded

MUSTER = Path(sys.executable).with_name("muster")


async def test_a_port_that_is_taken_is_bad_input(tmp_path: Path) -> None:
    async with Sandbox() as other:
        port = other.url.rpartition(":")[2]
        words = [str(MUSTER), "web", "--port", port, "--kubeconfig", str(other.kubeconfig(tmp_path / "config"))]
        ended = await asyncio.to_thread(subprocess.run, words, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert f"failed to listen on 127.0.0.1:{port}: Address already in use" in ended.stderr
    assert BY_DEFAULT not in ended.stderr


def test_muster_web_prints_an_address_serves_there_and_ends_in_good_order(tmp_path: Path) -> None:
    path, history = tmp_path / "config", tmp_path / "history"
    pipe, environment = subprocess.PIPE, os.environ | {"PYTHONUNBUFFERED": "1"}
    config = ["--kubeconfig", str(path)]
    sandbox = [str(MUSTER), "sandbox", "--nodes", "2", *config]
    pages = [str(MUSTER), "web", "--history", str(history), *config]
    with bounded(subprocess.Popen(sandbox, stdout=pipe, text=True, env=environment)) as cluster:
        assert cluster.stdout is not None
        assert any("export KUBECONFIG" in line for line in cluster.stdout)
        with bounded(subprocess.Popen(pages, stdout=pipe, stderr=pipe, text=True, env=environment)) as web:
            assert web.stdout is not None
            address = re.search(r"http://127\.0\.0\.1:\d+/\?key=\S+", web.stdout.readline())
            assert address is not None
            with build_opener(HTTPCookieProcessor()).open(address[0], timeout=30) as answer:
                page = answer.read().decode()
            web.send_signal(signal.SIGINT)
            rest, complaints = web.communicate(timeout=60)
        cluster.send_signal(signal.SIGINT)
    assert "<dt>nodes</dt><dd>2</dd>" in page
    assert (web.returncode, rest, complaints) == (0, "\nended\n", BY_DEFAULT)
    assert 'href="/history"' in page
    with closing(sqlite3.connect(history)) as database:
        assert database.execute("SELECT count(*) FROM samples").fetchone() >= (1,)


async def test_a_history_that_cannot_be_used_is_bad_input_that_names_the_option(tmp_path: Path) -> None:
    history = tmp_path / "diary"
    history.write_text("dear diary" * 999)
    async with Sandbox() as cluster:
        kubeconfig = str(cluster.kubeconfig(tmp_path / "config"))
        words = [str(MUSTER), "web", "--history", str(history), "--kubeconfig", kubeconfig]
        ended = await asyncio.to_thread(subprocess.run, words, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == (f"Error: --history {history}: it is not an SQLite database\n")
