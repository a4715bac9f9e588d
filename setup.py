"""Maps the folders of the repository to import names, and finds every package in them.

All other metadata is in pyproject.toml. This is code because the folders (`framework/`) and the import names
(`muster.framework`) differ, and setuptools can discover packages by itself only where the two agree.
"""

from setuptools import find_packages, setup

FOLDERS = ("framework", "operator", "plugins", "sandbox", "testing")


def packages_of(folder: str) -> list[str]:
    """The import names of a folder and of each package below it, however deep."""
    return [f"muster.{folder}", *(f"muster.{folder}.{name}" for name in find_packages(folder))]


setup(
    packages=[package for folder in FOLDERS for package in packages_of(folder)],
    package_dir={f"muster.{folder}": folder for folder in FOLDERS},
    package_data={"": ["py.typed", "*.yaml", "*.json", "templates/*.html", "static/*"]},
)
