"""YAML and JSON as kube-scheduler's reader takes them."""

import pytest

from muster.framework.config import ConfigurationError
from muster.framework.config.document import read_document


def value(text: str | bytes) -> object:
    return read_document(text, "config.yaml").value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("16", 16),
        ("16.0", 16),
        ("1e1", 10),
        ("1.5", 1.5),
        ("1_000", 1000),
        ("010", 8),
        ("0o10", 8),
        ("0x1F", 31),
        ("-0b11", -3),
        ("08", 8),
        ("yes", True),
        ("y", True),
        ("Off", False),
        ("~", None),
        ("", None),
        ("2001-01-01", "2001-01-01"),
        ("1:30", "1:30"),
        ("'16'", "16"),
        ("!!str 16", "16"),
        ("!!int '16'", 16),
        ("!!int many", "many"),
        ("<<", "<<"),
    ],
)
def test_scalars_are_typed_as_in_kube_scheduler(text: str, expected: object) -> None:
    assert value(f"a: {text}") == {"a": expected}
    assert type(value(f"[{text}]")) is list


def test_json_is_read_too() -> None:
    assert value('{"a": [1, 2.5, true, null, "x"]}') == {"a": [1, 2.5, True, None, "x"]}


def test_keys_are_always_text() -> None:
    assert value("1: a\ntrue: b\n") == {"1": "a", "true": "b"}


def test_bytes_are_read_as_utf_8() -> None:
    assert value("a: ü".encode()) == {"a": "ü"}


def test_only_the_first_document_counts() -> None:
    assert value("a: 1\n---\nb: 2\n") == {"a": 1}


def test_an_empty_text_has_no_value() -> None:
    assert value("# nothing\n") is None


def test_aliases_and_merged_mappings_are_followed() -> None:
    assert value("x: &x {a: 1}\ny: *x\nz: {<<: *x, b: 2}\n") == {"x": {"a": 1}, "y": {"a": 1}, "z": {"a": 1, "b": 2}}
    assert value("x: &x {a: 1}\ny: &y {b: 2}\nz: {<<: [*x, *y]}\n") == {
        "x": {"a": 1},
        "y": {"b": 2},
        "z": {"a": 1, "b": 2},
    }


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a: 1\na: 2\n", 'strict decoding error: yaml: line 2: key "a" already set in map'),
        ("p:\n- n: 1\n  n: 2\n", 'strict decoding error: yaml: line 3: key "p[0].n" already set in map'),
        ('{"a": 1, "a": 2}', 'strict decoding error: yaml: line 1: key "a" already set in map'),
        (
            "x: &x {a: 1}\nz:\n  <<: *x\n  a: 2\n",
            'strict decoding error: yaml: line 4: key "z.a" already set in map',
        ),
    ],
)
def test_a_repeated_key_is_a_fault_with_its_place_and_line(text: str, fault: str) -> None:
    assert [problem.text for problem in read_document(text, "config.yaml").problems] == [fault]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: b: c\n", "config.yaml: yaml: line 1: mapping values are not allowed in this context"),
        ("a: 1\nb: [1\nc: 2\n", "config.yaml: yaml: line 3: did not find expected ',' or ']'"),
        ("a: *x\n", "config.yaml: yaml: line 1: unknown anchor 'x' referenced"),
        ("a: &x [*x]\n", "config.yaml: yaml: line 1: anchor value contains itself"),
        ("a: {<<: &x {<<: *x}}\n", "config.yaml: yaml: line 1: anchor value contains itself"),
        ("a: [", "config.yaml: yaml: line 1: did not find expected node content"),
        ("a: 1\n b: 2\n", "config.yaml: yaml: line 2: mapping values are not allowed in this context"),
        ("a: 1\n- b\n", "config.yaml: yaml: line 2: did not find expected key"),
        ("- b\na: 1\n", "config.yaml: yaml: line 2: did not find expected '-' indicator"),
        ("a: @b\n", "config.yaml: yaml: line 1: found character that cannot start any token"),
        ('a: "\\q"\n', "config.yaml: yaml: line 1: found unknown escape character"),
        ("a: \x07\n", "config.yaml: yaml: control characters are not allowed"),
        ("\n? [a]\n: b\n", "config.yaml: yaml: line 2: invalid map key"),
        ("a: {<<: 5}\n", "config.yaml: yaml: line 1: map merge requires map or sequence of maps"),
    ],
)
def test_malformed_yaml_is_refused_with_file_and_line(text: str, message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_document(text, "config.yaml")
    assert str(caught.value) == message


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"^config\.yaml: yaml: the text is not valid UTF-8$"):
        read_document(b"a: \xff\xfe\xfd", "config.yaml")
    with pytest.raises(ConfigurationError, match=r"^config\.yaml: yaml: the text is not valid UTF-16$"):
        read_document(b"\xff\xfea", "config.yaml")
