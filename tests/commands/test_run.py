"""`muster run` before it schedules: what it warns of, and what it refuses."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from muster.framework.config import ConfigurationError
from muster.operator.process.settings import (
    Assembly,
    assemble,
    cautions,
    muster_configuration,
    read_configuration,
    with_leader_election,
)

MUSTER = Path(sys.executable).with_name("muster")
PAIR = [str(Path(__file__).parents[1] / "kube" / "data" / name) for name in ("certificate.pem", "key.pem")]


def configured(folder: Path, *profiles: object) -> Assembly:
    """What a file with these profiles comes to."""
    path = folder / "config.yaml"
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    path.write_text(yaml.safe_dump({**head, "profiles": profiles}))
    return assemble(read_configuration(path))


def plugins(*enabled: str, disabled: tuple[str, ...] = ()) -> object:
    named = {"enabled": [{"name": name} for name in enabled], "disabled": [{"name": name} for name in disabled]}
    return {"multiPoint": named}


def test_the_default_configuration_gives_no_cause_for_a_warning() -> None:
    assert list(cautions(assemble(muster_configuration()))) == []


def test_a_configuration_that_schedules_gangs_by_no_profile_is_warned_of(tmp_path: Path) -> None:
    assert list(cautions(configured(tmp_path, {"schedulerName": "packing"}))) == [
        "no profile enables Coscheduling: PodGroups are ignored, and their members are scheduled one by one"
    ]


def test_a_profile_is_warned_of_for_the_plugins_that_it_runs_without(tmp_path: Path) -> None:
    gangs = plugins("Coscheduling", disabled=("PrioritySort",))
    others = plugins("Coscheduling", "DeferredPodScheduling", disabled=("PrioritySort",))
    assembly = configured(
        tmp_path, {"schedulerName": "plain", "plugins": gangs}, {"schedulerName": "others", "plugins": others}
    )
    assert list(cautions(assembly)) == [
        'profile "others" runs without DeferredPodScheduling: Muster does not have these plugins yet'
    ]


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Path:
    """Credentials for a cluster that is never asked: refusals come before."""
    path = tmp_path / "kubeconfig"
    document = {
        "clusters": [{"name": "none", "cluster": {"server": "http://127.0.0.1:1"}}],
        "contexts": [{"name": "none", "context": {"cluster": "none", "user": "none"}}],
        "users": [{"name": "none", "user": {}}],
        "current-context": "none",
    }
    path.write_text(yaml.safe_dump(document))
    return path


@pytest.fixture
def taken_port() -> Iterator[int]:
    """A port of this machine on which another process listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        _, port = listener.getsockname()
        yield port


def refusal(kubeconfig: Path, *arguments: str) -> str:
    """The message with which `muster run` ends at once; exit code 2 and no traceback."""
    command = [str(MUSTER), "run", f"--kubeconfig={kubeconfig}", "--bind-address=127.0.0.1", *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, "Traceback" in ended.stderr) == (2, False), ended.stderr
    return ended.stderr.splitlines()[-1]


@pytest.mark.parametrize("security", [["--plain-http"], []])
def test_a_port_that_is_taken_is_named(kubeconfig: Path, taken_port: int, security: list[str]) -> None:
    assert refusal(kubeconfig, f"--secure-port={taken_port}", *security) == (
        f"Error: failed to create listener: failed to listen on 127.0.0.1:{taken_port}: Address already in use"
    )


