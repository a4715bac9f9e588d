"""The making of a release, from its first file to the list of all.

`build` is called by `python -m deploy.release` and by a test that makes a release in a temporary folder.
"""

from __future__ import annotations

import shutil

from deploy.release.agreement import findings, write_checksums
from deploy.release.bill import build_bill
from deploy.release.distributions import build_distributions
from deploy.release.kubectl_plugin import build_archive, build_plugin_manifest
from deploy.release.kubernetes import build_chart, build_manifest
from deploy.release.notes import build_notes
from deploy.release.plan import Plan, ReleaseError, disagreements


def build(plan: Plan, *, final: bool = False) -> None:
    """Empties the plan's folder and writes the release into it; raises `ReleaseError` where something is wrong."""
    stale = [*disagreements()]
    if stale:
        raise ReleaseError("\n".join(stale))
    shutil.rmtree(plan.output, ignore_errors=True)
    plan.output.mkdir(parents=True)
    build_notes(plan, final=final)
    _, wheel = build_distributions(plan)
    build_chart(plan)
    build_manifest(plan)
    build_plugin_manifest(plan, build_archive(plan, wheel))
    build_bill(plan)
    write_checksums(plan)
    wrong = [*findings(plan)]
    if wrong:
        raise ReleaseError("\n".join(wrong))
