"""Exposition text read back as a scraper reads it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample


@dataclass(frozen=True)
class Scrape:
    """What a scraper understands of an exposition text."""

    text: str

    @property
    def types(self) -> dict[str, str]:
        """The type by the family's name as it stands in the text."""
        return dict(re.findall(r"^# TYPE (\S+) (\S+)$", self.text, re.MULTILINE))

    @property
    def samples(self) -> list[Sample]:
        return [sample for family in text_string_to_metric_families(self.text) for sample in family.samples]

    def value(self, name: str, /, **labels: str) -> float:
        """The value of exactly one sample."""
        (sample,) = [sample for sample in self.samples if sample.name == name and sample.labels == labels]
        return sample.value


def scrape(blocks: Iterable[bytes]) -> Scrape:
    """The blocks of a page, put together."""
    return Scrape(b"".join(blocks).decode())
