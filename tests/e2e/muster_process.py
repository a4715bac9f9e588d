"""One `muster run` as a process of its own, as people start it: with files and options, and ended by a signal."""

import http.client
import signal
import subprocess
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.controlplane.guard import Guard
from tests.controlplane.ports import free_port
from tests.e2e.eventually import WITHIN_SECONDS, eventually

MUSTER = Path(sysconfig.get_path("scripts")) / "muster"
ENDS_WITHIN_SECONDS = 30
_LAST_LINES = 60

_DELETED = "is being deleted, cannot be assigned to a host"
"""The API server deletes a pod in two writes, and refuses a Binding in between. kube-scheduler logs that error, too."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """How to run it.

    Attributes:
        kubeconfig: the credentials.
        log: the file its output goes to.
        names: the schedulerNames it answers to; none leaves them to the configuration.
        config: a KubeSchedulerConfiguration.
        environment: the variables of the process; None for those of this one.
        recording: where it writes down what it sees and decides; None for nowhere.
    """

    kubeconfig: Path
    log: Path
    names: Sequence[str] = ()
    config: Path | None = None
    environment: Mapping[str, str] | None = None
    recording: Path | None = None
    port: int = field(default_factory=free_port)

    def command(self) -> list[str]:
        """The command line."""
        names = [argument for name in self.names for argument in ("--scheduler-name", name)]
        config = ["--config", str(self.config)] if self.config is not None else []
        recording = ["--record", str(self.recording)] if self.recording is not None else []
        serving = ["--bind-address=127.0.0.1", f"--secure-port={self.port}", "--plain-http"]
        return [str(MUSTER), "run", "--kubeconfig", str(self.kubeconfig), *names, *config, *recording, *serving, "-v2"]


class MusterProcess:
    """Runs from the moment it is made until it is stopped, or this process ends."""

    def __init__(self, options: Options) -> None:
        self.name = options.names[0] if options.names else ""
        self._options = options
        self._guard = Guard()
        self._ended = False
        with options.log.open("ab") as output:
            self._process = subprocess.Popen(
                options.command(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                env=options.environment,
            )
        self._guard.watch(self._process.pid)

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    @property
    def log(self) -> str:
        """All that it has written so far."""
        return self._options.log.read_text()

    @property
    def errors(self) -> list[str]:
        """The lines of its log that report errors, and those of tracebacks.

        Bindings of pods that a test deletes meanwhile are left out.
        """
        lines = [line for line in self.log.splitlines() if line.startswith(("E", "Traceback", " "))]
        return [line for line in lines if _DELETED not in line]

    def wait_until_ready(self, *, within: float = WITHIN_SECONDS) -> None:
        """Return when it schedules."""
        eventually(lambda: self._runs() and self.page("/readyz") == (200, "ok"), within=within)

    def page(self, path: str) -> tuple[int, str]:
        """Status and text of one of its pages; status 0 while nobody answers."""
        connection = http.client.HTTPConnection("127.0.0.1", self._options.port, timeout=10)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except OSError as error:
            return 0, str(error)
        finally:
            connection.close()

    def metric(self, series: str) -> float:
        """The value of one series of its `/metrics`; 0 for one that is not there."""
        _, text = self.page("/metrics")
        return next((float(line.rpartition(" ")[2]) for line in text.splitlines() if line.startswith(series)), 0.0)

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self._process.send_signal(number)

    def kill(self) -> None:
        """End it without a chance to do anything more."""
        self._process.kill()
        self.wait()

    def wait(self) -> int:
        """Its exit code, once it has ended by itself or by a signal sent before."""
        try:
            code = self._process.wait(ENDS_WITHIN_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise AssertionError(f"muster did not end\n{self._last_lines()}") from None
        finally:
            self._ended = True
            self._guard.close()
        return code

    def stop(self) -> None:
        """End it as Kubernetes does, and see that it ends well; without effect when it has been waited for."""
        if not self._ended:
            self.signal(signal.SIGTERM)
            code = self.wait()
            assert code == 0, f"muster ended with exit code {code}\n{self._last_lines()}"

    def _runs(self) -> bool:
        code = self._process.poll()
        assert code is None, f"muster ended with exit code {code}\n{self._last_lines()}"
        return True

    def _last_lines(self) -> str:
        return "\n".join(self.log.splitlines()[-_LAST_LINES:])


@contextmanager
def running(options: Options, *, ready: bool = True) -> Iterator[MusterProcess]:
    """A process from its start, or from the moment it is `ready`, until it ends as Kubernetes would end it."""
    process = MusterProcess(options)
    try:
        if ready:
            process.wait_until_ready()
        yield process
    finally:
        process.stop()
