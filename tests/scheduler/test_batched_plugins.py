"""Muster's own plugins let equal pods wait in one batch wherever their verdicts are the same for all of these pods."""

from muster.testing import VirtualScheduler


def test_plugins_with_verdicts_by_signature_have_hints_by_signature() -> None:
    [algorithm] = VirtualScheduler().engine.algorithms.values()
    framework = algorithm.framework
    batched = framework.plugins.signature_plugins(framework.registrations)

    assert batched == {each.name for each in framework.plugins.filter if each.filter_depends_on.kept}
