"""Every way a server can fail is one clear line, and no secret is in any of them."""

from __future__ import annotations

import socket
import ssl
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from roundsman.drill.certificates import Authority
from roundsman.errors import SourceError
from roundsman.sources import http
from roundsman.sources.headers import parse_header
from roundsman.sources.http import Http, HttpFailed, TooLarge, parse_url


def failure(server: Http, path: str = "/x") -> HttpFailed:
    with pytest.raises(HttpFailed) as caught:
        server.get(path)
    assert "\n" not in str(caught.value)
    return caught.value


def test_nobody_listens():
    with socket.socket() as held:  # nobody else gets the port meanwhile
        held.bind(("127.0.0.1", 0))
        error = failure(Http(f"http://127.0.0.1:{held.getsockname()[1]}"))
    assert "connection refused; is it running" in str(error)
    assert error.lost


@pytest.mark.parametrize(
    ("status", "said", "lost"),
    [
        (400, "the request was refused (bad query)", False),
        (401, "a login is needed; give --header", True),
        (403, "access is denied", True),
        (404, "is this the address of the right kind of server", False),
        (429, "too many requests at the moment", True),
        (500, "HTTP 500: the server failed (bad query)", False),
        (503, "not ready or overloaded", True),
    ],
)
def test_a_refusal_is_explained_with_the_servers_own_words(serve, status, said, lost):
    stub = serve(lambda asked: (status, b'{"error": "bad\\n query"}'))
    error = failure(Http(stub.url))
    assert said in str(error)
    assert stub.url in str(error)
    assert (error.lost, error.status) == (lost, status)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"<html>login</html>", "a web page came, not JSON"),
        (b"", "an empty answer"),
        (b'{"a": [1, 2', "breaks off"),
        (b"ready", "expected JSON, got 'ready'"),
        (b"[" * 100_000, "breaks off or is no valid JSON"),
    ],
)
def test_what_is_no_json_is_said(serve, body, said):
    assert said in str(failure(Http(serve(lambda asked: (200, body)).url)))


def test_a_page_for_an_error_is_not_shown(serve):
    stub = serve(lambda asked: (502, b"<html>" + b"x" * 5000))
    assert str(failure(Http(stub.url))).endswith("a proxy before it does not reach it")


def test_an_answer_that_is_cut_is_no_answer(serve):
    stub = serve(lambda asked: (200, b'{"a": 1}', {"Content-Length": "5000"}))
    assert "broke off" in str(failure(Http(stub.url)))


def test_an_answer_that_never_ends_is_cut_off(serve, monkeypatch):
    monkeypatch.setattr(http, "LIMIT", 10_000)
    with pytest.raises(TooLarge, match="ask for less"):
        Http(serve(lambda asked: (200, b" " * 20_000)).url).get("/x")


def test_a_packed_answer_is_measured_unpacked(serve, monkeypatch):
    import gzip

    monkeypatch.setattr(http, "LIMIT", 10_000)
    packed = gzip.compress(b" " * 10_000_000)
    stub = serve(lambda asked: (200, packed, {"Content-Encoding": "gzip"}))
    with pytest.raises(TooLarge):
        Http(stub.url).get("/x")


def test_a_server_that_stops_half_way_is_given_up(serve, monkeypatch):
    monkeypatch.setattr(http, "SILENCE", 0.5)
    goes_on = threading.Event()

    def hang(asked):
        goes_on.wait(300)
        return {}

    stub = serve(hang)
    try:
        error = failure(Http(stub.url))
    finally:
        goes_on.set()
    assert "nothing came for" in str(error)
    assert error.lost


def test_another_host_is_not_followed_to_and_not_asked(serve):
    other = serve(lambda asked: {})
    stub = serve(lambda asked: (302, b"", {"Location": f"{other.url}/login"}))
    error = failure(Http(stub.url))
    assert f"leads to {other.url}, which is not followed" in str(error)
    assert other.asked == []


