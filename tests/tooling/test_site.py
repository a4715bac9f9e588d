"""The documentation as web pages: which pages it has, and where their links lead.

`make site` builds it in strict mode, in which mkdocs refuses dead links. Its packages are not installed for tests.
"""

import re
from pathlib import Path
from unittest.mock import Mock

import pytest

from deploy.site import gather, main, with_addresses
from tests.tooling.test_make import recipe
from tests.tooling.test_packaging import REPOSITORY
from tests.tooling.test_pages import PAGES

CONFIGURATION = (REPOSITORY / "mkdocs.yml").read_text()
_LINK = re.compile(r"\]\((?!#)([^)#\s]+)")


def test_every_page_of_the_repository_is_gathered_and_in_the_navigation_once(tmp_path: Path) -> None:
    gathered = [page.as_posix() for page in gather(tmp_path)]
    assert gathered == PAGES
    assert sorted(re.findall(r"^ +- (\S+\.md)$", CONFIGURATION, re.MULTILINE)) == PAGES


def test_a_link_leads_to_a_page_that_is_gathered_or_to_an_address(tmp_path: Path) -> None:
    pages = gather(tmp_path, "acme")
    links = [(page, link) for page in pages for link in _LINK.findall((tmp_path / page).read_text())]
    inside = [(page, link) for page, link in links if "://" not in link]
    assert len(inside) > len(pages)
    assert [(page, link) for page, link in inside if not ((tmp_path / page).parent / link).exists()] == []


def test_a_link_to_a_file_or_folder_that_is_no_page_leads_to_the_repository() -> None:
    readme = with_addresses(Path("README.md"), "acme")
    assert "](https://github.com/acme/muster/blob/main/deploy/kustomization.yaml)" in readme
    assert "](docs/gangs.md)" in readme
    native = with_addresses(Path("docs/native-groups.md"), "acme")
    assert "](https://github.com/acme/muster/tree/main/deploy/examples/native)" in native


def test_nothing_of_the_site_is_fetched_by_a_readers_browser() -> None:
    assert re.findall(r"https?://\S+", CONFIGURATION) == ['https://github.com/OWNER/muster"]']
    assert "font: false" in CONFIGURATION


def test_make_site_builds_with_the_tools_of_a_release() -> None:
    commands = recipe("site", "OWNER=acme", "--always-make")
    assert commands[-1].split()[1:] == ["-m", "deploy.site", "--owner=acme"]
    assert any(command.endswith("-e '.[release]'") for command in commands)


def test_the_build_gets_the_address_and_no_advertisement_of_the_theme(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = Mock(return_value=Mock(returncode=0))
    monkeypatch.setattr("deploy.site.gather", Mock())
    monkeypatch.setattr("deploy.site.subprocess.run", ran)
    monkeypatch.setattr("sys.argv", ["site", "--owner=acme"])
    assert main() == 0
    environment = ran.call_args.kwargs["env"]
    assert environment["REPOSITORY_URL"] == "https://github.com/acme/muster"
    assert environment["NO_MKDOCS_2_WARNING"] == "1"
