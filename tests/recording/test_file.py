"""The file of a recording: what is in it, what is not, and what is said of one that is broken."""

import asyncio
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from muster.framework.contract import Node
from muster.operator.cli import main
from muster.operator.recording.events import FORMAT, Began, ObjectAdded
from muster.operator.recording.names import anonymous_copy
from muster.operator.recording.reader import Recording, RecordingError
from muster.operator.recording.writer import RecordingFiles, RecordingWriter, earlier
from muster.testing import make_node, make_pod

from .recorded import RecordedScheduler, add_gang, assembled, live, replayed

CLASS = "volume.beta.kubernetes.io/storage-class"
CONFIGURATION = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: muster
  plugins: {multiPoint: {enabled: [{name: Coscheduling}], disabled: [{name: PrioritySort}]}}"""


def a_recording(path: Path) -> Path:
    """One of two nodes, a gang that starts and a pod that waits."""
    asyncio.run(_record(path))
    return path


async def _record(path: Path) -> None:
    cluster = RecordedScheduler(path)
    cluster.add_nodes(*(make_node(f"node-{number}", cpu="4") for number in range(2)))
    await cluster.run(1)
    add_gang(cluster, "gang", 3, cpu="1")
    cluster.add(make_pod("huge").requests(cpu="64"))
    await cluster.run(5)
    cluster.end()


def muster_replay(*arguments: object) -> Result:
    """`muster replay` with these arguments."""
    return CliRunner().invoke(main, ["replay", *map(str, arguments)])


async def test_a_recording_holds_no_secret(tmp_path: Path) -> None:
    cluster = RecordedScheduler(tmp_path / "recording")
    cluster.add_nodes(make_node("node"))
    await cluster.run(1)
    pod = make_pod("web").annotations({"example.com/token": "hunter2", "kubectl.kubernetes.io/last-applied": "hunter2"})
    pod["spec"]["containers"][0] |= {
        "env": [{"name": "PASSWORD", "value": "hunter2"}],
        "command": ["sh", "-c", "hunter2"],
        "args": ["hunter2"],
        "livenessProbe": {"httpGet": {"path": "/hunter2"}},
    }
    pod["spec"]["volumes"] = [{"name": "token", "secret": {"secretName": "hunter2"}}]
    claim = {"metadata": {"name": "data", "namespace": "default", "annotations": {CLASS: "fast", "note": "hunter2"}}}
    cluster.api.put("persistentvolumeclaims", claim)
    cluster.add(pod)
    await cluster.run(1)
    cluster.end()
    text = (tmp_path / "recording").read_text()
    assert "hunter2" not in text
    assert f'"{CLASS}":"fast"' in text


def test_replay_of_an_unchanged_recording_says_so_and_ends_with_0(tmp_path: Path) -> None:
    ended = muster_replay(a_recording(tmp_path / "recording"))
    assert (ended.exit_code, ended.output.splitlines()[-1]) == (0, "every decision is the same")


def test_replay_with_another_configuration_ends_with_1_and_names_the_pods(tmp_path: Path) -> None:
    path = a_recording(tmp_path / "recording")
    config = tmp_path / "config.yaml"
    config.write_text(
        CONFIGURATION
        + """
  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}
"""
    )
    ended = muster_replay(path, "--config", config, "-o", "json")
    document = msgspec.json.decode(ended.output)
    assert (ended.exit_code, document["same"]) == (1, False)
    [pod] = document["pods"]
    assert (pod["difference"], pod["recorded"]["pod"]) == ("Elsewhere", "default/gang-1")
    assert pod["would"]["node"] != pod["recorded"]["node"]
    assert pod["would"]["ranking"]["total"] > pod["replayed"]["ranking"]["total"]
    assert "default/gang-1: node-" in muster_replay(path, "--config", config).output


def test_replay_says_that_it_asks_no_extender_of_the_configuration(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(
        CONFIGURATION
        + """
