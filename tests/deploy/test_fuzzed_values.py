"""Every value of the chart is refused by its path where it is of another type."""

from typing import Any

import pytest

from tests.deploy.helm import Helm, HelmError
from tests.deploy.test_values import SCHEMA, VALUES, leaves

PATHS = [path for path, _, _ in leaves(VALUES, SCHEMA)]


def wrong(paths: list[str], value: object) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for path in paths:
        *sections, name = path.split(".")
        inner = values
        for section in sections:
            inner = inner.setdefault(section, {})
        inner[name] = value
    return values


@pytest.mark.parametrize("odd", [5.5, -7.25, 1e300], ids=str)
def test_a_value_of_another_type_is_named(helm: Helm, odd: float) -> None:
    assert len(PATHS) > 50
    with pytest.raises(HelmError) as refused:
        helm.template(wrong(PATHS, odd))
    said = str(refused.value)
    assert [path for path in PATHS if f"at '/{path.replace('.', '/')}" not in said] == []
