"""A client of the native protocol, written from docs/protocol.md with the standard library alone.

It is the document's proof, and a start for a client in another language: every request, and the placement of keys. It waits for each answer and keeps no pool: the Rust client crate is the one for production.

    $ python3 native_client.py 127.0.0.1:4170 acct_7
"""

import bisect
import dataclasses
import json
import secrets
import socket
import struct
import sys

VERSION = 1
HEADER = struct.Struct("<IBBHI")  # length, kind, flags, handle, request id
HEADER_BYTES = HEADER.size
REPLY_BYTES_MAX = 4_198_400
KEY_BYTES_MAX = 512
POINTS_PER_WEIGHT = 1_024
WEIGHT_MAX = 100
REDRAWS_MAX = 16
MASK = 2**64 - 1
WAIT_NEVER_US = MASK

HELLO, DEFINE, PING, GET_RULES, REPORT = 0x01, 0x02, 0x03, 0x05, 0x06
CHECK, TAKE, REFUND, RESET = 0x10, 0x11, 0x12, 0x13
CHECK_ALL, RESERVE, SETTLE, ACQUIRE, RELEASE = 0x14, 0x15, 0x16, 0x17, 0x18
WELCOME, DEFINED, PONG, TOPOLOGY, RULES, REPORTED, RULES_VERSION = 0x81, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87
DECISION, GRANT, RESET_DONE = 0x90, 0x91, 0x93
CHECKED_ALL, SETTLED, SLOTS, RELEASED = 0x94, 0x96, 0x97, 0x98
WRONG_OWNER, MOVING, OVERLOADED, FULL, UNAVAILABLE, INVALID, GOODBYE = 0xE0, 0xE1, 0xE2, 0xE3, 0xE4, 0xE5, 0xEF

ALGORITHMS = {
    "token_bucket": 1,
    "leaky_bucket": 2,
    "fixed_window": 3,
    "sliding_log": 4,
    "sliding_counter": 5,
    "concurrency": 6,
}
NAMED = {"reservation": 0x80, "holder": 0x81}
LOCAL_COUNTS = (  # what a gateway counts of a rule that it decided by itself, in the order of a report
    "deny_cache",
    "prefilter",
    "fallback_allowed",
    "fallback_denied",
    "mode_denied",
    "blocked",
    "grant_allowed",
    "grant_excess",
    "soft",
)
DRAINING = 4  # the one goodbye behind which answers may follow
CALENDAR_UNITS = {"day": 1, "week": 2, "month": 3}


class ProtocolError(Exception):
    """The node sent what the protocol does not allow, or ended the connection."""


# --- Keys and placement -----------------------------------------------------------------------------------------------


def siphash13(key: bytes, data: bytes) -> int:
    """SipHash-1-3 with 64 bits of output."""
    k0, k1 = struct.unpack("<QQ", key)
    v0, v1 = k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D
    v2, v3 = k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573
    whole = len(data) // 8 * 8
    last = data[whole:].ljust(7, b"\0") + bytes([len(data) % 256])
    for (word,) in struct.iter_unpack("<Q", data[:whole] + last):
        v3 ^= word
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
        v0 ^= word
    v2 ^= 0xFF
    for _ in range(3):
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    return v0 ^ v1 ^ v2 ^ v3


def _round(v0: int, v1: int, v2: int, v3: int) -> tuple[int, int, int, int]:
    v0 = (v0 + v1) & MASK
    v1 = _rotate(v1, 13) ^ v0
    v0 = _rotate(v0, 32)
    v2 = (v2 + v3) & MASK
    v3 = _rotate(v3, 16) ^ v2
    v0 = (v0 + v3) & MASK
    v3 = _rotate(v3, 21) ^ v0
    v2 = (v2 + v1) & MASK
    v1 = _rotate(v1, 17) ^ v2
    v2 = _rotate(v2, 32)
    return v0, v1, v2, v3


def _rotate(value: int, bits: int) -> int:
    return ((value << bits) | (value >> (64 - bits))) & MASK


def key_block(tag: bytes, rest: bytes) -> bytes:
    """The bytes of a key in a frame."""
    if len(tag) > KEY_BYTES_MAX or not 1 <= len(rest) <= KEY_BYTES_MAX:
        raise ValueError("key: its rest is 1 to 512 bytes behind a tag of 0 to 512")
    return struct.pack("<H", len(tag)) + tag + rest


