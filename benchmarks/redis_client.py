"""The few requests that benchmarks make of a redis server, over a plain socket."""

import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from benchmarks.workloads import free_port

VALUE_BYTES = 700
VALUE = b"v" * VALUE_BYTES
SET_ANSWER = b"+OK\r\n"
GET_ANSWER = b"$%d\r\n%s\r\n" % (VALUE_BYTES, VALUE)


def set_request(key: int) -> bytes:
    """Return what gives a key its value."""
    head = b"*3\r\n$3\r\nSET\r\n$10\r\nkey:%06d\r\n" % key
    return head + b"$%d\r\n%s\r\n" % (VALUE_BYTES, VALUE)


def get_request(key: int) -> bytes:
    """Return what asks for the value of a key."""
    return b"*2\r\n$3\r\nGET\r\n$10\r\nkey:%06d\r\n" % key


def ask(link: socket.socket, request: bytes, answer_bytes: int) -> None:
    """Send requests and wait until all of their answers are there."""
    link.sendall(request)
    while answer_bytes > 0:
        answer_bytes -= len(link.recv(min(answer_bytes, 1 << 16)))


def connect(port: int) -> socket.socket:
    """Return a connection, as soon as the server answers."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            link = socket.create_connection(("127.0.0.1", port))
        except OSError:
            time.sleep(0.1)
        else:
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return link
    raise TimeoutError("redis does not answer")


def shut_down(link: socket.socket) -> None:
    """End the server; it keeps nothing."""
    link.sendall(b"*2\r\n$8\r\nSHUTDOWN\r\n$6\r\nNOSAVE\r\n")
    link.recv(100)


@contextmanager
def served(
    prefix: tuple[object, ...], environment: Mapping[str, str], folder: Path
) -> Iterator[socket.socket]:
    """A server that ends with the block, and a connection to it."""
    port = free_port()
    server = subprocess.Popen(
        [
            *(str(word) for word in prefix),
            *("redis-server", "--port", str(port), "--save", "", "--dir", folder),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
    )
    try:
        with connect(port) as link:
            yield link
            shut_down(link)
        server.wait(60)
    finally:
        server.kill()
        server.wait()
