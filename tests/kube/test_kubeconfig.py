"""Kubeconfig files are found, merged and complained about as kubectl users expect."""

from pathlib import Path

import pytest

from muster.operator.kube.errors import CredentialsError
from muster.operator.kube.kubeconfig import kubeconfig_paths, resolve

ONE = """
apiVersion: v1
kind: Config
current-context: dev
preferences: {}
contexts:
- name: dev
  context: {cluster: near, user: me, namespace: team}
- name: other
  context: {cluster: near, user: null}
clusters:
- name: near
  cluster: {server: "https://near:6443"}
users:
- name: me
  user: {token: first-secret, exec: null}
"""

TWO = """
current-context: far
contexts:
- name: far
  context: {cluster: far, user: me}
- name: dev
  context: {cluster: far, user: me}
clusters:
- {name: far, cluster: {server: "https://far:6443"}}
users:
- {name: me, user: {token: second-secret}}
"""


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_an_explicit_file_is_the_only_one(tmp_path: Path) -> None:
    path = write(tmp_path, "one", ONE)
    assert kubeconfig_paths(str(path), {"KUBECONFIG": "/elsewhere"}) == (path,)


def test_an_explicit_file_must_exist(tmp_path: Path) -> None:
    with pytest.raises(CredentialsError, match=r"missing: no such kubeconfig file$"):
        kubeconfig_paths(tmp_path / "missing", {})


def test_of_the_files_in_kubeconfig_the_missing_ones_are_left_out(tmp_path: Path) -> None:
    one, two = write(tmp_path, "one", ONE), write(tmp_path, "two", TWO)
    listed = f"{one}:{tmp_path}/missing::{two}:{one}"
    assert kubeconfig_paths(None, {"KUBECONFIG": listed}) == (one, two)


def test_the_home_folder_is_the_last_resort(tmp_path: Path) -> None:
    assert kubeconfig_paths(None, {}, home=tmp_path) == ()
    (tmp_path / ".kube").mkdir()
    path = write(tmp_path / ".kube", "config", ONE)
    assert kubeconfig_paths(None, {}, home=tmp_path) == (path,)
    assert kubeconfig_paths(None, {"KUBECONFIG": "/nowhere"}, home=tmp_path) == ()


def test_the_first_file_wins_and_later_ones_add(tmp_path: Path) -> None:
    paths = [write(tmp_path, "one", ONE), write(tmp_path, "two", TWO)]
    current, far = resolve(paths), resolve(paths, context="far")
    assert (current.cluster.server, current.namespace) == ("https://near:6443", "team")
    assert (far.cluster.server, far.namespace) == ("https://far:6443", "default")
    assert (current.user.token, far.user.token) == ("first-secret", "first-secret")
    assert far.cluster_origin.file == paths[1]
    assert far.user_origin.file == paths[0]


def test_a_context_needs_no_user(tmp_path: Path) -> None:
    assert resolve([write(tmp_path, "one", ONE)], context="other").user.token == ""


def test_an_empty_file_counts_as_nothing(tmp_path: Path) -> None:
    assert resolve([write(tmp_path, "empty", ""), write(tmp_path, "one", ONE)]).namespace == "team"


@pytest.mark.parametrize(
    ("text", "context", "problem"),
    [
        ("contexts: []", None, "FILE: current-context is not set and no context was named"),
        (ONE, "nope", "FILE: context 'nope' does not exist (there is dev, other)"),
        (
            "current-context: a\ncontexts: [{name: a, context: {cluster: b}}]",
            None,
            "FILE: context 'a': cluster 'b' does not exist",
        ),
        (
            "current-context: a\ncontexts: [{name: a, context: {cluster: b, user: c}}]\nclusters: [{name: b}]",
            None,
            "FILE: context 'a': user 'c' does not exist",
        ),
        (
            "users:\n- name: me\n  user: {token: [s3cret]}",
            None,
            "FILE: users[0].user.token: must be of type string, not array",
        ),
        ("users: {me: {token: s3cret}}", None, "FILE: users: must be of type array, not object"),
        ("clusters:\n- cluster: {}", None, "FILE: clusters[0].name: Required value"),
        ("- just\n- a list", None, "FILE: must be of type object, not array"),
        ("users:\n- name: me\n  user: {token: s3cret]", None, "FILE: not valid YAML at line 3, column 23"),
        ("\x00", None, "FILE: not valid YAML"),
    ],
)
def test_complaints_name_the_file_and_the_field_and_no_secret(
    tmp_path: Path, text: str, context: str | None, problem: str
) -> None:
    path = write(tmp_path, "config", text)
    with pytest.raises(CredentialsError) as caught:
        resolve([path], context=context)
    assert str(caught.value) == problem.replace("FILE", str(path))
    assert "s3cret" not in repr(caught.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(CredentialsError, match=rf"^{tmp_path}: cannot be read: Is a directory$"):
        resolve([tmp_path])


def test_no_repr_shows_a_secret(tmp_path: Path) -> None:
    assert "first-secret" not in repr(resolve([write(tmp_path, "one", ONE)]))
