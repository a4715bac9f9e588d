"""Packages of plugins as they lie on a machine: written down with the metadata by which they are found."""

from collections.abc import Mapping
from pathlib import Path


def install(folder: Path, package: str, source: str, entry_points: Mapping[str, str]) -> None:
    """Put a package of one module into `folder`, which belongs on the path of who is to find it.

    `entry_points` maps names to attributes of the module.
    """
    module = package.replace("-", "_")
    (folder / f"{module}.py").write_text(source)
    metadata = folder / f"{module}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = [f"{name} = {module}:{attribute}" for name, attribute in entry_points.items()]
    (metadata / "entry_points.txt").write_text("\n".join(["[muster.plugins]", *lines, ""]))
