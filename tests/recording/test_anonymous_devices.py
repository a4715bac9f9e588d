"""Anonymous copies of selectors of devices: each decides the same by other names, or the copy is refused."""

from pathlib import Path

import pytest

from muster.operator.recording.names import anonymous_copy
from muster.operator.recording.reader import Recording, RecordingError
from muster.testing import make_node
from tests.dynamicresources.objects import Version, claiming_pod, device, exactly, make_claim, make_class, make_slice

from .recorded import assembled, replayed
from .secret_names import SecretCluster

YAK = "yak.example"
OURS = f'device.attributes["{YAK}"]'
SECRETS = ("yak", "tapir", "skunk", "vicuna", "urial", "wombat")
DECIDED = {
    "a text": f'{OURS}.tapir == "skunk"',
    "a text in other quotes": f"{OURS}.tapir == r'skunk'",
    "a text like a quantity": f'{OURS}.memory == "80Gi"',
    "a text like a number": f'{OURS}.urial == "1e3"',
    "a text like a domain of Kubernetes": f'{OURS}.network == "vicuna.k8s.io"',
    "a domain of another driver": 'device.attributes["wombat.example"].tapir == "other"',
    "a domain of Kubernetes": 'device.attributes["resource.kubernetes.io"].root == "pci0000:01"',
    "a domain in a variable": 'cel.bind(yak, device.attributes["resource.kubernetes.io"], yak.root == "pci0000:01")',
    "a domain that is looked for": 'device.attributes.exists(each, each == "resource.kubernetes.io")',
    "an attribute by its key": f'{OURS}["tapir"] == "skunk"',
    "an attribute called as a field": f'{OURS}.driver == "tapir"',
    "an attribute called device": f'{OURS}.device == "tapir"',
    "such an attribute of a variable": f'cel.bind(yak, {OURS}, yak.driver == "tapir" && yak.capacity == "skunk")',
    "such an attribute that may be absent": f'{OURS}.?driver.orValue("yak") == "tapir"',
    "an absent attribute": f"!has({OURS}.attributes) && !has({OURS}.wombat)",
    "a field that may be absent": f'device.?driver.orValue("") == "{YAK}"',
    "an attribute called as a type": f'{OURS}.string == "int"',
    "a capacity": f'device.capacity["{YAK}"].memory.compareTo(quantity("80Gi")) == 0',
    "a capacity in a domain of Kubernetes": 'device.capacity["x.k8s.io"].memory > quantity("1Gi") || true',
    "a quantity": 'isQuantity("80Gi") && quantity("1k").asInteger() == 1000 && size(device.attributes) == 3',
    "a version": f'{OURS}.vicuna.compareTo(semver("1.2.3-wombat.2")) < 0',
    "a version in full": f'{OURS}.vicuna.isGreaterThan(semver("v01.2", true))',
    "a version as it is": f'{OURS}.vicuna == semver("v1.2.3-wombat.1", true)',
    "a list": f'{OURS}.tapir in ["yak", "skunk"] && ["yak"].exists(tapir, tapir == "yak")',
    "sets": f'sets.contains(["yak", "skunk"], [{OURS}.tapir])',
    "numbers": f'{OURS}.cores < 5 && {OURS}.cores + 1 == 5 && int("4") == {OURS}.cores && [3, 4].max() == 4',
    "a map": '{"yak": 1}.yak == 1 && {"tapir": "skunk"}["tapir"] == "skunk"',
    "a comment": f"true // the yak of Tapir\n && {OURS}.cores == 4",
    "an attribute that is missing": f'{OURS}.wombat == "skunk"',
    "an attribute of Kubernetes that is missing": 'device.attributes["resource.kubernetes.io"].wombat == "skunk"',
    "a choice": f'(device.driver == "{YAK}" ? device.driver : "tapir") == "{YAK}"',
}
REFUSED = {
    f'{OURS}.tapir == "sku" + "nk"': "joins texts by +",
    f'{OURS}.tapir + {OURS}.tapir == "skunkskunk"': "joins texts by +",
    f'["sku", "nk"].sum() == {OURS}.tapir': r"calls sum\(\) of texts",
    f"size({OURS}.tapir) == 5": r"calls size\(\) of a text",
    f"{OURS}.tapir.size() == 5": r"calls size\(\) of a text",
    "device.driver.size() == 11": r"calls size\(\) of a text",
    f'{OURS}.tapir < "skunl"': "compares texts by <",
    f'["yak"].exists(each, each >= {OURS}.tapir)': "compares texts by >=",
    f'["yak", {OURS}.tapir].sort()[0] == "skunk"': r"calls sort\(\) of texts",
    f"[1, 2].sortBy(each, {OURS}.tapir)[0] == 1": r"calls sortBy\(\) by texts",
    f'quantity({OURS}.memory).isGreaterThan(quantity("1Gi"))': r"calls quantity\(\) of what is not written out",
    'quantity(("1Gi")).isInteger()': r"calls quantity\(\) of what is not written out",
    'isQuantity("yak")': r"calls quantity\(\) of what is none",
    f"isSemver({OURS}.version, true)": r"calls isSemver\(\) of what is not written out",
    f"bool({OURS}.truth)": r"calls bool\(\) of a text",
    f"double({OURS}.urial) == 1000.0": r"calls double\(\) of a text",
    f'string({OURS}.bare) == "true"': r"calls string\(\)",
    f'bytes({OURS}.tapir) == b"skunk"': r"calls bytes\(\)",
    'b"skunk" == b"skunk"': "has bytes in it",
    f'strings.quote({OURS}.tapir) == "\\"skunk\\""': r"calls quote\(\)",
    f'"%s".format([{OURS}.tapir]) == "skunk"': r"calls format\(\)",
    f'device["driver"] == "{YAK}"': "uses device as a value",
    f'cel.bind(it, device, it.driver == "{YAK}")': "uses device as a value",
    "[1].exists(optional, optional == 1)": "uses optional as a value",
    f'.device.driver == "{YAK}"': "has a name that begins with a dot",
    'timestamp("2026-01-01T00:00:00Z") < timestamp("2027-01-01T00:00:00Z")': "cannot be understood",
}


