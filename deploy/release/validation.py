"""CycloneDX's own schema applied to a bill of materials: `python -m deploy.release.validation FILE`.

A process of its own, because its packages belong to the extra `release`, which tests do not install.
"""

from __future__ import annotations

import sys
from pathlib import Path

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from deploy.release.bill import FORMAT


def main(path: Path) -> int:
    """Exit code 0 where the document is valid."""
    fault = JsonStrictValidator(SchemaVersion.from_version(FORMAT)).validate_str(path.read_text())
    print(f"{path.name}: {fault or 'valid'}")
    return 1 if fault else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
