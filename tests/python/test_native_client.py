"""The client in native_client.py against the golden files, and against a running node.

    $ python3 -m unittest discover tests/python
    $ TALLYRING=target/debug/tallyring python3 -m unittest discover tests/python

With TALLYRING, the path of the binary, a node is started on ports of its own, and stopped.
"""

import os
import pathlib
import signal
import socket
import subprocess
import time
import unittest

import native_client as native

TESTDATA = pathlib.Path(__file__).resolve().parents[2] / "protocol" / "testdata"
NODE = os.environ.get("TALLYRING")
DOORS = ("NATIVE", "HTTP", "RESP", "RLS", "PEER")
START_S_MAX = 20
KEY = native.key_block(b"acct_7", b"charges")
AT_US = 100_000_000_000
MINUTE_US = 60_000_000


def sections(name: str) -> dict[str, list[str]]:
    """The sections of a golden file: `[name] meaning`, then lines, each up to a `;` behind which is text for people."""
    found: dict[str, list[str]] = {}
    for line in (TESTDATA / name).read_text().splitlines():
        if line.startswith("["):
            lines = found[line[1 : line.index("]")]] = []
        elif line and not line.startswith("#"):
            lines.append(line.split(";")[0].strip())
    return found


def unhex(digits: str) -> bytes:
    """The bytes that digits spell: `-` for none, `61*512` for one byte many times."""
    if digits == "-":
        return b""
    byte, _, times = digits.partition("*")
    return bytes.fromhex(byte) * int(times or 1)