def raw_tag(text: bytes) -> bytes:
    """The part of a raw key that places it: what its first braces hold, else all of it."""
    opened = text.find(b"{")
    closed = text.find(b"}", opened + 1)
    if opened < 0 or closed < 0:
        return text
    return text[opened + 1 : closed] or text


def identity(identity_key: bytes, algorithm: int, block: bytes) -> int:
    """How a node knows a key under an algorithm. A client has no use for it; the golden placements have."""
    halves = [siphash13(identity_key, bytes([algorithm, half])) for half in (0, 1)]
    return siphash13(struct.pack("<QQ", *halves), block)


def named_identity(identity_key: bytes, what: str, name: bytes, block: bytes) -> int:
    """How a node knows a key's reservation of this id, or its holder of this name."""
    halves = [siphash13(identity_key, bytes([NAMED[what], half])) for half in (0, 1)]
    return siphash13(struct.pack("<QQ", *halves), struct.pack("<H", len(name)) + name + block)


def shard_of(placement: int, shards: int) -> int:
    """The shard inside the owner."""
    return ((placement & 0xFFFFFFFF) * shards) >> 32


class Ring:
    """Who owns which placements."""

    def __init__(self, seed: bytes, weights: dict[int, int]):
        owners: dict[int, int] = {}
        for node in sorted(weights):
            points = min(weights[node], WEIGHT_MAX) * POINTS_PER_WEIGHT
            for index in range(points):
                numbers = (index + redraw * points for redraw in range(REDRAWS_MAX))
                draws = (siphash13(seed, struct.pack("<QI", node, number)) for number in numbers)
                free = next((at for at in draws if at not in owners), None)
                if free is not None:
                    owners[free] = node
        self._points = sorted(owners)
        self._owners = owners

    def owner(self, placement: int) -> int:
        """The node of the first point at or after the placement, around the end to the first one."""
        at = bisect.bisect_left(self._points, placement) % len(self._points)
        return self._owners[self._points[at]]


@dataclasses.dataclass(frozen=True)
class Topology:
    """The cluster as of an epoch."""

    epoch: int
    seed: bytes
    nodes: dict[int, dict]
    gateways: int

    @staticmethod
    def from_json(body: bytes) -> "Topology":
        told = json.loads(body)
        nodes = {node["id"]: node for node in told["nodes"]}
        return Topology(told["epoch"], bytes.fromhex(told["placement_seed"]), nodes, told["gateways"])

    def ring(self) -> Ring:
        return Ring(self.seed, {node["id"]: node["weight"] for node in self.nodes.values()})


# --- Requests ---------------------------------------------------------------------------------------------------------


def frame(kind: int, flags: int, handle: int, request_id: int, body: bytes = b"") -> bytes:
    return HEADER.pack(HEADER_BYTES + len(body), kind, flags, handle, request_id) + body


def sized(value: bytes) -> bytes:
    return struct.pack("<H", len(value)) + value


def text(value: str) -> bytes:
    return sized(value.encode())


def hello(shard: int, deadline_max_us: int, instance: int, name: str, token: str, version: int = VERSION) -> bytes:
    body = struct.pack("<HHI", version, shard, deadline_max_us) + instance.to_bytes(16, "little")
    return frame(HELLO, 0, 0, 0, body + text(name) + text(token))


def define(
    request_id: int,
    handle: int,
    algorithm: str,
    limit: int,
    period_us: int = 0,
    calendar: str | None = None,
    burst: int = 0,
    shadow: bool = False,
    sync: bool = False,
    rule_version: int = 0,
    keys_max: int = 0,
    rule: str = "",
) -> bytes:
    unit = CALENDAR_UNITS[calendar] if calendar else 0
    body = struct.pack("<BBQQQQQ", ALGORITHMS[algorithm], unit, limit, period_us, burst, rule_version, keys_max)
    return frame(DEFINE, shadow | sync << 1, handle, request_id, body + text(rule))


def ping(request_id: int) -> bytes:
    return frame(PING, 0, 0, request_id)


def get_rules(request_id: int) -> bytes:
    return frame(GET_RULES, 0, 0, request_id)


