"""Clients that stop in the middle: their connections are dropped, and others are answered."""

import json
import socket
import time
from contextlib import ExitStack, suppress

import pytest

from tests.serve.problems import lazy

pytest.importorskip("fastapi")
httpx = pytest.importorskip("httpx")

from plurilabel.serve import Limits, Service, running  # noqa: E402

HEAD = b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
BODY = HEAD + b"Content-Length: 50\r\n\r\n"
HEALTH = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture(scope="module")
def address():
    limits = Limits(seconds=0.5, connections=5)
    with running(Service(lazy()), limits=limits) as address:
        yield address


def opened(address, *parts):
    host, port = address.removeprefix("http://").split(":")
    connection = socket.create_connection((host, int(port)), timeout=10)
    for part in parts:
        connection.sendall(part)
    return connection


def until_closed(connection):
    said = b""
    while part := connection.recv(1 << 16):
        said += part
    return said


@pytest.mark.parametrize(
    ("parts", "answered"),
    [
        ([], False),
        ([b"GET /hea"], True),
        ([HEAD], True),
        ([BODY], True),
        ([BODY + b'{"rows"'], True),
        ([HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{"], True),
    ],
)
def test_stalled_connections_are_dropped(address, parts, answered):
    time.sleep(0.1)  # until connections of other tests are gone
    with ExitStack() as stack:
        stalled = [stack.enter_context(opened(address, *parts)) for _ in range(5)]
        with opened(address, HEALTH) as late:
            head, _, content = until_closed(late).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 503 ") and b"retry-after: 1" in head
        assert json.loads(content) == {"error": "too many connections: try again"}
        for connection in stalled:
            head, _, content = until_closed(connection).partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 408 ") == answered
            if answered:
                problem = "the request was not complete after 0.5 seconds"
                assert json.loads(content) == {"error": problem}
        assert httpx.get(f"{address}/health").status_code == 200


def test_one_byte_at_a_time_gets_no_more_time(address):
    with opened(address) as slow:
        started = time.monotonic()
        with pytest.raises(OSError):
            while time.monotonic() < started + 8:
                slow.sendall(b"G")
                time.sleep(0.05)
    with opened(address, BODY) as slow, pytest.raises(OSError):
        while time.monotonic() < started + 8:
            slow.sendall(b" ")
            time.sleep(0.05)


def test_a_second_request_has_its_own_time(address):
    with opened(address, HEALTH) as connection:
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200 ")
        time.sleep(0.7)  # idle connections are kept
        connection.sendall(HEALTH)
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200 ")
        connection.sendall(b"GET /hea")
        assert until_closed(connection).startswith(b"HTTP/1.1 408 ")


def test_several_requests_at_once_are_all_answered(address):
    with opened(address, HEALTH * 3 + b"GET /hea") as connection:
        said = b""
        while said.count(b'"status":"ok"') < 3:
            said += connection.recv(1 << 16)
        assert said.count(b"HTTP/1.1 200 ") == 3
        connection.sendall(b"lth HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200 ")


def test_answers_that_nobody_takes_are_given_up(address):
    page = b"GET /page.js HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with opened(address, page * 400) as connection:
        time.sleep(1.6)
        said = b""
        with suppress(ConnectionResetError):
            said = until_closed(connection)
    assert said.count(b"HTTP/1.1 200 ") < 400
    assert httpx.get(f"{address}/health").status_code == 200


def test_what_is_not_http_is_refused_in_json(address):
    with opened(address, b"\x16\x03\x01 hello\r\n\r\n") as connection:
        head, _, content = until_closed(connection).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ") and json.loads(content)["error"]


def test_a_request_without_host_is_told_so(address):
    with opened(address, b"GET /health HTTP/1.0\r\n\r\n") as connection:
        head, _, content = until_closed(connection).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert json.loads(content) == {"error": "the request has no Host header"}
    with opened(address, b"GET /health HTTP/1.0\r\nHost: localhost\r\n\r\n") as connection:
        assert until_closed(connection).startswith(b"HTTP/1.1 200 ")


def said_to(address, *parts):
    """Status and JSON of the first response to what is sent over one connection."""
    with opened(address) as connection:
        with suppress(OSError):  # rejected before everything is sent
            for part in parts:
                connection.sendall(part)
        head, _, content = until_closed(connection).partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(content)


GET = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("parts", "status"),
    [
        ([GET, b"X: " + b"x" * 70_000, b"\r\n\r\n"], 431),
        ([GET, *[b"X: " + b"x" * 7_000 + b"\r\n"] * 10, b"\r\n"], 431),
        ([GET, b"x:y\r\n" * 101, b"\r\n"], 431),
        ([GET, *[b"x" * 60_000] * 60], 431),  # one header that does not end
        ([CHUNKED, b"1\r\n{\r\n0\r\n", *[b"X: " + b"x" * 60_000] * 30], 431),  # a trailer
        ([CHUNKED, b"1\r\n{\r\n0\r\n", b"x:y\r\n" * 200], 431),
        ([CHUNKED, b"1;", *[b"x" * 60_000] * 30], 431),  # an extension of a chunk
        ([*[b"\r\n" * 30_000] * 30], 431),
        ([b"GET /health?", b"x" * 9_000, b" HTTP/1.1\r\nHost: localhost\r\n\r\n"], 414),
        ([b"GET /", *[b"x" * 60_000] * 60], 414),
        ([b"G" * 1_000_000], 400),
    ],
)
def test_heads_are_limited(address, parts, status):
    time.sleep(0.1)
    found, content = said_to(address, *parts)
    assert found == status and content["error"], content
    assert httpx.get(f"{address}/health").status_code == 200


def test_heads_within_the_limits(address):
    time.sleep(0.1)
    url = b"GET /health?x=" + b"x" * 8_000 + b" HTTP/1.1\r\nHost: localhost\r\n"
    headers = b"".join(b"X-%d: " % i + b"x" * 600 + b"\r\n" for i in range(95))
    for part in (60_000, 1000, 7):
        sent = url + headers + b"\r\n"
        with opened(address) as connection:
            for i in range(0, len(sent), part):
                connection.sendall(sent[i : i + part])
            assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200 ")


SMUGGLED = b"GET /model HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.mark.parametrize(
    "headers",
    [
        b"Content-Length: 0\r\nContent-Length: 42",
        b"Content-Length: 42\r\nContent-Length: 42",
        b"Content-Length: 42, 42",
        b"Content-Length: +42",
        b"Content-Length: 4 2",
        b"Content-Length: 99999999999999999999999",
        b"Content-Length: 5\r\nTransfer-Encoding: chunked",
        b"Transfer-Encoding: chunked\r\nContent-Length: 5",
        b"Transfer-Encoding: chunked, identity",
        b"Transfer-Encoding: xchunked",
        b"Transfer-Encoding : chunked",
        b"Content-Length : 5",
        b"Transfer-Encoding: chunked\nContent-Length: 5",
        b"X: y\nContent-Length: 5",
        b"X: y\0z",
        b"X\xe4: y",
        b" X: y",
    ],
)
@pytest.mark.parametrize("path", [b"/health", b"/feedback"])
def test_ambiguous_requests_are_refused(address, headers, path):
    head = b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" % path
    with opened(address, head + headers + b"\r\n\r\n0\r\n\r\n" + SMUGGLED) as connection:
        said = until_closed(connection)
    assert said.startswith(b"HTTP/1.1 400 ") and said.count(b"HTTP/1.1 ") == 1, said


@pytest.mark.parametrize("bad", [b"GET / HTTP/9.9\r\n\r\n", GET + b"x:y\r\n" * 101 + b"\r\n"])
def test_requests_before_a_bad_one_are_answered(address, bad):
    with opened(address, HEALTH * 2 + bad + HEALTH) as connection:
        said = until_closed(connection)
    assert [part[:3] for part in said.split(b"HTTP/1.1 ")[1:]] == [b"200", b"200"]


def test_few_requests_wait_for_others(address):
    with opened(address, HEALTH * 3000) as connection:
        said = until_closed(connection)
    assert 2 <= said.count(b"HTTP/1.1 200 ") < 100


def test_an_upgrade_is_no_way_around(address):
    asked = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
    with opened(address, GET + asked + b"\r\n") as connection:
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200 ")
    with opened(address, BODY[:-2] + asked + b"\r\n" + b"x" * 50 + SMUGGLED) as connection:
        said = until_closed(connection)
    assert said.count(b"HTTP/1.1 ") == 1 and b"label" not in said