class GoldenFrames(unittest.TestCase):
    def setUp(self):
        self.golden = {name: bytes.fromhex("".join(lines)) for name, lines in sections("frames.txt").items()}

    def test_requests_are_the_golden_bytes(self):
        day_us = 86_400 * 1_000_000
        requests = {
            "hello": native.hello(2, 5_000, 0x0F0E0D0C0B0A09080706050403020100, "edge-1", "s3cret"),
            "hello_bare": native.hello(0, 0, 1, "", ""),
            "hello_utf8": native.hello(0xFFFF, 0xFFFFFFFF, 2**128 - 1, "käse", "é"),
            "define_token_bucket": native.define(
                1, 0, "token_bucket", 300, MINUTE_US, burst=100, rule_version=7, keys_max=100_000, rule="per-ip"
            ),
            "define_fixed_window": native.define(3, 2, "fixed_window", 100, MINUTE_US),
            "define_sliding_counter": native.define(
                5, 4, "sliding_counter", 10**12, 400 * day_us, rule_version=2**64 - 1, keys_max=2**64 - 1, rule="wide"
            ),
            "define_week": native.define(
                8, 7, "fixed_window", 50_000, calendar="week", rule_version=7, rule="weekly"
            ),
            "define_shadow_sync": native.define(
                12, 10, "fixed_window", 10, MINUTE_US, shadow=True, sync=True, rule_version=8, rule="both"
            ),
            "ping": native.ping(2**32 - 1),
            "check": native.check(77, 3, KEY, cost=5, keep=2),
            "check_forced": native.check(78, 3, KEY, cost=5, force=True),
            "check_without_tag": native.check(80, 16_383, native.key_block(b"", b"k")),
            "take_kept": native.take(83, 3, KEY, 64, 10),
            "refund": native.refund(84, 3, KEY, 2),
            "refund_at": native.refund(85, 3, KEY, 2, AT_US),
            "refund_at_zero": native.refund(86, 3, KEY, 2, 0),
            "reset": native.reset(87, KEY),
            "check_all": native.check_all(88, [native.part(3, KEY, 5, 2), native.part(4, KEY, force=True)]),
            "check_all_one": native.check_all(89, [native.part(0, KEY, 0)]),
            "reserve": native.reserve(90, 3, KEY, b"req-1", MINUTE_US, cost=800, keep=100),
            "reserve_forced": native.reserve(91, 3, KEY, b"\xff", day_us, force=True),
            "settle": native.settle(92, KEY, b"req-1", 650),
            "acquire": native.acquire(93, KEY, b"worker-9", 10, 30_000_000),
            "release": native.release(94, KEY, b"worker-9"),
            "get_rules": native.get_rules(95),
            "report_shadow": native.report(97, "trial", shadow=True, deny_cache=2**64 - 1),
            "report_no_rule": native.report(98, "", mode_denied=5, blocked=1),
        }
        for name, frame in requests.items():
            self.assertEqual(frame.hex(), self.golden[name].hex(), name)

    def test_golden_replies_are_read(self):
        numbers = {"remaining": 0, "retry_after_us": 0, "reset_after_us": 1_000_000, "at_us": AT_US}
        never = {"remaining": 100, "retry_after_us": native.WAIT_NEVER_US, "reset_after_us": 0, "at_us": AT_US}
        replies = {
            "welcome_client": (0, {"version": 1, "shard": 2, "shards": 4, "role": 1, "node": 1}),
            "defined": (1, {}),
            "pong": (2**32 - 1, {}),
            "decision_never": (81, {"allowed": False} | never),
            "decision_allowed_charged_delay": (
                89,
                {"allowed": True} | numbers | {"charged": 2, "delay_us": 960_000},
            ),
            "grant": (82, {"granted": 60, "remaining": 0, "reset_after_us": 36_000_000, "at_us": AT_US}),
            "reset_done": (87, {"found": False}),
            "reset_done_found": (87, {"found": True}),
            "settled": (92, {"settled": True, "remaining": 350, "reset_after_us": 45_000_000}),
            "settled_not": (92, {"settled": False}),
            "slots": (93, {"allowed": True, "in_use": 3, "retry_after_us": 0, "at_us": AT_US}),
            "released": (94, {"released": True, "in_use": 2}),
            "rules_version": (0, {"lineage": 1_764_540_000_000_000, "version": 7}),
            "rules_version_none": (0, {"lineage": 0, "version": 0}),
            "reported": (96, {}),
            "wrong_owner": (77, {"epoch": 8, "node": 2, "address": "10.0.0.2:4170"}),
            "moving": (77, {"retry_us": 300}),
            "overloaded": (77, {}),
            "full": (77, {}),
            "unavailable": (77, {}),
            "invalid": (1, {"field": "limit", "reason": "0 is not in 1 ..= 10^12"}),
            "goodbye_draining": (0, {"code": 4, "reason": "the node is draining"}),
        }
        for name, (request_id, fields) in replies.items():
            reply = self.read(name)
            self.assertEqual((reply.request_id, reply.fields), (request_id, fields), name)

    def test_the_golden_decisions_of_a_check_all_are_read(self):
        first = {"allowed": True, "remaining": 94, "retry_after_us": 0, "reset_after_us": 3_600_000}
        second = {"allowed": False, "remaining": 0, "retry_after_us": 2_000_000, "reset_after_us": MINUTE_US}
        joint = {"allowed": False, "retry_after_us": 2_000_000, "at_us": AT_US, "checks": [first, second]}
        self.assertEqual(self.read("checked_all").fields, joint)
        every_field = self.read("checked_all_allowed").fields["checks"]
        self.assertEqual([part["charged"] for part in every_field], [2, 1])
        self.assertEqual([part["delay_us"] for part in every_field], [960_000, 0])

    def test_the_golden_topology_is_read(self):
        topology = self.read("topology").fields["topology"]
        self.assertEqual((topology.epoch, topology.gateways), (7, 3))
        self.assertEqual(topology.seed, bytes(range(16)))
        self.assertEqual(topology.nodes[2]["native"], "10.0.0.2:4170")

    def test_the_golden_rules_are_read(self):
        rules = self.read("rules").fields
        self.assertEqual((rules["lineage"], rules["version"]), (1_764_540_000_000_000, 7))
        self.assertEqual([rule["id"] for rule in rules["json"]["rule"]], ["per-ip"])

    def test_every_golden_reply_can_be_read(self):
        for name, frame in self.golden.items():
            if frame[4] >= 0x80:
                self.assertIsNotNone(self.read(name), name)

    def test_a_frame_that_has_not_arrived_whole_is_waited_for(self):
        frame = self.golden["decision_allowed"]
        for cut in range(len(frame)):
            self.assertIsNone(native.split(frame[:cut]))
        with self.assertRaises(native.ProtocolError):
            native.split(b"\x0b\0\0\0")

    def read(self, name: str) -> native.Reply:
        (kind, flags, _, request_id, body), length = native.split(self.golden[name])
        self.assertEqual(length, len(self.golden[name]))
        return native.decode(kind, flags, request_id, body)


