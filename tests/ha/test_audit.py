"""The audit log is read in spite of an API server that was killed while it wrote."""

import json
from pathlib import Path

from tests.ha import audit


def line(name: str) -> str:
    """As kube-apiserver writes a Binding."""
    entry = {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "Metadata",
        "user": {"username": "replica"},
        "objectRef": {"resource": "pods", "namespace": "faults", "name": name, "subresource": "binding"},
        "responseStatus": {"metadata": {}, "code": 201},
        "requestReceivedTimestamp": "2025-10-09T08:53:20.000000Z",
    }
    return json.dumps(entry, separators=(",", ":")) + "\n"


def test_a_line_that_was_cut_off_in_the_middle_is_left_out_and_nothing_else(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    log.write_text(line("first") + line("cut off")[:90] + line("behind it") + "cut off\n" + line("last")[:-1])
    assert audit.bindings(audit.writes(log, "replica")) == {"first": 1, "behind it": 1}
