"""Document: a YAML or JSON text as plain Python values, read by the rules of Kubernetes' YAML reader.

Called by `load`, and by readers of manifests. The rules differ from PyYAML's own: dates and base-60 numbers are
text, `1e3` is a number, a whole float is an integer, keys are always text, and a key that a mapping holds twice (merged
ones included) is a fault. Only plain values come out: dict, list, str, int, float, bool, None.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import yaml
from yaml.reader import ReaderError

from muster.framework.config.problems import ConfigurationError, Problem, repeated_key

_TAG = "tag:yaml.org,2002:"
_WORDS = [
    (re.compile(words), go)
    for words, go in (
        (r"expected the node content", "did not find expected node content"),
        (r"expected (.+?), but (?:found|got) ", "did not find expected {}"),
        (r"mapping values are not allowed here", "mapping values are not allowed in this context"),
        (r"found character .+ that cannot start any token", "found character that cannot start any token"),
        (r"found undefined alias '(.*)'", "unknown anchor '{}' referenced"),
        (r"found unknown escape character", "found unknown escape character"),
    )
]
"""The beginning of PyYAML's message -> that of the reader which Kubernetes uses."""
_TRUE = ("y", "yes", "true", "on")


@dataclass(frozen=True, slots=True)
class Document:
    """The value of a text, and the repeated keys in it (the last value of such a key counts)."""

    value: object
    problems: tuple[Problem, ...]


def read_document(text: str | bytes, source: str) -> Document:
    """Raises ConfigurationError, naming `source` and the line, for a text that is not YAML."""
    return next(read_documents(text, source), Document(None, ()))


def read_documents(text: str | bytes, source: str) -> Iterator[Document]:
    """Each document of a stream in turn. Raises ConfigurationError as `read_document` does."""
    try:
        loader = _Loader(text)
        while loader.check_node() and (root := loader.get_node()) is not None:
            reader = _Reader()
            value = reader.value(root, "")
            yield Document(value, tuple(reader.problems))
    except (yaml.YAMLError, UnicodeError) as error:
        raise ConfigurationError([Problem("", malformed(error))], source=source) from error


def malformed(error: yaml.YAMLError | UnicodeError) -> str:
    """Why a text is not YAML, in the words of Kubernetes' YAML reader."""
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        line = f"line {mark.line + 1}: " if mark else ""
        return f"yaml: {line}{_in_go(error)}"
    if isinstance(error, ReaderError) and error.encoding == "unicode":
        return "yaml: control characters are not allowed"
    encoding = getattr(error, "encoding", "utf-8").upper()
    return f"yaml: the text is not valid {encoding.removesuffix('-LE').removesuffix('-BE')}"


def _in_go(error: yaml.MarkedYAMLError) -> str:
    problem = error.problem or error.context or "it cannot be read"
    if problem.startswith("expected <block end>"):
        within = "key" if "mapping" in (error.context or "") else "'-' indicator"
        return f"did not find expected {within}"
    return next((go.format(*found.groups()) for words, go in _WORDS if (found := words.match(problem))), problem)


class _Loader(yaml.BaseLoader):
    """Composes nodes; plain scalars get their tags from the table below."""


for _kind, _pattern in {
    "null": r"(?:~|null|Null|NULL|)\Z",
    "bool": r"(?:[yYnN]|yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)\Z",
    "int": r"[-+]?(?:0b[01_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+|[1-9][0-9_]*|0)\Z",
    "float": r"[-+]?(?:\.[0-9]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?\Z",
    "merge": r"<<\Z",
}.items():
    _Loader.add_implicit_resolver(_TAG + _kind, re.compile(_pattern), None)


def _integer(text: str) -> int:
    digits = text.replace("_", "")
    return int(digits, 8) if re.fullmatch(r"[-+]?0[0-7]+", digits) else int(digits, 0)


def _number(text: str) -> int | float:
    number = float(text.replace("_", ""))
    return int(number) if number.is_integer() else number


_SCALARS: dict[str, Callable[[str], object]] = {
    f"{_TAG}null": lambda _: None,
    f"{_TAG}bool": lambda text: text.lower() in _TRUE,
    f"{_TAG}int": _integer,
    f"{_TAG}float": _number,
}


class _Reader:
    """Turns nodes into values. An aliased node becomes one shared value."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._done: dict[int, object] = {}
        self._open: set[int] = set()

    def value(self, node: yaml.Node, path: str) -> object:
        if isinstance(node, yaml.ScalarNode):
            return _scalar(node)
        with self._inside(node):
            if id(node) not in self._done:
                self._done[id(node)] = self._collection(node, path)
        return self._done[id(node)]

    @contextmanager
    def _inside(self, node: yaml.Node) -> Iterator[None]:
        """Keeps an alias from leading back into the node that it stands in."""
        if id(node) in self._open:
            raise yaml.MarkedYAMLError(problem="anchor value contains itself", problem_mark=node.start_mark)
        self._open.add(id(node))
        yield
        self._open.remove(id(node))

    def _collection(self, node: yaml.Node, path: str) -> object:
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, f"{path}[{index}]") for index, item in enumerate(node.value)]
        mapping: dict[str, object] = {}
        for key, item in self._entries(node):
            name = _text(key.value)
            place = f"{path}.{name}" if path else name
            if name in mapping:
                self.problems.append(repeated_key(place, key.start_mark.line + 1))
            mapping[name] = self.value(item, place)
        return mapping

    def _entries(self, node: yaml.Node) -> Iterator[tuple[yaml.ScalarNode, yaml.Node]]:
        """Keys and values of a mapping, with those of merged mappings in the place of the merge key."""
        if not isinstance(node, yaml.MappingNode):
            raise yaml.MarkedYAMLError(
                problem="map merge requires map or sequence of maps", problem_mark=node.start_mark
            )
        for key, item in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.MarkedYAMLError(problem="invalid map key", problem_mark=key.start_mark)
            if key.tag != f"{_TAG}merge":
                yield key, item
                continue
            for merged in item.value if isinstance(item, yaml.SequenceNode) else [item]:
                with self._inside(merged):
                    yield from self._entries(merged)


def _scalar(node: yaml.ScalarNode) -> object:
    """The value of a scalar; a text that its explicit tag does not fit stays text, which no typed field accepts."""
    try:
        return _SCALARS.get(node.tag, _text)(node.value)
    except ValueError:
        return _text(node.value)


def _text(text: str) -> str:
    """The text with surrogate pairs of JSON escapes (`\\ud83e\\udd80`) combined; an unpaired surrogate is replaced."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