class GoldenPlacements(unittest.TestCase):
    def test_siphash_is_the_one_of_the_paper(self):
        # Of zero bytes under the key 00 01 .. 0f: the first vector that implementations of SipHash-1-3 share.
        self.assertEqual(native.siphash13(bytes(range(16)), b""), 0xABAC0158050FC4DC)

    def test_every_key_lives_where_it_always_lived(self):
        golden = sections("placements.txt")
        seeds = dict(line.split(" ") for line in golden.pop("seeds"))
        seed, identity_key = unhex(seeds["placement_seed"]), unhex(seeds["identity_key"])
        rings = [native.Ring(seed, dict.fromkeys(range(1, nodes + 1), 1)) for nodes in (1, 3, 9)]
        self.assertGreaterEqual(len(golden), 40)
        for name, lines in golden.items():
            key = dict(line.split(" ", 1) for line in lines)
            tag = unhex(key["tag"])
            if "raw" in key:
                self.assertEqual(native.raw_tag(unhex(key["raw"])), tag, name)
            block = native.key_block(tag, unhex(key.get("rest") or key["raw"]))
            placement = native.siphash13(seed, tag)
            identities = [native.identity(identity_key, algorithm, block) for algorithm in range(1, 7)]
            self.assertEqual(f"{placement:016x}", key["placement"], name)
            self.assertEqual(" ".join(f"{identity:016x}" for identity in identities), key["identity"], name)
            self.assertEqual(" ".join(str(ring.owner(placement)) for ring in rings), key["owner"], name)
            shards = (native.shard_of(placement, shards) for shards in (1, 2, 7))
            self.assertEqual(" ".join(map(str, shards)), key["shard"], name)


