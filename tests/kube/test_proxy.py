"""The proxy is the one that kubectl would go through."""

import pytest

from muster.operator.kube.errors import CredentialsError
from muster.operator.kube.proxy import Proxy, parse_proxy, proxy_from_environment

PROXY = "http://proxy.corp:3128"


def test_https_proxy_leads_to_https_servers_and_http_proxy_to_http_ones() -> None:
    environ = {"HTTPS_PROXY": PROXY, "http_proxy": "other.corp"}
    assert proxy_from_environment("https://api.corp:6443", environ) == Proxy(PROXY)
    assert proxy_from_environment("http://api.corp", environ) == Proxy("http://other.corp:80")
    assert proxy_from_environment("https://api.corp", {}) is None


def test_the_upper_case_variable_wins() -> None:
    environ = {"HTTPS_PROXY": PROXY, "https_proxy": "http://other.corp:1"}
    assert proxy_from_environment("https://api.corp", environ) == Proxy(PROXY)


@pytest.mark.parametrize(
    "server", ["https://localhost:6443", "https://127.0.0.1:6443", "https://[::1]", "https://127.9.9.9"]
)
def test_loopback_is_never_proxied(server: str) -> None:
    assert proxy_from_environment(server, {"HTTPS_PROXY": PROXY}) is None


@pytest.mark.parametrize(
    ("no_proxy", "server", "bypassed"),
    [
        ("*", "https://api.corp", True),
        ("api.corp", "https://api.corp:6443", True),
        ("corp", "https://api.corp", True),
        (".corp", "https://api.corp", True),
        ("*.corp", "https://api.corp", True),
        (".api.corp", "https://api.corp", False),
        ("pi.corp", "https://api.corp", False),
        ("API.corp", "https://api.CORP", True),
        ("api.corp:6443", "https://api.corp:6443", True),
        ("api.corp:443", "https://api.corp", True),
        ("api.corp:6443", "https://api.corp:8443", False),
        ("10.0.0.0/8", "https://10.96.0.1", True),
        ("10.0.0.0/8", "https://11.96.0.1", False),
        ("10.0.0.0/8", "https://ten.corp", False),
        ("10.96.0.1", "https://10.96.0.1:443", True),
        ("10.96.0.1:443", "https://10.96.0.1:443", True),
        ("10.96.0.1:444", "https://10.96.0.1:443", False),
        ("fd00::/8", "https://[fd00::1]:6443", True),
        ("[fd00::1]:6443", "https://[fd00::1]:6443", True),
        ("fd00::1", "https://[fd00::1]:6443", True),
        ("other.corp, ,api.corp", "https://api.corp", True),
        ("", "https://api.corp", False),
    ],
)
def test_no_proxy_names_who_is_reached_directly(no_proxy: str, server: str, bypassed: bool) -> None:
    environ = {"HTTPS_PROXY": PROXY, "NO_PROXY": no_proxy}
    assert (proxy_from_environment(server, environ) is None) == bypassed


def test_credentials_in_a_proxy_url_go_into_a_header_and_no_repr() -> None:
    proxy = parse_proxy("https://me:p%40ss@proxy.corp", origin="here")
    assert proxy.url == "https://proxy.corp:443"
    assert proxy.headers == {"Proxy-Authorization": "Basic bWU6cEBzcw=="}
    assert "bWU6cEBzcw" not in repr(proxy)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "socks5://proxy.corp",
            "proxies of scheme 'socks5' are not supported, only http and https",
        ),
        ("http://", "not a proxy URL"),
        ("http://proxy:port", "not a proxy URL"),
    ],
)
def test_a_proxy_that_cannot_be_used_is_pointed_out(text: str, problem: str) -> None:
    with pytest.raises(CredentialsError) as caught:
        parse_proxy(text, origin="cluster 'c': proxy-url")
    assert str(caught.value) == f"cluster 'c': proxy-url: {problem}"
