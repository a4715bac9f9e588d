"""The fields of an operation in a configuration of scheduler_perf, with the values of a workload's parameters.

`resolution` takes each field once and then asks whether any is left, so that no field goes unseen.
"""

from pathlib import Path
from typing import Any

import yaml

from bench.scheduler_perf.configuration import Raw, Workload


class OperationError(ValueError):
    """An operation or a field that is not known, or a parameter without a value; the text names it."""


class Fields:
    """The fields of an operation, each taken once."""

    def __init__(self, raw: Raw, workload: Workload) -> None:
        self._left = dict(raw)
        self._workload = workload
        self.opcode: str = self._left.pop("opcode", "")

    @property
    def pod_template(self) -> str | None:
        """The path of the template of pods that name no other."""
        return self._workload.pod_template

    def take(self, name: str, default: Any = None) -> Any:
        """A field as it is written."""
        return self._left.pop(name, default)

    def value(self, name: str, default: Any = None) -> Any:
        """A field, or the value of the parameter that is named in its place."""
        parameter = self._left.pop(f"{name}Param", None)
        written = self._left.pop(name, default)
        return written if parameter is None else self._parameter(parameter)

    def count(self, default: int = 0) -> int:
        """How many objects there are."""
        found: int = self.value("count", default) * self._multiplier()
        return found

    def need(self, name: str) -> Any:
        """A field that has to be there. Raises `OperationError`."""
        if name not in self._left:
            raise OperationError(f"{self._place}: {name} is missing")
        return self._left.pop(name)

    def path(self, name: str, default: str | None = None) -> Path | None:
        """The path of a template."""
        written = self._left.pop(name, default)
        return None if written is None else self.absolute(written)

    def absolute(self, written: str) -> Path:
        """A path that a configuration has."""
        return (self._workload.folder / written).resolve()

    def values(self) -> dict[str, Any]:
        """What a template gets: values as they are written, or those of parameters (`$name`, `$name|default`)."""
        return {name: self._template_value(written) for name, written in self.take("templateParams", {}).items()}

    def end(self) -> None:
        """Raises `OperationError` for a field that nobody took."""
        if self._left:
            raise OperationError(f"{self._place}: {', '.join(self._left)} is not known")

    def _multiplier(self) -> int:
        parameter = self._left.pop("countMultiplierParam", None)
        found: int = 1 if parameter is None else self._parameter(parameter)
        return found

    def _template_value(self, written: Any) -> Any:
        if not isinstance(written, str) or not written.startswith("$"):
            return written
        name, separator, default = written[1:].partition("|")
        if name in self._workload.parameters or not separator:
            return self._parameter(name)
        return yaml.safe_load(default)

    def _parameter(self, name: str) -> Any:
        try:
            return self._workload.parameters[name.removeprefix("$")]
        except KeyError:
            raise OperationError(f"{self._place}: {name} has no value") from None

    @property
    def _place(self) -> str:
        return f"{self._workload.title}, {self.opcode}"
