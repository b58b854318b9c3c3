"""What connections cost that ask for nothing, and whether anybody else notices them.

    benches/idle.py target/release/tallyring [--native N] [--resp N] [--http N]

Starts a node of two shards. For each door: opens N connections that each ask one thing and fall silent, and prints the bytes
of anonymous memory (RssAnon) that each has added; the kernel's memory of sockets is not among them. A busy connection decides
the same calls before and beside them: the decisions have to be the same, and their times are printed.

Needs nothing but Python and, for 10,000 connections, `ulimit -n 12000`.
"""

import argparse
import contextlib
import re
import resource
import socket
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "python"))
import native_client as native  # noqa: E402

LIMIT = 100  # units an account has
CALLS = 300  # calls on each account: LIMIT pass
ACCOUNTS = 20
SETTLE_S = 1.0  # memory is read once the last connection has been quiet for so long


class Node:
    """A node on free ports."""

    def __init__(self, binary: str):
        doors = {f"--{door}-addr": "127.0.0.1:0" for door in ("native", "resp", "http")}
        flags = [word for pair in doors.items() for word in pair]
        command = [binary, "serve", "--shards", "2", "--log-format", "json", *flags]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        serving = next(line for line in self.process.stderr if '"serving"' in line)
        self.ports = {door: int(re.search(rf'"{door}":"127\.0\.0\.1:(\d+)"', serving)[1]) for door in ("native", "resp", "http")}

    def anonymous_bytes(self) -> int:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"RssAnon:\s+(\d+) kB", status)[1]) * 1024

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


def open_native(port: int) -> socket.socket:
    client = native.Client("127.0.0.1", port, shard=open_native.opened % 2)
    open_native.opened += 1
    handle = client.define("token_bucket", 100, period_us=60_000_000)
    client.check(handle, native.key_block(b"", b"idle"), cost=0)
    return client._socket


open_native.opened = 0


def open_asking(port: int, question: bytes, end: bytes) -> socket.socket:
    stream = socket.create_connection(("127.0.0.1", port))
    stream.sendall(question)
    answer = b""
    while not answer.endswith(end):
        answer += stream.recv(4096)
    return stream


def open_resp(port: int) -> socket.socket:
    return open_asking(port, b"CL.THROTTLE idle 99 100 60 0\r\n", b":0\r\n")


def open_http(port: int) -> socket.socket:
    return open_asking(port, b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n", b"alive\n")


def load(port: int, name: str) -> tuple[list[int], float, float]:
    """How many calls of each account passed, and the median and the 99th percentile of their times, in microseconds."""
    passed, took_us = [], []
    with contextlib.closing(socket.create_connection(("127.0.0.1", port))) as stream:
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for account in range(ACCOUNTS):
            command = f"TR.CHECK {name}-{account} fixed_window {LIMIT} CAL.MONTH\r\n".encode()
            passed.append(0)
            for _ in range(CALLS):
                began = time.perf_counter_ns()
                stream.sendall(command)
                answer = b""
                while answer.count(b"\r\n") < 6:
                    answer += stream.recv(4096)
                took_us.append((time.perf_counter_ns() - began) / 1000)
                passed[-1] += answer.split(b"\r\n")[1] == b":1"
    took_us.sort()
    return passed, took_us[len(took_us) // 2], took_us[len(took_us) * 99 // 100]


def check_load(node: Node, name: str, beside: str) -> None:
    passed, median_us, p99_us = load(node.ports["resp"], name)
    if passed != [LIMIT] * ACCOUNTS:
        raise SystemExit(f"{beside}: {passed} calls passed, not {LIMIT} of each account")
    print(f"{beside:<44} exact, median {median_us:7.1f} us, p99 {p99_us:7.1f} us a call")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("binary")
    arguments.add_argument("--native", type=int, default=10_000)
    arguments.add_argument("--resp", type=int, default=10_000)
    arguments.add_argument("--http", type=int, default=190)
    wanted = arguments.parse_args()
    _, descriptors_max = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors_max, descriptors_max))
    for door, opened_by in (("native", open_native), ("resp", open_resp), ("http", open_http)):
        measure(wanted.binary, door, opened_by, getattr(wanted, door))


def measure(binary: str, door: str, opened_by, count: int) -> None:
    """On a node of its own: what the connections of another door have left behind would be used again."""
    node = Node(binary)
    try:
        check_load(node, "before", "no other connection")
        before = node.anonymous_bytes()
        held = [opened_by(node.ports[door]) for _ in range(count)]
        time.sleep(SETTLE_S)
        each = (node.anonymous_bytes() - before) / max(count, 1)
        print(f"{count} idle {door} connections: {each:,.0f} bytes each")
        check_load(node, "beside", f"beside {count} idle {door} connections")
        for stream in held:
            stream.close()
    finally:
        node.stop()


if __name__ == "__main__":
    main()
