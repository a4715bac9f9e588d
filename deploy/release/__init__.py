"""A release of Muster: all its files, built from the one version that pyproject.toml names.

`make release` runs `python -m deploy.release`, which calls `deploy.release.build.build`; the release workflow does the
same, and publishes the files. Nothing here writes outside the given folder, and nothing uses the network: a release can
be made and inspected on any machine that has the programs of the tests.
"""
