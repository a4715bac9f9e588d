"""Every setting, by every kind of wrong value: what is refused is refused by the field's path or the option's name."""

import json
import re
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Union, get_args, get_origin

import click
import pytest
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import BaseModel

from muster.framework.config import ARGS_MODELS, ConfigurationError, KubeSchedulerConfiguration, load
from muster.framework.config.problems import as_json
from muster.framework.model.names import PREFIX
from muster.framework.model.run_seconds import RUN_SECONDS
from muster.operator.cli import main
from muster.operator.kube.credentials import load_connection
from muster.operator.kube.errors import CredentialsError
from muster.operator.process.settings import assemble
from muster.plugins.autopodgroups.workloads import LABEL as AUTO_POD_GROUPS
from muster.plugins.capacityscheduling.api import KNOWN_ANNOTATIONS as QUOTA_ANNOTATIONS
from muster.plugins.catalog import IN_TREE
from tests.model.test_fuzzed_kinds import without_texts
from tests.model.wire import EXAMPLES
from tests.python_words import PYTHON
from tests.security import test_fuzzed_requests
from tests.security.test_fuzzed_input import MANY, VALUES

Way = tuple[Any, ...]
VERSION = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
ARGS: dict[str, type[BaseModel]] = {
    **{name: plugin.args_model for name, plugin in IN_TREE.items() if plugin.args_model is not None},
    **ARGS_MODELS,
}
ANY = {"profiles[0].pluginConfig[0].args"}
"""What holds anything: the arguments of a plugin that is not known yet."""


