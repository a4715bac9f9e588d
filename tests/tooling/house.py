"""The house rules that no linter knows: `python -m tests.tooling.house`, or `make lint-house`.

A rule is a function from a parsed module, or from its text where comments count, to what breaks it.
`faults` asks all rules about all modules of the product, and compares the names of their public classes.
Tests and benchmarks are held to the rules about docstrings and the names of tests alone.
The numbers are those of CONTRIBUTING.md.
"""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
PRODUCT = ("framework", "operator", "plugins", "sandbox", "testing")
TESTS = ("tests", "bench")
MOST_LINES = 60
MOST_PARAMETERS = 7
MOST_METHODS = 25
MOST_POSITIONAL = 4
OPENINGS = ("Those ", "That ", "The same", "Whom ", "Whoever ", "Somebody ", "Nobody ")
PRODUCT_OPENINGS = (*OPENINGS, "What ", "Its ", "Who ", "Whatever ")
NAMELESS = re.compile(r"test_(?:it|its|so|what|whatever|who|whoever|whom)(?:_|$)")
EXEMPTION = re.compile(r"#\s*(type: ?ignore|noqa)\b")
WITH_REASON = re.compile(r"#\s*(?:type: ?ignore|noqa)[^#]*#\s*(?!type: ?ignore|noqa)\S")

Function = ast.FunctionDef | ast.AsyncFunctionDef


def faults(root: Path = REPOSITORY) -> Iterator[str]:
    """The faults of the product's modules under `root`, each with its file and line."""
    first_with: dict[str, str] = {}
    for folder in PRODUCT:
        for path in sorted((root / folder).rglob("*.py")):
            text = path.read_text()
            module = ast.parse(text)
            for line, fault in exemptions(text):
                yield f"{path.relative_to(root)}:{line}: {fault}"
            for rule in (product_openings, lengths, parameters, methods):
                for line, fault in rule(module):
                    yield f"{path.relative_to(root)}:{line}: {fault}"
            for line, name in public_classes(module):
                place = f"{path.relative_to(root)}:{line}"
                if (first := first_with.setdefault(name, place)) != place:
                    yield f"{place}: {name} is the name of another class at {first}; a public name stands for one thing"
    for folder in TESTS:
        for path in sorted((root / folder).rglob("*.py")):
            module = ast.parse(path.read_text())
            for rule in (openings, subjects):
                for line, fault in rule(module):
                    yield f"{path.relative_to(root)}:{line}: {fault}"


def openings(module: ast.Module, words: tuple[str, ...] = OPENINGS) -> Iterator[tuple[int, str]]:
    """Docstrings that begin with a word that stands for something named elsewhere."""
    for node in ast.walk(module):
        if isinstance(node, Function | ast.ClassDef | ast.Module):
            text = ast.get_docstring(node) or ""
            if text.startswith(words):
                yield getattr(node, "lineno", 1), f"the docstring begins with {text.split()[0]!r}: name what is meant"


def product_openings(module: ast.Module) -> Iterator[tuple[int, str]]:
    """Docstrings of the product that begin with such a word, or define by a question instead of a noun."""
    return openings(module, PRODUCT_OPENINGS)


def subjects(module: ast.Module) -> Iterator[tuple[int, str]]:
    """Tests whose names do not say what they are about: a list of failed tests shows the names alone."""
    for node in ast.walk(module):
        if isinstance(node, Function) and NAMELESS.match(node.name):
            yield node.lineno, f"{node.name} begins with a word that names nothing: name its subject"


def exemptions(text: str) -> Iterator[tuple[int, str]]:
    """Comments that silence mypy or ruff without a second comment on the line that says why."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        found = token.type == tokenize.COMMENT and EXEMPTION.search(token.string)
        if found and not WITH_REASON.search(token.string):
            yield token.start[0], f"{found[1]} stands without a reason: add it behind, as a comment of its own"


def lengths(module: ast.Module) -> Iterator[tuple[int, str]]:
    """Functions that are too long to be read at once."""
    for node in ast.walk(module):
        if isinstance(node, Function) and node.end_lineno is not None:
            lines = node.end_lineno - node.lineno + 1
            if lines > MOST_LINES:
                yield node.lineno, f"{node.name} has {lines} lines; at most {MOST_LINES} are read at once"


def parameters(module: ast.Module) -> Iterator[tuple[int, str]]:
    """Functions that are given more than a reader keeps in mind, besides `self` or `cls` and what is left (`*args`)."""
    for node in ast.walk(module):
        if isinstance(node, Function):
            given = [each.arg for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
            count = len(given) - (given[:1] in (["self"], ["cls"]))
            if count > MOST_PARAMETERS:
                yield node.lineno, f"{node.name} has {count} parameters; at most {MOST_PARAMETERS}: give it a value"
            positional = count - len(node.args.kwonlyargs)
            if positional > MOST_POSITIONAL:
                yield (
                    node.lineno,
                    f"{node.name} takes {positional} by position; at most {MOST_POSITIONAL}: name the rest",
                )


def methods(module: ast.Module) -> Iterator[tuple[int, str]]:
    """Classes that do more than one thing by the number of their methods, properties and dunder methods among them."""
    for node in ast.walk(module):
        if isinstance(node, ast.ClassDef):
            count = sum(isinstance(each, Function) for each in node.body)
            if count > MOST_METHODS:
                yield node.lineno, f"{node.name} has {count} methods; at most {MOST_METHODS}: it is more than one noun"


def public_classes(module: ast.Module) -> Iterator[tuple[int, str]]:
    """The line and the name of each class without a leading underscore."""
    for node in ast.walk(module):
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node.lineno, node.name


def main() -> int:
    """Print all faults; 1 when there are any."""
    found = [*faults()]
    print(*found, sep="\n", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