@unittest.skipUnless(NODE, "TALLYRING does not name the binary")
class RunningNode(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        ports = free_ports(len(DOORS))
        doors = {f"TALLYRING_{door}_ADDR": f"127.0.0.1:{port}" for door, port in zip(DOORS, ports)}
        cls.port = ports[0]
        cls.node = subprocess.Popen([NODE, "serve", "--shards", "2"], env=os.environ | doors)
        until = time.monotonic() + START_S_MAX
        while not answers(cls.port):
            if cls.node.poll() is not None or time.monotonic() > until:
                cls.node.kill()
                raise RuntimeError("the node does not start")
            time.sleep(0.05)

    @classmethod
    def tearDownClass(cls):
        cls.node.send_signal(signal.SIGTERM)
        code = cls.node.wait(timeout=START_S_MAX)
        if code != 0:
            raise AssertionError(f"the node ends with {code}")

    def client(self, shard: int = 0) -> native.Client:
        client = native.Client("127.0.0.1", self.port, shard=shard)
        self.addCleanup(client.__exit__)
        return client

    def test_a_client_is_welcome_and_learns_the_topology(self):
        client = self.client(shard=1)
        self.assertEqual(client.welcome["version"], 1)
        self.assertEqual((client.welcome["shard"], client.welcome["shards"]), (1, 2))
        self.assertIn(client.welcome["node"], client.topology.nodes)
        self.assertEqual(client.ping().kind, native.PONG)

    def test_a_limit_is_exact(self):
        client = self.client()
        hour = client.define("fixed_window", 3, period_us=3_600 * 1_000_000)
        key = native.key_block(b"exact", b"k")
        first = client.check(hour, key)
        self.assertEqual((first.kind, first.fields["allowed"]), (native.DECISION, True))
        rest = [client.check(hour, key).fields for _ in range(3)]
        self.assertEqual([decision["allowed"] for decision in rest], [True, True, False])
        self.assertEqual([decision["remaining"] for decision in rest], [1, 0, 0])
        self.assertEqual(rest[2]["retry_after_us"], rest[2]["reset_after_us"])

    def test_every_shard_serves_every_key(self):
        counts = []
        for shard in (0, 1):
            client = self.client(shard)
            bucket = client.define("token_bucket", 100, period_us=3_600 * 1_000_000)
            keys = [native.key_block(b"tenant_%d" % tenant, b"shared") for tenant in range(20)]
            counts.append([client.check(bucket, key).fields["remaining"] for key in keys])
        self.assertEqual(counts, [[99] * 20, [98] * 20])

    def test_many_requests_may_be_under_way(self):
        client = self.client()
        bucket = client.define("token_bucket", 50, period_us=3_600 * 1_000_000)
        key = native.key_block(b"pipelined", b"k")
        replies = client.ask_all([lambda request_id: native.check(request_id, bucket, key)] * 200)
        self.assertEqual(sum(reply.fields["allowed"] for reply in replies), 50)

    def test_a_take_and_its_refund(self):
        client = self.client()
        window = client.define("fixed_window", 10, period_us=3_600 * 1_000_000)
        key = native.key_block(b"taken", b"k")
        grant = client.take(window, key, 64, keep=4).fields
        self.assertEqual((grant["granted"], grant["remaining"]), (6, 4))
        self.assertEqual(client.refund(window, key, 2, grant["at_us"]).fields["remaining"], 6)

    def test_checks_that_are_made_together_are_charged_together_or_not_at_all(self):
        for shard in (0, 1):
            client = self.client(shard)
            minute = client.define("fixed_window", 2, period_us=3_600 * 1_000_000)
            day = client.define("token_bucket", 100, period_us=86_400 * 1_000_000)
            tag = b"together%d" % shard
            parts = [native.part(minute, native.key_block(tag, b"m")), native.part(day, native.key_block(tag, b"d"))]
            joint = [client.check_all(parts).fields for _ in range(3)]
            self.assertEqual([answer["allowed"] for answer in joint], [True, True, False])
            self.assertEqual([answer["checks"][1]["remaining"] for answer in joint], [99, 98, 98])
            self.assertEqual([check["allowed"] for check in joint[2]["checks"]], [False, True])
            self.assertEqual(joint[2]["retry_after_us"], joint[2]["checks"][0]["retry_after_us"])

    def test_an_estimate_is_corrected_once(self):
        client = self.client()
        window = client.define("fixed_window", 100, period_us=3_600 * 1_000_000)
        key = native.key_block(b"estimated", b"k")
        for _ in range(2):
            decision = client.reserve(window, key, b"id", MINUTE_US, cost=80).fields
            self.assertEqual((decision["allowed"], decision["remaining"]), (True, 20), "the second is the first again")
        settled = client.settle(key, b"id", 30).fields
        self.assertEqual((settled["settled"], settled["remaining"]), (True, 70))
        self.assertEqual(client.settle(key, b"id", 0).fields, {"settled": False})
        self.assertEqual(client.check(window, key, cost=0).fields["remaining"], 70)

    def test_slots_are_held_and_come_back(self):
        client = self.client()
        key = native.key_block(b"held", b"k")
        allowed = [client.acquire(key, holder, 2, MINUTE_US).fields["allowed"] for holder in (b"a", b"b", b"c", b"a")]
        self.assertEqual(allowed, [True, True, False, True])
        self.assertEqual(client.release(key, b"a").fields, {"released": True, "in_use": 1})
        self.assertEqual(client.release(key, b"a").fields, {"released": False, "in_use": 1})
        self.assertTrue(client.acquire(key, b"c", 2, 10_000).fields["allowed"])
        time.sleep(0.02)
        self.assertTrue(client.acquire(key, b"d", 2, MINUTE_US).fields["allowed"], "the time to live has ended")
        self.assertTrue(client.reset(key).fields["found"])
        self.assertEqual(client.release(key, b"b").fields, {"released": False, "in_use": 0})

    def test_a_cost_over_the_ceiling_never_fits(self):
        client = self.client()
        bucket = client.define("token_bucket", 5, period_us=MINUTE_US)
        decision = client.check(bucket, native.key_block(b"never", b"k"), cost=6).fields
        self.assertEqual((decision["allowed"], decision["retry_after_us"]), (False, native.WAIT_NEVER_US))

    def test_what_is_charged_by_force_is_said(self):
        client = self.client()
        window = client.define("fixed_window", 5, period_us=3_600 * 1_000_000)
        decision = client.check(window, native.key_block(b"forced", b"k"), cost=8, force=True).fields
        self.assertEqual((decision["allowed"], decision["charged"], decision["remaining"]), (True, 5, 0))

    def test_a_shaping_limit_says_how_long_to_hold(self):
        client = self.client()
        queue = client.define("leaky_bucket", 10, period_us=1_000_000)
        decisions = [client.check(queue, native.key_block(b"shaped", b"k"), cost=5).fields for _ in range(2)]
        self.assertEqual(decisions[0]["delay_us"], 0)
        self.assertTrue(0 < decisions[1]["delay_us"] <= 500_000)

    def test_nonsense_is_answered_with_its_field(self):
        client = self.client()
        bucket = client.define("token_bucket", 5, period_us=MINUTE_US)
        key = native.key_block(b"bad", b"k")
        asked = {
            "limit": lambda request_id: native.define(request_id, 9, "token_bucket", 0, MINUTE_US),
            "period_us": lambda request_id: native.define(request_id, 9, "token_bucket", 5, 0),
            "calendar": lambda request_id: native.define(request_id, 9, "token_bucket", 5, calendar="day"),
            "burst": lambda request_id: native.define(request_id, 9, "fixed_window", 5, MINUTE_US, burst=5),
            "algorithm": lambda request_id: native.define(request_id, 9, "concurrency", 5, MINUTE_US),
            "cost": lambda request_id: native.check(request_id, bucket, key, cost=10**12 + 1),
            "keep": lambda request_id: native.check(request_id, bucket, key, keep=10**12 + 1),
            "key": lambda request_id: native.check(request_id, bucket, b"\0\0"),
            "charged_at_us": lambda request_id: native.refund(request_id, bucket, key, 1, 2**53),
            "handle": lambda request_id: native.check(request_id, 77, key),
            "kind": lambda request_id: native.frame(0x7F, 0, 0, request_id),
            "ttl_us": lambda request_id: native.acquire(request_id, key, b"h", 1, 0),
            "holder": lambda request_id: native.release(request_id, key, b""),
            "id": lambda request_id: native.settle(request_id, key, b"x" * 129, 0),
            "actual": lambda request_id: native.settle(request_id, key, b"x", 10**12 + 1),
            "parts": lambda request_id: native.check_all(request_id, []),
            "checks[1].keep": lambda request_id: native.check_all(
                request_id, [native.part(bucket, key), native.part(bucket, key, keep=10**12 + 1)]
            ),
            "checks[0].handle": lambda request_id: native.check_all(request_id, [native.part(77, key)]),
        }
        for field, request in asked.items():
            reply = client.ask(request)
            self.assertEqual((reply.kind, reply.fields.get("field")), (native.INVALID, field), reply)
        self.assertTrue(client.check(bucket, key).fields["allowed"], "nothing of all that was charged")

    def test_keys_of_several_shards_are_not_decided_together(self):
        client = self.client()
        bucket = client.define("token_bucket", 5, period_us=MINUTE_US)
        keys = [native.key_block(b"tenant_%d" % tenant, b"k") for tenant in range(16)]
        reply = client.check_all([native.part(bucket, key) for key in keys])
        self.assertEqual((reply.kind, reply.fields.get("field")), (native.INVALID, "checks"))
        self.assertIn("cross_shard", reply.fields["reason"])
        self.assertEqual(client.check(bucket, keys[0]).fields["remaining"], 4, "nothing was charged")

    def test_one_key_under_two_limits_is_not_decided(self):
        client = self.client()
        limits = [client.define("token_bucket", limit, period_us=MINUTE_US) for limit in (5, 6)]
        reply = client.check_all([native.part(limit, KEY) for limit in limits])
        self.assertEqual((reply.kind, reply.fields.get("field")), (native.INVALID, "checks[1].limit"))

    def test_a_handle_may_be_defined_again(self):
        client = self.client()
        window = client.define("fixed_window", 5, period_us=3_600 * 1_000_000)
        client.ask(lambda request_id: native.define(request_id, window, "fixed_window", 2, 3_600 * 1_000_000))
        decision = client.check(window, native.key_block(b"again", b"k")).fields
        self.assertEqual(decision["remaining"], 1)

    def test_bytes_that_are_no_frames_end_the_connection(self):
        for nonsense in (b"GET / HTTP/1.1\r\n\r\n", b"\x0c\0\0\0\x03\0\0\0\0\0\0\0", b"\x01\0\0\0"):
            self.assertEqual(self.last_frame(nonsense).fields["code"], 3, nonsense)

    def test_another_version_is_told_which_one_is_spoken(self):
        goodbye = self.last_frame(native.hello(0, 0, 1, "", "", version=9))
        self.assertEqual(goodbye.fields["code"], 2)
        self.assertIn("1", goodbye.fields["reason"])

    def last_frame(self, sent: bytes) -> native.Reply:
        """What a node answers to these first bytes, before it closes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=START_S_MAX) as stranger:
            stranger.sendall(sent)
            answer = b""
            while arrived := stranger.recv(4_096):
                answer += arrived
        (kind, flags, _, request_id, body), length = native.split(answer)
        self.assertEqual((kind, length), (native.GOODBYE, len(answer)))
        return native.decode(kind, flags, request_id, body)


def answers(port: int) -> bool:
    """Whether somebody listens."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def free_ports(count: int) -> list[int]:
    """Ports that nobody uses just now."""
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [listener.getsockname()[1] for listener in listeners]
    for listener in listeners:
        listener.close()
    return ports


if __name__ == "__main__":
    unittest.main()