def models(annotation: Any) -> Iterator[tuple[type[BaseModel], bool]]:
    """The models in an annotation, and whether each stands in a list."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation, False
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from models(get_args(annotation)[0])
    elif origin in (Union, types.UnionType):
        for each in get_args(annotation):
            yield from models(each)
    elif origin in (tuple, list):
        yield from ((model, True) for model, _ in models(get_args(annotation)[0]))


def settings_of(model: type[BaseModel], path: str = "", way: Way = ()) -> Iterator[tuple[str, Way]]:
    """Every field by its path, and the way to it."""
    for name, field in model.model_fields.items():
        alias = field.alias or name
        here, steps = (f"{path}.{alias}" if path else alias), (*way, alias)
        yield here, steps
        for inner, listed in models(field.annotation):
            yield from settings_of(inner, f"{here}[0]" if listed else here, (*steps, 0) if listed else steps)


def holding(value: Any, way: Way) -> Any:
    for step in reversed(way):
        value = [value] if step == 0 else {step: value}
    return value


def problems(document: Any) -> list[tuple[str, str]]:
    """(path, words) of each fault of a configuration, plugins and their arguments included."""
    try:
        assemble(load(json.dumps(VERSION | document), "c.json"))
    except ConfigurationError as error:
        return [(each.path, each.text) for each in error.errors]
    return []


CONFIGURATION = [*settings_of(KubeSchedulerConfiguration)]
ARGUMENTS = [(name, *each) for name, model in sorted(ARGS.items()) for each in settings_of(model)]


def with_args(name: str, args: Any) -> dict[str, Any]:
    sorts = [{"name": "PrioritySort"}] if name == "Coscheduling" else []
    plugins = {"multiPoint": {"enabled": [{"name": name}], "disabled": sorts}}
    return {"profiles": [{"plugins": plugins, "pluginConfig": [{"name": name, "args": args}]}]}


def test_every_plugin_with_arguments_is_here() -> None:
    assert ARGS.keys() >= {"Coscheduling", "Reservation", "NodeResourcesFit"}
    assert len(CONFIGURATION) > 80
    assert len(ARGUMENTS) > 30


@pytest.mark.parametrize(("path", "way"), CONFIGURATION, ids=[path for path, _ in CONFIGURATION])
def test_a_field_of_the_configuration_is_named(path: str, way: Way) -> None:
    refused = [check(holding(value, way), path) for value in EXAMPLES.values() if path not in VERSION]
    assert any(refused) or path in {*ANY, *VERSION}


@pytest.mark.parametrize(("plugin", "path", "way"), ARGUMENTS, ids=[f"{name}.{path}" for name, path, _ in ARGUMENTS])
def test_an_argument_of_a_plugin_is_named(plugin: str, path: str, way: Way) -> None:
    whole = f"profiles[0].pluginConfig[0].args.{path}"
    assert any([check(with_args(plugin, holding(value, way)), whole) for value in EXAMPLES.values()])


@MANY
@given(st.sampled_from(CONFIGURATION), VALUES)
def test_any_value_of_any_field_is_read_or_refused(field: tuple[str, Way], value: Any) -> None:
    path, way = field
    if path not in VERSION:
        check(holding(value, way), path)


@MANY
@given(st.sampled_from(ARGUMENTS), VALUES)
def test_any_value_of_any_argument_is_read_or_refused(field: tuple[str, str, Way], value: Any) -> None:
    plugin, path, way = field
    check(with_args(plugin, holding(value, way)), f"profiles[0].pluginConfig[0].args.{path}")


def check(document: Any, path: str) -> bool:
    """Whether a document with one odd value is refused: for that value, or for what it leaves out beside it."""
    found = problems(document)
    for place, words in found:
        assert place
        assert place in words or as_json(place)[1:-1] in words
        assert not PYTHON.search(without_texts(words)), words
        stem = re.match(r"[^.\[]*", path)
        assert stem is not None
        assert place.startswith(stem[0]), words
    return any(place.startswith(path) for place, _ in found)


def commands(group: click.Group = main, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command with the words that call it."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


def typed(option: click.Parameter) -> bool:
    """Whether an option takes anything but a text, a file or nothing; the sources of a simulation are files."""
    texts = isinstance(option.type, (click.Path, click.types.StringParamType))
    return isinstance(option, click.Option) and not (option.is_flag or texts or option.name == "files")


TYPED = [(words, option) for words, command in commands() for option in command.params if typed(option)]
IDS = [" ".join((*words, option.opts[0])) for words, option in TYPED]


@pytest.mark.parametrize(("words", "option"), TYPED, ids=IDS)
def test_an_option_is_named(words: tuple[str, ...], option: click.Option) -> None:
    """Each option that takes more than a text refuses one that is none."""
    done = CliRunner().invoke(main, [*words, option.opts[0], "no such thing"])
    assert done.exit_code == 2, done.output
    assert any(name in done.output for name in option.opts), done.output
    assert not PYTHON.search(without_texts(done.output))


NAMES = ["KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "KUBECONFIG"]
NAMES += [each for name in ("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY") for each in (name, name.lower())]
ADDRESSES = ["10.0.0.1", "443", "::1", "*", "10.0.0.0/8", "x:1", "http://proxy:3128", "https://u:p@[::1]:1", "http://["]
TEXTS = st.text(st.characters(exclude_characters="\0"), max_size=12) | st.sampled_from([*ADDRESSES, "http://x:port"])


@MANY
@example(environ={"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "x", "HTTPS_PROXY": "http://proxy"})
@given(environ=st.dictionaries(st.sampled_from(NAMES), TEXTS))
def test_an_environment_is_read_or_refused(environ: dict[str, str], service_account: Path) -> None:
    try:
        load_connection(environ=environ, service_account=service_account)
    except CredentialsError as error:
        said = str(error)
        assert any(
            name in said.upper() for name in (*NAMES, *filter(None, environ.get("KUBECONFIG", "").upper().split(":")))
        )
        assert not PYTHON.search(said)


@pytest.fixture(scope="module")
def service_account(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("service-account")
    (folder / "ca.crt").write_text("")
    (folder / "token").write_text("secret")
    return folder


def test_every_variable_that_is_read_is_here() -> None:
    sources = [
        path.read_text() for package in ("framework", "operator", "plugins") for path in Path(package).rglob("*.py")
    ]
    read = {name for text in sources for name in re.findall(r"environ(?:\.get\(|\[)\"(\w+)\"", text)}
    assert read <= set(NAMES)
    assert len(read) >= 5


def test_every_annotation_that_is_read_is_drawn_where_annotations_are() -> None:
    sources = [
        path.read_text() for package in ("framework", "operator", "plugins") for path in Path(package).rglob("*.py")
    ]
    whole = {name for text in sources for name in re.findall(r"[a-z.]*muster-scheduler\.io/[a-z-]+", text)}
    parts = {f"{PREFIX}{name}" for text in sources for name in re.findall(r"\{PREFIX\}([a-z-]+)", text)}
    labels = {AUTO_POD_GROUPS}
    of_quotas = QUOTA_ANNOTATIONS  # drawn in tests/capacityscheduling/test_tree.py
    assert (whole | parts) - labels - of_quotas == {*test_fuzzed_requests.NAMES, RUN_SECONDS}
