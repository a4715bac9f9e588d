"""The files that commands read: manifests, by the options `-f`, `-R` and `-n`, as in kubectl, and dumps of clusters.

`simulate` takes the options as one value, `Files`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from muster.framework.contract import WatchedKind
from muster.operator.process.settings import Assembly
from muster.operator.simulate.dumps import read_dump
from muster.operator.simulate.manifests import ManifestError, Objects

from . import completion_candidates
from .common import BadInputError, Target

_DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Files:
    """The sources of manifests, whether to read folders recursively, and the namespace of objects that name none."""

    names: tuple[str, ...]
    recursive: bool
    namespace: str | None

    def namespace_on(self, target: Target | None) -> str:
        """The namespace of objects that name none; by default the cluster context's namespace, or `default`.

        Raises CredentialsError.
        """
        return self.namespace or _DEFAULT if target is None else target.namespace(self.namespace)


class _Source(click.ParamType[str]):
    """The type of a source: a file, a folder, a URL or `-`; the shell completes files."""

    name = "source"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(incomplete, type="file")]


def files_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options for manifests to a command, which gets them as `files`."""

    @wraps(command)
    def called(files: tuple[str, ...], namespace: str | None, recursive: bool, **rest: Any) -> None:
        command(files=Files(files, recursive, namespace), **rest)

    options = (
        click.option(
            "-f",
            "--filename",
            "files",
            multiple=True,
            required=True,
            type=_Source(),
            metavar="FILE|DIR|URL",
            help="Manifests of pods, PodGroups, Jobs, JobSets, Deployments, ReplicaSets, StatefulSets, and of what "
            "plugins look at, such as claims; - is stdin. May be repeated.",
        ),
        click.option(
            "-n",
            "--namespace",
            metavar="NS",
            shell_complete=completion_candidates.namespaces,
            help="The namespace of objects that name none. Default: the context's; with --from, default.",
        ),
        click.option("-R", "--recursive", is_flag=True, help="Also the folders in a DIR."),
    )
    decorated: Callable[..., None] = called
    for option in reversed(options):
        decorated = option(decorated)
    return decorated


def dumped_cluster(dump: Path, assembly: Assembly, watched: Sequence[WatchedKind]) -> Objects:
    """The cluster in a dump, with the objects of the `watched` kinds. Raises BadInputError."""
    try:
        return read_dump(dump, assembly, watched)
    except ManifestError as error:
        raise BadInputError(str(error)) from error
