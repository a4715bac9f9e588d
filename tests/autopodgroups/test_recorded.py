"""A recording of workloads with groups replays to the same decisions, and so does its copy without names."""

from pathlib import Path

from muster.framework.scheduler.engine import Engine, build_engine
from muster.framework.scheduler.ports import Ports
from muster.operator.process.settings import Assembly
from muster.operator.recording.names import anonymous_copy
from muster.operator.recording.reader import Recording
from muster.operator.recording.recorder import Recorder
from muster.operator.recording.replay import Replay
from muster.operator.recording.session import head
from muster.operator.recording.writer import RecordingFiles
from tests.autopodgroups.objects import JOB_SET_NAME, SET_NAME, job, job_set, leader_worker_set, owned
from tests.autopodgroups.world import JOB_SETS, JOBS, LEADER_WORKER_SETS, World
from tests.recording.recorded import assembled

SECRETS = ("badger", "ferret", "gibbon")


def assembly() -> Assembly:
    return assembled(plugins=("Coscheduling", "AutoPodGroups"))


class RecordedWorld(World):
    """A world with its scheduler recorded."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files = RecordingFiles(path, 1 << 30)
        super().__init__(5)

    def build(self, ports: Ports) -> Engine:
        self._recorder = Recorder(self._files.write, ports.clock, 0)
        plugins = assembly()
        engine = build_engine(plugins.configuration, plugins.profiles, plugins.registry, self._recorder.ports(ports))
        self._files.write(head(self._recorder, 0, engine, plugins))
        return self._recorder.watch(engine)

    def end(self) -> Recording:
        """End the recording."""
        self._recorder.end()
        self._files.close()
        return Recording(self._path)


async def test_a_copy_without_names_replays_to_the_same_decisions(tmp_path: Path) -> None:
    world = RecordedWorld(tmp_path / "recording")
    world.put(JOBS, job("badger", 2))
    world.put(JOB_SETS, job_set("ferret", ("a", 1, 2)))
    world.put(LEADER_WORKER_SETS, leader_worker_set("gibbon", 1, 2))
    world.add(*(owned(f"badger-{number}", "Job", "badger") for number in range(2)))
    world.add(*(owned(f"ferret-{n}", "Job", "ferret-a-0", labels={JOB_SET_NAME: "ferret"}) for n in range(2)))
    world.add(owned("gibbon-0", "StatefulSet", "gibbon", labels={SET_NAME: "gibbon"}))
    world.add(owned("gibbon-0-1", "StatefulSet", "gibbon-0", labels={SET_NAME: "gibbon"}))
    world.mark_namespace("false", "other")
    await world.run(5)
    for group in ("job-badger", "jobset-ferret", "leaderworkerset-gibbon-0"):
        world.create_group(group)
        await world.run(5)
    assert len(world.bound()) == 4
    recording, copy = world.end(), tmp_path / "copy"

    original = Replay(recording, assembly()).run()
    assert original.exact
    anonymous_copy(recording, copy, assembly())
    text = copy.read_text()
    assert [secret for secret in SECRETS if secret in text] == []
    replayed = Replay(Recording(copy), assembly()).run()
    assert replayed.exact, (replayed.own_way, replayed.broken_off, replayed.reworded)
    assert replayed.decisions == original.decisions > 0
