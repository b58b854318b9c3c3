// node-redis and ioredis against a node: clients.mjs PORT TOKEN CA, where the token, and the file of who
// issued the node's certificate, may be empty.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { Redis } from "ioredis";
import { createClient } from "redis";

const port = Number(process.argv[2]);
const token = process.argv[3] || undefined;
const ca = process.argv[4] ? readFileSync(process.argv[4]) : undefined;
const how = (token ? ", with a token" : "") + (ca ? ", over TLS" : "");
const fail = (error) => {
  console.error(error);
  process.exit(1);
};

for (const RESP of [2, 3]) {
  const socket = ca ? { host: "127.0.0.1", port, tls: true, ca } : { host: "127.0.0.1", port };
  const client = createClient({ socket, password: token, RESP, name: "gw" });
  client.on("error", fail);
  await client.connect();
  const key = `node${RESP}`;
  assert.equal(await client.ping(), "PONG");
  assert.deepEqual(await client.sendCommand(["CL.THROTTLE", key, "0", "1", "60"]), [0, 1, 0, -1, 60]);
  assert.equal((await client.sendCommand(["CL.THROTTLE", key, "0", "1", "60"]))[0], 1);
  const check = (n) => client.sendCommand(["TR.CHECK", `${key}-${n % 10}`, "fixed_window", "1000", "CAL.MONTH"]);
  const replies = await Promise.all(Array.from({ length: 100 }, (_, n) => check(n)));
  assert.ok(replies.every((reply) => reply[0] === 1));
  await assert.rejects(client.sendCommand(["TR.CHECK", key, "gcra", "0", "1"]), /TR\.CHECK: limit: '0'/);
  await client.close();
}
console.log(`node-redis: fine${how}`);

const tls = ca && { ca };
const redis = new Redis({ port, host: "127.0.0.1", password: token, connectionName: "gw", maxRetriesPerRequest: 0, tls });
redis.on("error", fail);
assert.equal(await redis.ping(), "PONG");
assert.deepEqual(await redis.call("CL.THROTTLE", "io", "0", "1", "60"), [0, 1, 0, -1, 60]);
const pipeline = redis.pipeline();
for (let n = 0; n < 100; n += 1) {
  pipeline.call("TR.CHECK", `io-${n % 10}`, "fixed_window", "1000", "CAL.MONTH");
}
const replies = await pipeline.exec();
assert.ok(replies.every(([error, reply]) => error === null && reply[0] === 1));
assert.equal(await redis.quit(), "OK");
console.log(`ioredis: fine${how}`);
