"""The package that `muster plugin new` writes: its files, made from a plugin's name and extension points.

The package has the layout that setuptools finds by itself (`src/`), so that a test beside the code is neither installed
nor in the way of `pip install .`. The texts are pure; the command writes them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from string import Template
from typing import Final

FILTER: Final = "filter"
SCORE: Final = "score"
POINTS: Final = (FILTER, SCORE)
"""The extension points that a new plugin may extend."""

_SANDBOX_NODE: Final = "node-2"
"""A node of `muster sandbox --nodes 3`."""

_WORDS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@dataclass(frozen=True, slots=True)
class Scaffold:
    """A new plugin: its name, the points that it extends, and the least version of Muster that it needs."""

    name: str
    points: Collection[str]
    muster: str

    @property
    def package(self) -> str:
        """The name of the distribution, and of its folder."""
        return f"muster-{self._kebab}"

    @property
    def on_a_sandbox(self) -> Sequence[str]:
        """The commands that try it on an embedded cluster, each for a terminal of its own."""
        value = "yes" if SCORE in self.points else "never"
        return Template(_SANDBOX).substitute(node=_SANDBOX_NODE, label=self._label, value=value).splitlines()

    def files(self) -> Mapping[str, str]:
        """Path in the package -> content."""
        module = self.package.replace("-", "_")
        names = {
            "name": self.name,
            "package": self.package,
            "module": module,
            "label": self._label,
            "muster": self.muster,
            "sandbox": "\n".join(self.on_a_sandbox),
        }
        texts = {
            "pyproject.toml": _PYPROJECT,
            "README.md": _README,
            "config.yaml": _CONFIG,
            "pod.yaml": _POD,
            f"src/{module}/__init__.py": self._module(),
            f"tests/test_{module.removeprefix('muster_')}.py": self._tests(),
        }
        return {path: Template(text).substitute(names) for path, text in texts.items()}

    @property
    def _kebab(self) -> str:
        return _WORDS.sub("-", self.name).lower()

    @property
    def _label(self) -> str:
        return f"example.com/{self._kebab}"

    def _module(self) -> str:
        rejects, prefers = FILTER in self.points, SCORE in self.points
        does = [*["keeps pods off nodes whose LABEL is never"] * rejects]
        does += ["prefers nodes whose LABEL is yes"] * prefers
        bases = [*["PerNodeFilter"] * rejects, *["PerNodeScore"] * prefers]
        names = ["CycleState", "DependsOn", "NodeInfo", "PodInfo", *["Status"] * rejects]
        summary = ", and ".join(does)
        attributes = [f"    {point}_depends_on = DependsOn.NODE\n" for point in POINTS if point in self.points]
        return (
            '"""$name: chooses nodes by their label $label."""\n\n'
            f"from muster.framework.authoring import {', '.join(bases)}\n"
            f"from muster.framework.contract import {', '.join(names)}\n\n"
            'LABEL = "$label"\n\n\n'
            f"class $name({', '.join(bases)}):\n"
            f'    """{summary[0].upper()}{summary[1:]}."""\n\n'
            '    name = "$name"\n' + "".join(attributes) + _FILTER_NODE * rejects + _SCORE_NODE * prefers
        )

    def _tests(self) -> str:
        return _TESTS + _TEST_FILTER * (FILTER in self.points) + _TEST_SCORE * (SCORE in self.points)


_FILTER_NODE: Final = """
    def filter_node(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        if node.labels.get(LABEL) == "never":
            return Status.unresolvable(f"node(s) had the label {LABEL}=never")
        return None
"""

_SCORE_NODE: Final = """
    def score_node(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        return 100 if node.labels.get(LABEL) == "yes" else 0
"""

_TESTS: Final = '''"""$name by itself, and in the whole scheduler."""

import asyncio

from muster.testing import Cluster, VirtualScheduler, make_node, make_pod

from $module import LABEL, $name


def node_of_a_pod(*nodes: dict[str, object]) -> str:
    """The node that the whole scheduler gives a pod on these nodes; "" for none."""

    async def scheduled() -> str:
        scheduler = VirtualScheduler($name)
        scheduler.add_nodes(*nodes)
        [web] = scheduler.add(make_pod("web"))
        await scheduler.run(5)
        scheduler.check()
        node = scheduler.node_of(web)
        await scheduler.kill()
        return node

    return asyncio.run(scheduled())
'''

_TEST_FILTER: Final = """

def test_a_node_with_never_is_rejected() -> None:
    cluster = Cluster(make_node("closed").labels({LABEL: "never"}), make_node("open"))
    plugin = cluster.plugin($name)
    assert [*cluster.rejected(plugin, make_pod("web"))] == ["closed"]


def test_a_pod_waits_where_every_node_has_never() -> None:
    closed = make_node("closed").labels({LABEL: "never"})
    assert node_of_a_pod(closed) == ""
    assert node_of_a_pod(closed, make_node("open")) == "open"
"""

_TEST_SCORE: Final = """

def test_a_node_with_yes_scores_100() -> None:
    cluster = Cluster(make_node("liked").labels({LABEL: "yes"}), make_node("other"))
    plugin = cluster.plugin($name)
    assert cluster.scores(plugin, make_pod("web")) == {"liked": 100, "other": 0}


def test_a_pod_goes_to_the_node_with_yes() -> None:
    nodes = [make_node(f"node-{number}") for number in range(5)]
    assert node_of_a_pod(*nodes, make_node("liked").labels({LABEL: "yes"})) == "liked"
"""

_PYPROJECT: Final = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "$package"
version = "0.1.0"
description = "A plugin for the Kubernetes scheduler Muster"
requires-python = ">=3.11"
dependencies = ["muster-scheduler>=$muster"]

[project.optional-dependencies]
test = ["pytest"]

[project.entry-points."muster.plugins"]
$name = "$module:$name"

[tool.setuptools.packages.find]
where = ["src"]

[tool.pytest.ini_options]
testpaths = ["tests"]
pythonpath = ["src"]
"""

_CONFIG: Final = """\
# What Muster runs by default, with $name. A configuration file replaces the default profile,
# so gang scheduling (Coscheduling instead of PrioritySort) has to be enabled here too.
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection:
  leaderElect: false
profiles:
  - schedulerName: muster
    plugins:
      multiPoint:
        enabled:
          - name: Coscheduling
          - name: $name
        disabled:
          - name: PrioritySort
"""

_SANDBOX: Final = """\
muster sandbox --nodes 3 --kubeconfig kubeconfig
muster run --config config.yaml --kubeconfig kubeconfig --secure-port 0
KUBECONFIG=kubeconfig kubectl label node $node $label=$value && KUBECONFIG=kubeconfig kubectl apply -f pod.yaml"""

_POD: Final = """\
apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  schedulerName: muster
  containers:
    - name: main
      image: nginx
"""

_README: Final = """\
# $package

$name is a plugin for the Kubernetes scheduler Muster.

```
pip install -e '.[test]'                                  # beside Muster
pytest                                                    # the plugin by itself, and in the whole scheduler
muster config check config.yaml                           # is it found, is it enabled?
```

Try it on an embedded cluster, in three terminals:

```
$sandbox
```

`muster explain web --config config.yaml --kubeconfig kubeconfig` shows what the plugin says of each node.
"""
