"""What plugin authors may rely on: the names that `muster.framework.contract` exports, and no others."""

import inspect
import re

import pytest

from muster.framework import contract
from muster.framework.contract.plugin import POINTS

_COMMON = frozenset(
    {"Any", "Args", "Callable", "Generator", "Hashable", "Iterable", "Iterator", "Mapping", "None", "Sequence", "T"}
)
_EXTENDED = sorted(
    name
    for name, found in vars(contract).items()
    if name in contract.__all__ and inspect.isclass(found) and issubclass(found, contract.Plugin)
)


def test_each_exported_name_exists_once() -> None:
    assert len(contract.__all__) == len(set(contract.__all__))
    assert [name for name in contract.__all__ if not hasattr(contract, name)] == []


def test_every_extension_point_is_exported() -> None:
    assert [base.__name__ for base in POINTS.values() if base.__name__ not in contract.__all__] == []


@pytest.mark.parametrize("name", _EXTENDED)
def test_what_an_author_has_to_spell_is_exported(name: str) -> None:
    methods = [function for _, function in inspect.getmembers(getattr(contract, name), inspect.isfunction)]
    texts = [text for method in methods for text in method.__annotations__.values()]
    words = {word for text in texts for word in re.findall(r"[A-Z]\w+", text)}

    assert words - _COMMON <= {*contract.__all__}
