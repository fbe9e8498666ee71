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
