"""Programs that come as Debian packages, which `make` installs for the tests."""

import shutil


def program(name: str, *, target: str) -> str:
    """The program's path. Raises FileNotFoundError that says which target of the Makefile installs it."""
    path = shutil.which(name)
    if path is None:
        raise FileNotFoundError(f"{name} is not on the PATH: `make {target}` installs it, the tests need it")
    return path