extenders:
- {urlPrefix: "http://127.0.0.1:1", filterVerb: filter}
"""
    )
    path = a_recording(tmp_path / "recording")
    ended = muster_replay(path, "--config", config, "-o", "json")
    assert (ended.exit_code, msgspec.json.decode(ended.stdout)["same"]) == (0, True)
    [line] = ended.stderr.splitlines()
    assert line.startswith("mind: the configuration has extenders, which a replay does not ask")
    assert not muster_replay(path).stderr


async def test_an_anonymous_copy_has_other_names_and_replays_byte_for_byte(tmp_path: Path) -> None:
    path, copy = tmp_path / "recording", tmp_path / "copy"
    cluster = RecordedScheduler(path)
    cluster.add_nodes(*(make_node(f"berlin-{number}", cpu="4").labels(team="physics") for number in range(12)))
    cluster.add_nodes(make_node("munich", cpu="4").taint("acme.example/owner", "chemistry"))
    await cluster.run(1)
    add_gang(cluster, "apollo", 3, cpu="1")
    add_gang(cluster, "gemini", 3, cpu="64")
    wanted = make_pod("mercury", image="registry.acme.example/rocket:1").requests(cpu="2").labels(app="rocket")
    wanted["spec"]["nodeSelector"] = {"team": "physics", "kubernetes.io/hostname": "berlin-10"}
    cluster.add(wanted)
    await cluster.run(40)
    cluster.end()
    anonymous_copy(Recording(path), copy, assembled())
    text = copy.read_text()
    reported = ("berlin", "munich", "physics", "chemistry", "acme", "apollo", "gemini", "mercury", "rocket", "registry")
    assert [name for name in reported if name in text] == []
    assert "Insufficient cpu" in text
    assert Recording(copy).head.anonymous
    comparison = replayed(Recording(copy))
    assert comparison.exact, (comparison.own_way, comparison.broken_off)
    assert comparison.decisions > 5


async def test_annotations_that_decide_are_recorded(tmp_path: Path) -> None:
    cluster = RecordedScheduler(tmp_path / "recording")
    cluster.add_nodes(make_node("node"))
    cluster.add(make_pod("job").annotations({"muster-scheduler.io/run-seconds": "60", "note": "hunter2"}))
    await cluster.run(1)
    cluster.end()
    text = (tmp_path / "recording").read_text()
    assert ('"muster-scheduler.io/run-seconds":"60"' in text, "hunter2" in text) == (True, False)


def test_a_last_line_that_was_cut_off_ends_the_recording(tmp_path: Path) -> None:
    path = a_recording(tmp_path / "recording")
    text = path.read_bytes()
    path.write_bytes(text[: text.index(b'"decided"') + 4])
    assert muster_replay(path).exit_code == 0


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    path = a_recording(tmp_path / "recording")
    lines = path.read_bytes().splitlines(keepends=True)
    lines[3] = b'{"event":"added","at":"soon"}\n'
    path.write_bytes(b"".join(lines))
    ended = muster_replay(path)
    assert ended.exit_code == 2
    assert f"{path}: line 4: at: must be of type number, not string" in ended.output


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"", "line 1: not a recording of Muster"),
        (b"apiVersion: v1\n", "line 1: not a recording of Muster"),
        (b'{"event":"stepped","at":1}\n', "line 1: not the head of a recording of Muster"),
        (
            b'{"event":"began","format":99,"muster":"v9","at":0,"wall":0,"seed":0,"configuration":{},"kinds":[]}\n',
            "line 1: written by Muster v9 in format 99, newer than this one's",
        ),
    ],
)
def test_a_file_that_is_no_recording_is_refused(tmp_path: Path, text: bytes, problem: str) -> None:
    path = tmp_path / "recording"
    path.write_bytes(text)
    ended = muster_replay(path)
    assert (ended.exit_code, problem in ended.output) == (2, True), ended.output


async def test_a_recording_keeps_to_its_size_and_its_last_two_files_replay(tmp_path: Path) -> None:
    path, most = tmp_path / "recording", 100_000
    cluster = RecordedScheduler(path, most_bytes=most)
    await live(cluster, 1, rounds=30, nodes=6, pods=8)
    cluster.end()
    files = earlier(path), path
    assert all(file.stat().st_size < 0.6 * most for file in files)
    assert Recording(path).head.part > 2
    for paths in (files, (path,)):
        comparison = replayed(Recording(*paths))
        assert len([*comparison.differences()]) < len(comparison.stories) / 5  # those that were on their way
    with pytest.raises(RecordingError, match="does not follow"):
        Recording(path, earlier(path))


async def test_two_files_with_the_beginning_replay_byte_for_byte(tmp_path: Path) -> None:
    path = tmp_path / "recording"
    cluster = RecordedScheduler(path, most_bytes=250_000)
    await live(cluster, 2, rounds=12, nodes=6, pods=8)
    cluster.end()
    assert Recording(path).head.part == 2
    comparison = replayed(Recording(earlier(path), path))
    assert comparison.exact, (comparison.own_way, comparison.broken_off)


def test_a_recording_that_cannot_hold_the_cluster_ends_and_the_scheduler_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    writer = RecordingWriter(RecordingFiles(tmp_path / "recording", 1000))
    writer(Began(format=FORMAT, muster="v0", at=0, wall=0, seed=0, configuration={}, kinds=("nodes",)))
    for number in range(100):
        writer(ObjectAdded(number, "nodes", msgspec.convert(make_node(f"node-{number}"), Node)))  # type: ignore[arg-type]
    writer.close()
    assert "the recording has ended" in caplog.text


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    ended = muster_replay(tmp_path / "nothing")
    assert (ended.exit_code, "No such file" in ended.output) == (2, True)


def test_fields_and_kinds_that_a_later_version_adds_are_left_out(tmp_path: Path) -> None:
    path = a_recording(tmp_path / "recording")
    text = path.read_bytes().replace(b'"event":"stepped"', b'"event":"stepped","why":"later"')
    path.write_bytes(text)
    assert Recording(path).head.whole
    assert muster_replay(path).exit_code == 0


def test_an_anonymous_copy_is_made_on_the_command_line_and_replays_with_its_own_configuration(tmp_path: Path) -> None:
    path, copy = a_recording(tmp_path / "recording"), tmp_path / "copy"
    assert muster_replay(path, "--anonymous-copy", copy).exit_code == 0
    assert "gang" not in copy.read_text()
    assert muster_replay(copy).exit_code == 0


def test_extenders_are_refused_because_their_answers_are_not_recorded(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(
        """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
profiles: [{schedulerName: muster}]
extenders: [{urlPrefix: "http://127.0.0.1:1", filterVerb: filter}]
"""
    )
    path = tmp_path / "recording"
    ended = CliRunner().invoke(main, ["run", "--config", str(config), "--record", str(path)])
    assert (ended.exit_code, path.exists()) == (2, False)
    assert "--record: what extenders answer cannot be recorded" in ended.output
