"""The gangs that the README gives to those who look at the demo's cluster."""

from tests.deploy.helm import REPOSITORY
from tests.sandbox.kubectl import Kubectl

EXAMPLE = "deploy/examples/first-gang.yaml"


async def test_the_gang_that_the_readme_names_for_the_demo_is_applied(kubectl: Kubectl) -> None:
    assert f"`kubectl apply -f {EXAMPLE}`" in (REPOSITORY / "README.md").read_text()
    applied = await kubectl("apply", "-f", str(REPOSITORY / EXAMPLE))
    assert applied.splitlines() == [
        "podgroup.scheduling.x-k8s.io/first-gang created",
        *(f"pod/first-gang-{number} created" for number in range(3)),
    ]


async def test_the_first_gang_of_the_readme_comes_true(kubectl: Kubectl) -> None:
    _, _, rest = (REPOSITORY / "README.md").read_text().partition("```yaml\n")
    example, _, _ = rest.partition("```")
    await kubectl("apply", "-f", "-", stdin=example)
    await kubectl("wait", "--for=jsonpath={.status.active}=3", "job/training")

    listed = await kubectl("get", "pods", "-lscheduling.x-k8s.io/pod-group=training", "-o", "name")
    assert len(listed.split()) == 3