def report(request_id: int, rule: str, shadow: bool = False, **counts: int) -> bytes:
    """What was decided of a rule without the store, by the names in LOCAL_COUNTS."""
    body = struct.pack("<9Q", *(counts.pop(name, 0) for name in LOCAL_COUNTS))
    if counts:
        raise ValueError(f"no such counts: {counts}")
    return frame(REPORT, int(shadow), 0, request_id, body + text(rule))


def check(request_id: int, handle: int, key: bytes, cost: int = 1, keep: int = 0, force: bool = False) -> bytes:
    return frame(CHECK, int(force), handle, request_id, struct.pack("<QQ", cost, keep) + key)


def take(request_id: int, handle: int, key: bytes, cost: int, keep: int = 0) -> bytes:
    return frame(TAKE, 0, handle, request_id, struct.pack("<QQ", cost, keep) + key)


def refund(request_id: int, handle: int, key: bytes, cost: int, charged_at_us: int | None = None) -> bytes:
    known = charged_at_us is not None
    return frame(REFUND, int(known), handle, request_id, struct.pack("<QQ", cost, charged_at_us or 0) + key)


def reset(request_id: int, key: bytes) -> bytes:
    return frame(RESET, 0, 0, request_id, key)


def part(handle: int, key: bytes, cost: int = 1, keep: int = 0, force: bool = False) -> bytes:
    """One check of a check_all."""
    return struct.pack("<HBQQ", handle, force, cost, keep) + sized(key)


def check_all(request_id: int, parts: list[bytes]) -> bytes:
    return frame(CHECK_ALL, 0, 0, request_id, bytes([len(parts)]) + b"".join(parts))


def reserve(
    request_id: int,
    handle: int,
    key: bytes,
    reservation: bytes,
    ttl_us: int,
    cost: int = 1,
    keep: int = 0,
    force: bool = False,
) -> bytes:
    body = struct.pack("<QQQ", cost, keep, ttl_us) + sized(reservation) + key
    return frame(RESERVE, int(force), handle, request_id, body)


def settle(request_id: int, key: bytes, reservation: bytes, actual: int) -> bytes:
    return frame(SETTLE, 0, 0, request_id, struct.pack("<Q", actual) + sized(reservation) + key)


def acquire(request_id: int, key: bytes, holder: bytes, limit: int, ttl_us: int, cost: int = 1) -> bytes:
    return frame(ACQUIRE, 0, 0, request_id, struct.pack("<QQQ", limit, ttl_us, cost) + sized(holder) + key)


def release(request_id: int, key: bytes, holder: bytes) -> bytes:
    return frame(RELEASE, 0, 0, request_id, sized(holder) + key)


# --- Replies ----------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Reply:
    """A reply or a push: its kind, the id of its request, and its fields by their names in the document."""

    kind: int
    request_id: int
    fields: dict


class _Body:
    """What is left of a body."""

    def __init__(self, body: bytes):
        self._rest = body

    def numbers(self, layout: str, *names: str) -> dict:
        size = struct.calcsize("<" + layout)
        if len(self._rest) < size:
            raise ProtocolError(f"the frame ends before {names[-1]}")
        numbers = struct.unpack("<" + layout, self._rest[:size])
        self._rest = self._rest[size:]
        return dict(zip(names, numbers))

    def text(self, name: str) -> dict:
        size = self.numbers("H", name)[name]
        if len(self._rest) < size:
            raise ProtocolError(f"the frame ends inside {name}")
        value, self._rest = self._rest[:size].decode(), self._rest[size:]
        return {name: value}

    def all(self) -> bytes:
        value, self._rest = self._rest, b""
        return value

    def end(self) -> None:
        if self._rest:
            raise ProtocolError("bytes follow the last field of a body")


def decode(kind: int, flags: int, request_id: int, body: bytes) -> Reply:
    """Reads a reply; one of an unknown kind has no fields."""
    left = _Body(body)
    reader = _READERS.get(kind)
    if reader is None:
        return Reply(kind, request_id, {})
    fields = reader(flags, left)
    left.end()
    return Reply(kind, request_id, fields)


def _decision(flags: int, body: _Body) -> dict:
    fields = {"allowed": bool(flags & 1)}
    fields |= body.numbers("QQQQ", "remaining", "retry_after_us", "reset_after_us", "at_us")
    fields |= body.numbers("Q", "charged") if flags & 2 else {}
    fields |= body.numbers("Q", "delay_us") if flags & 4 else {}
    return fields