async def claimed(
    path: Path, selector: str, *, driver: str = YAK, of_class: str = "true", constraint: str = ""
) -> SecretCluster:
    """A recorded cluster with a pod that claims a device by the selector."""
    cluster = SecretCluster(path)
    cluster.add_nodes(make_node("tapir-1", cpu="4"))
    cluster.api.put("deviceclasses", make_class("skunk", of_class))
    made = device(
        "vicuna",
        capacity={"memory": "80Gi"},
        tapir="skunk",
        memory="80Gi",
        urial="1e3",
        network="vicuna.k8s.io",
        driver="tapir",
        device="tapir",
        string="int",
        truth="true",
        bare=True,
        cores=4,
        vicuna=Version("1.2.3-wombat.1"),
        version="v1.2",
        **{"wombat.example/tapir": "other", "resource.kubernetes.io/root": "pci0000:01"},
    )
    made["attributes"]["capacity"] = {"string": "skunk"}
    cluster.api.put("resourceslices", make_slice("urial", made, node="tapir-1", driver=driver))
    alike = [{"matchAttribute": constraint}] if constraint else []
    cluster.api.put("resourceclaims", make_claim("wombat", exactly(1, selector, of="skunk"), constraints=alike))
    cluster.add(claiming_pod("tapir", "wombat"))
    await cluster.run(30)
    return cluster


def copied(recording: Recording, copy: Path) -> None:
    """A copy is made that replays exactly and has no name."""
    original = replayed(recording)
    assert original.exact, (original.own_way, original.broken_off)
    anonymous_copy(recording, copy, assembled())
    comparison = replayed(Recording(copy))
    assert comparison.exact, (comparison.own_way, comparison.broken_off, comparison.reworded)
    assert comparison.decisions == original.decisions > 0
    text = copy.read_text().lower()
    assert [secret for secret in SECRETS if secret in text] == []


@pytest.mark.parametrize("what", DECIDED)
async def test_a_selector_decides_the_same_by_other_names(tmp_path: Path, what: str) -> None:
    cluster = await claimed(tmp_path / "recording", DECIDED[what])
    assert bool(cluster.node_of("default/tapir")) is ("missing" not in what)
    copied(cluster.end(), tmp_path / "copy")


@pytest.mark.parametrize("selector", REFUSED)
async def test_a_selector_that_may_go_by_the_letters_of_texts_is_refused(tmp_path: Path, selector: str) -> None:
    recording = (await claimed(tmp_path / "recording", selector)).end()
    with pytest.raises(RecordingError, match=rf"ResourceClaim default/wombat: a selector {REFUSED[selector]}"):
        anonymous_copy(recording, tmp_path / "copy", assembled())
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize("domain", ["gpu.sigs.k8s.io", "kubernetes.io", "muster-scheduler.io", YAK])
async def test_the_driver_may_have_a_name_in_any_domain(tmp_path: Path, domain: str) -> None:
    selector = (
        f'device.attributes["{domain}"].tapir == "skunk" && device.capacity["{domain}"].memory == quantity("80Gi")'
    )
    of_class = f'device.driver == "{domain}" && "{domain}" in device.attributes'
    path, alike = tmp_path / "recording", f"{domain}/tapir"
    cluster = await claimed(path, selector, driver=domain, of_class=of_class, constraint=alike)
    assert cluster.node_of("default/tapir") == "tapir-1"
    copied(cluster.end(), tmp_path / "copy")