def test_a_plugin_for_credentials_that_is_not_installed_is_reported_in_one_line(kubeconfig: Path) -> None:
    document = yaml.safe_load(kubeconfig.read_text())
    document["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": "no-such-plugin", "interactiveMode": "Never"}
    document["users"][0]["user"] = {"exec": plugin}
    kubeconfig.write_text(yaml.safe_dump(document))
    command = [str(MUSTER), "run", f"--kubeconfig={kubeconfig}"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    shown = f"Error: {kubeconfig}: user 'none': exec plugin 'no-such-plugin' was not found\n"
    assert (ended.returncode, ended.stdout, ended.stderr) == (2, "", shown)


def test_an_address_of_another_machine_is_named(kubeconfig: Path) -> None:
    assert "failed to listen on 192.0.2.7:10259: " in refusal(kubeconfig, "--bind-address=192.0.2.7")


def test_an_address_that_is_none_is_refused(kubeconfig: Path) -> None:
    message = refusal(kubeconfig, "--bind-address=foo")
    assert message == "Error: Invalid value for '--bind-address': failed to parse IP: \"foo\""


def test_a_serving_certificate_that_cannot_be_read_is_named(kubeconfig: Path) -> None:
    message = refusal(kubeconfig, "--tls-cert-file=nope", "--tls-private-key-file=none")
    assert message == "Error: cannot serve with nope and none: open nope: no such file or directory"


def test_a_serving_certificate_that_is_none_is_named(kubeconfig: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.write_text("no certificate\n")
    message = refusal(kubeconfig, f"--tls-cert-file={empty}", f"--tls-private-key-file={empty}")
    assert message == f"Error: cannot serve with {empty} and {empty}: tls: failed to find any PEM data"


def test_a_certificate_of_the_webhook_that_cannot_be_read_is_named(kubeconfig: Path) -> None:
    message = refusal(
        kubeconfig, "--webhook-port=9443", f"--webhook-cert-file={PAIR[0]}", "--webhook-private-key-file=x"
    )
    assert message.startswith(f"Error: cannot serve with {PAIR[0]} and x: ")


def test_the_webhook_needs_a_port_of_its_own(kubeconfig: Path) -> None:
    files = [f"--webhook-cert-file={PAIR[0]}", f"--webhook-private-key-file={PAIR[1]}"]
    message = refusal(kubeconfig, "--secure-port=9443", "--webhook-port=9443", *files)
    assert message == "Error: --secure-port and --webhook-port are both 9443"


def test_an_election_that_a_flag_switches_on_is_checked_too(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    path.write_text(yaml.safe_dump({**head, "leaderElection": {"leaderElect": False, "retryPeriod": "10s"}}))
    configuration = read_configuration(path)

    with pytest.raises(ConfigurationError) as caught:
        with_leader_election(configuration, True)

    assert str(caught.value) == (
        "couldn't create leader elector: renewDeadline must be greater than retryPeriod*JitterFactor"
    )


@pytest.mark.parametrize(
    ("duration", "message"),
    [("soon", 'time: invalid duration "soon"'), ("-1s", "must be zero or positive")],
)
def test_a_time_to_live_that_is_none_is_refused(kubeconfig: Path, duration: str, message: str) -> None:
    assert refusal(kubeconfig, f"--assumed-pod-ttl={duration}") == (
        f"Error: Invalid value for '--assumed-pod-ttl': {message}"
    )


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["--scheduler-name="], "--scheduler-name: Required value"),
        (["--scheduler-name=a", "--scheduler-name="], "--scheduler-name: Required value"),
        (["--scheduler-name=a", "--scheduler-name=b", "--scheduler-name=a"], '--scheduler-name: Duplicate value: "a"'),
    ],
)
def test_scheduler_names_must_be_names_and_differ(kubeconfig: Path, names: list[str], message: str) -> None:
    assert refusal(kubeconfig, *names) == f"Error: {message}"


def test_optional_modules_are_loaded_only_when_they_are_requested() -> None:
    load = "from muster.operator.cli import main; main.get_command(None, 'run')"
    unwanted = "{'kubernetes', 'jinja2', 'rich', 'muster.sandbox', 'muster.operator.simulate', 'muster.operator.web'}"
    look = f"import sys; assert not {unwanted} & sys.modules.keys(); import gc; assert gc.isenabled()"
    subprocess.run([sys.executable, "-c", f"{load}; {look}; import kubernetes.config"], check=True)