def _checked_all(flags: int, body: _Body) -> dict:
    fields = {"allowed": bool(flags & 1)} | body.numbers("QQB", "retry_after_us", "at_us", "parts")
    fields["checks"] = [_checked(body) for _ in range(fields.pop("parts"))]
    return fields


def _checked(body: _Body) -> dict:
    flags = body.numbers("B", "flags")["flags"]
    fields = {"allowed": bool(flags & 1)}
    fields |= body.numbers("QQQ", "remaining", "retry_after_us", "reset_after_us")
    fields |= body.numbers("Q", "charged") if flags & 2 else {}
    fields |= body.numbers("Q", "delay_us") if flags & 4 else {}
    return fields


def _rules(_: int, body: _Body) -> dict:
    version = body.numbers("QQ", "lineage", "version")
    document = body.all()
    if not document:
        raise ProtocolError("the frame ends before json")
    return version | {"json": json.loads(document)}


def _settled(flags: int, body: _Body) -> dict:
    settled = bool(flags & 1)
    return {"settled": settled} | (body.numbers("QQ", "remaining", "reset_after_us") if settled else {})


_READERS = {
    WELCOME: lambda _, body: body.numbers("HHHBQ", "version", "shard", "shards", "role", "node"),
    DEFINED: lambda _, body: {},
    PONG: lambda _, body: {},
    TOPOLOGY: lambda _, body: {"topology": Topology.from_json(body.all())},
    RULES: _rules,
    REPORTED: lambda _, body: {},
    RULES_VERSION: lambda _, body: body.numbers("QQ", "lineage", "version"),
    DECISION: _decision,
    GRANT: lambda _, body: body.numbers("QQQQ", "granted", "remaining", "reset_after_us", "at_us"),
    RESET_DONE: lambda flags, _: {"found": bool(flags & 1)},
    CHECKED_ALL: _checked_all,
    SETTLED: _settled,
    SLOTS: lambda flags, body: {"allowed": bool(flags & 1)} | body.numbers("QQQ", "in_use", "retry_after_us", "at_us"),
    RELEASED: lambda flags, body: {"released": bool(flags & 1)} | body.numbers("Q", "in_use"),
    WRONG_OWNER: lambda _, body: body.numbers("QQ", "epoch", "node") | body.text("address"),
    MOVING: lambda _, body: body.numbers("Q", "retry_us"),
    OVERLOADED: lambda _, body: {},
    FULL: lambda _, body: {},
    UNAVAILABLE: lambda _, body: {},
    INVALID: lambda _, body: body.text("field") | body.text("reason"),
    GOODBYE: lambda _, body: body.numbers("B", "code") | body.text("reason"),
}


def split(data: bytes, len_max: int = REPLY_BYTES_MAX) -> tuple[tuple[int, int, int, int, bytes], int] | None:
    """The first frame of `data` (kind, flags, handle, request id, body) and its length; None if it is not whole yet."""
    if len(data) < 4:
        return None
    (length,) = struct.unpack_from("<I", data)
    if not HEADER_BYTES <= length <= len_max:
        raise ProtocolError(f"a frame of {length} bytes")
    if len(data) < length:
        return None
    _, kind, flags, handle, request_id = HEADER.unpack_from(data)
    return (kind, flags, handle, request_id, data[HEADER_BYTES:length]), length


# --- The connection ---------------------------------------------------------------------------------------------------


