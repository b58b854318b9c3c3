"""The keys of rules, built a second time from the layout in docs/rules.md, against the golden file.

    python3 tests/python/test_rule_keys.py    # prints the golden file as it should be
"""

import hashlib
import pathlib
import sys
import unittest

GOLDEN = pathlib.Path(__file__).parents[2] / "protocol" / "testdata" / "rule_keys.txt"
PART_BYTES_MAX = 256
KEY_BYTES_MAX = 512
TAG_PARTS = ["tenant", "client", "ip"]


def text(value):
    return len(value).to_bytes(2, "little") + value


def digest(marker, value):
    return bytes([marker]) + hashlib.sha256(value).digest()


def is_long(value):
    return len(value) > PART_BYTES_MAX


def rest_of(rule, parts):
    rest = b"\x01" + text(rule)
    for name, value in parts:
        rest += text(name.encode()) + (digest(1, value) if is_long(value) else b"\x00" + text(value))
    return digest(2, rest) if len(rest) > KEY_BYTES_MAX else rest


def tag_of(rule, parts):
    known = dict(reversed(parts))
    tag = next((known[name] for name in TAG_PARTS if name in known), rule)
    return digest(1, tag) if is_long(tag) else tag


def bytes_of(digits):
    """As in the golden files: `61*512` is a byte many times."""
    byte, _, times = digits.partition("*")
    return bytes.fromhex(byte) * int(times or 1)


def sections():
    """Each section of the golden file as its header, its rule and parts, and what it expects."""
    for block in GOLDEN.read_text().split("\n\n"):
        lines = [line for line in block.splitlines() if not line.startswith("#")]
        if not lines:
            continue
        fields = [line.partition(";")[0].split() for line in lines[1:]]
        rule = next(bytes_of(field[1]) for field in fields if field[0] == "rule")
        parts = [(field[1], bytes_of(field[2])) for field in fields if field[0] == "part"]
        expect = {field[0]: field[1] for field in fields if field[0] in ("tag", "rest")}
        yield lines, rule, parts, expect


class RuleKeys(unittest.TestCase):
    def test_the_golden_keys_are_what_the_layout_says(self):
        found = list(sections())
        self.assertGreaterEqual(len(found), 15)
        for lines, rule, parts, expect in found:
            with self.subTest(lines[0]):
                self.assertEqual(bytes.fromhex(expect["tag"]), tag_of(rule, parts))
                self.assertEqual(bytes.fromhex(expect["rest"]), rest_of(rule, parts))


def rewritten():
    """The golden file with its expectations computed anew."""
    blocks = [block for block in GOLDEN.read_text().split("\n\n") if block.startswith("#")]
    for lines, rule, parts, _ in sections():
        given = [line for line in lines if not line.startswith(("tag ", "rest "))]
        expect = [f"tag {tag_of(rule, parts).hex()}", f"rest {rest_of(rule, parts).hex()}"]
        blocks.append("\n".join(given + expect))
    return "\n\n".join(blocks) + "\n"


if __name__ == "__main__":
    sys.stdout.write(rewritten())
