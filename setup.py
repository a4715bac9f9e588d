"""Maps the rooms of the repository to import names, and finds every package in them.

All other metadata is in pyproject.toml. This is code because the folders (`framework/`) and the import names
(`muster.framework`) differ, and setuptools can discover packages by itself only where the two agree.
"""

from setuptools import find_packages, setup

ROOMS = ("framework", "operator", "plugins", "sandbox", "testing")


def packages_of(room: str) -> list[str]:
    """The import names of a room and of each package below it, however deep."""
    return [f"muster.{room}", *(f"muster.{room}.{name}" for name in find_packages(room))]


setup(
    packages=[package for room in ROOMS for package in packages_of(room)],
    package_dir={f"muster.{room}": room for room in ROOMS},
    package_data={"": ["py.typed", "*.yaml", "*.json", "templates/*.html", "static/*"]},
)