class Client:
    """One connection to one node."""

    def __init__(self, host: str, port: int, token: str = "", shard: int = 0, deadline_s: float = 5.0):
        self._socket = socket.create_connection((host, port), timeout=deadline_s)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._read = b""
        self._last_id = 0
        self._last_handle = -1
        self.topology: Topology | None = None
        self.rules_version = (0, 0)  # of the rules that are live: lineage, version
        self.draining = False
        deadline_max_us = int(deadline_s * 1_000_000)
        self._socket.sendall(hello(shard, deadline_max_us, secrets.randbits(128), "native_client.py", token))
        welcome = self._next()
        if welcome.kind != WELCOME:
            raise ProtocolError(f"no welcome: {welcome}")
        self.welcome = welcome.fields
        while self.topology is None:
            self._pushed(self._next())

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_) -> None:
        self._socket.close()

    def define(self, algorithm: str, limit: int, **numbers) -> int:
        """Gives a limit a handle, and returns it."""
        self._last_handle += 1
        handle = self._last_handle
        reply = self.ask(lambda request_id: define(request_id, handle, algorithm, limit, **numbers))
        if reply.kind != DEFINED:
            raise ProtocolError(f"not defined: {reply}")
        return handle

    def check(self, handle: int, key: bytes, **numbers) -> Reply:
        return self.ask(lambda request_id: check(request_id, handle, key, **numbers))

    def take(self, handle: int, key: bytes, cost: int, keep: int = 0) -> Reply:
        return self.ask(lambda request_id: take(request_id, handle, key, cost, keep))

    def refund(self, handle: int, key: bytes, cost: int, charged_at_us: int | None = None) -> Reply:
        return self.ask(lambda request_id: refund(request_id, handle, key, cost, charged_at_us))

    def reset(self, key: bytes) -> Reply:
        return self.ask(lambda request_id: reset(request_id, key))

    def check_all(self, parts: list[bytes]) -> Reply:
        return self.ask(lambda request_id: check_all(request_id, parts))

    def reserve(self, handle: int, key: bytes, reservation: bytes, ttl_us: int, **numbers) -> Reply:
        return self.ask(lambda request_id: reserve(request_id, handle, key, reservation, ttl_us, **numbers))

    def settle(self, key: bytes, reservation: bytes, actual: int) -> Reply:
        return self.ask(lambda request_id: settle(request_id, key, reservation, actual))

    def acquire(self, key: bytes, holder: bytes, limit: int, ttl_us: int, cost: int = 1) -> Reply:
        return self.ask(lambda request_id: acquire(request_id, key, holder, limit, ttl_us, cost))

    def release(self, key: bytes, holder: bytes) -> Reply:
        return self.ask(lambda request_id: release(request_id, key, holder))

    def rules(self) -> Reply:
        return self.ask(get_rules)

    def report(self, rule: str, shadow: bool = False, **counts: int) -> Reply:
        return self.ask(lambda request_id: report(request_id, rule, shadow, **counts))

    def ping(self) -> Reply:
        return self.ask(ping)

    def ask(self, request) -> Reply:
        """Sends one request and waits for its reply; `request` makes the frame for an id."""
        return self.ask_all([request])[0]

    def ask_all(self, requests: list) -> list[Reply]:
        """Sends requests in one write and waits for all their replies, in the order of the requests."""
        if self.draining:
            raise ProtocolError("the node drains: it answers nothing new")
        ids = [self._last_id + 1 + i for i in range(len(requests))]
        self._last_id += len(requests)
        self._socket.sendall(b"".join(make(request_id) for make, request_id in zip(requests, ids)))
        replies: dict[int, Reply] = {}
        while len(replies) < len(ids):
            reply = self._next()
            if reply.request_id == 0:
                self._pushed(reply)
            else:
                replies[reply.request_id] = reply
        return [replies[request_id] for request_id in ids]

    def _pushed(self, reply: Reply) -> None:
        if reply.kind == GOODBYE and reply.fields["code"] != DRAINING:
            raise ProtocolError(f"goodbye: {reply.fields}")
        if reply.kind == GOODBYE:
            self.draining = True
        if reply.kind == TOPOLOGY:
            told = reply.fields["topology"]
            if self.topology is None or told.epoch >= self.topology.epoch:
                self.topology = told
        if reply.kind == RULES_VERSION:
            self.rules_version = max(self.rules_version, (reply.fields["lineage"], reply.fields["version"]))

    def _next(self) -> Reply:
        while (found := split(self._read)) is None:
            arrived = self._socket.recv(65_536)
            if not arrived:
                raise ProtocolError("the node closed the connection")
            self._read += arrived
        (kind, flags, _, request_id, body), length = found
        self._read = self._read[length:]
        return decode(kind, flags, request_id, body)


def main() -> None:
    address, raw = sys.argv[1], sys.argv[2].encode()
    host, port = address.rsplit(":", 1)
    with Client(host, int(port)) as client:
        topology = client.topology
        placement = siphash13(topology.seed, raw_tag(raw))
        owner = topology.ring().owner(placement)
        print(f"node {owner}, shard {shard_of(placement, topology.nodes[owner]['shards'])}")
        handle = client.define("token_bucket", 10, period_us=60_000_000)
        print(client.check(handle, key_block(raw_tag(raw), raw)).fields)


if __name__ == "__main__":
    main()
