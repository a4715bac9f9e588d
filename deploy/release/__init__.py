"""A release of Muster: all its files, built from the one version that pyproject.toml names.

`make release` calls `deploy.release.build.build` by `python -m deploy.release`; the release workflow does the same and
publishes what it finds. Nothing here writes anywhere but into the folder that it is given, and nothing asks the network
for anything: what a release consists of can be seen on any machine that has the programs of the tests.
"""