def test_the_same_host_is_followed_to_but_not_for_ever(serve):
    stub = serve(lambda asked: {"ok": 1} if asked.path == "/b" else (307, b"", {"Location": "/b"}))
    assert Http(stub.url).get("/a") == {"ok": 1}
    circle = serve(lambda asked: (302, b"", {"Location": "/a"}))
    assert "HTTP 302" in str(failure(Http(circle.url)))
    assert len(circle.asked) == 4


def test_a_secret_comes_from_the_environment_and_is_in_no_message(serve, monkeypatch):
    monkeypatch.setenv("TOKEN", "s3cret")
    stub = serve(lambda asked: (403, b""))
    header = parse_header(f"{stub.host}=Authorization: Bearer ${{TOKEN}}")
    error = failure(Http(stub.url, [header]))
    assert stub.asked[0].headers["Authorization"] == "Bearer s3cret"
    assert "s3cret" not in str(error) + repr(header) + str(header)


def test_a_header_goes_to_its_own_host_only(serve, monkeypatch):
    monkeypatch.setenv("TOKEN", "s3cret")
    stub = serve(lambda asked: {})
    Http(stub.url, [parse_header("other.example=Authorization: Bearer ${TOKEN}")]).get("/x")
    assert "Authorization" not in stub.asked[0].headers


@pytest.mark.parametrize("value", [None, "", "two\nlines", "twoü"])
def test_a_variable_that_cannot_be_used_is_named(monkeypatch, value):
    monkeypatch.delenv("TOKEN", raising=False)
    if value is not None:
        monkeypatch.setenv("TOKEN", value)
    header = parse_header("h=Authorization: Bearer ${TOKEN}")
    with pytest.raises(SourceError, match=r"header Authorization for h: \$TOKEN") as caught:
        Http("http://h", [header])
    assert "two" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "h=Authorization: Bearer s3cret",
        "h=X-Api-Key: s3cret",
        "h=Cookie: s3cret=1",
        'h=X-Scope-OrgID: a" -o s3cret "',
        "h=X-Scope-OrgID: $(s3cret)",
        "h=X-Scope-OrgID: `s3cret`",
        "Authorization s3cret",
        "http://h/=A: s3cret",
        "h=: s3cret",
    ],
)
def test_a_secret_written_out_is_refused_and_not_repeated(text):
    with pytest.raises(SourceError) as caught:
        parse_header(text)
    assert "s3cret" not in str(caught.value)


def test_a_header_that_is_no_secret_may_be_written_out():
    assert str(parse_header("h:3100=X-Scope-OrgID: team-a")) == "X-Scope-OrgID: team-a"


def test_a_proxy_that_cannot_be_used_is_one_line_without_its_address(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "socks9://u:s3cret@h:1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    with pytest.raises(SourceError, match="proxy") as caught:
        Http("http://metrics.invalid").get("/x")
    assert "s3cret" not in str(caught.value)


def test_a_certificate_nobody_vouches_for_is_said(tmp_path):
    certificate, key, _ = Authority(tmp_path / "tls").issue("pay", 3600)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        error = failure(Http(f"https://127.0.0.1:{server.server_address[1]}"))
    finally:
        server.shutdown()
        server.server_close()
    assert "the secure connection failed" in str(error)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("ftp://h", "must begin with http:// or https://"),
        ("h:9090", "must begin with http:// or https://"),
        ("http://", "names no host"),
        ("http://h:99999", "not an address"),
        ("http://[::1", "not an address"),
        ("http://me:s3cret@h:9090/p", "name and password in an address are not taken"),
        ("http://h/?token=s3cret", "without ? and #"),
    ],
)
def test_a_wrong_address_is_one_line_without_its_secret(url, said):
    with pytest.raises(SourceError) as caught:
        parse_url(url, "--prometheus")
    assert said in str(caught.value)
    assert str(caught.value).startswith("--prometheus")
    assert "s3cret" not in str(caught.value)
