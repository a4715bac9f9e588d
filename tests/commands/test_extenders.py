"""Commands that decide by themselves say that they leave extenders out."""

from pathlib import Path

import pytest

from muster.operator.commands.common import assembly_to_ask


def test_extenders_are_left_out_with_a_word(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "config.yaml"
    head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    config.write_text(head)
    assembly_to_ask(config)
    assert capsys.readouterr().err == ""
    config.write_text(f"{head}extenders: [{{urlPrefix: 'http://127.0.0.1/x', filterVerb: filter}}]\n")
    assembly_to_ask(config)
    assert capsys.readouterr().err == "Warning: extenders are not asked; what they would refuse or prefer is left out\n"
