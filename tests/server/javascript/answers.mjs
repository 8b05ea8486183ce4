// Responses that a server seldom sends: run by test_client.py.
import assert from "node:assert/strict";
import { NscmaClient, NscmaError } from "nscma-client";

const LINES = "application/x-ndjson";

function client(body, type, init = {}) {
  const headers = { "content-type": type, ...init.headers };
  return new NscmaClient("http://127.0.0.1:9", { fetch: async () => new Response(body, { ...init, headers }) });
}

/** A body in pieces of so many bytes. */
function pieces(text, size, cancelled = () => {}) {
  const bytes = new TextEncoder().encode(text);
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.slice(at, (at += size)));
    },
    cancel: cancelled,
  });
}

async function all(lines) {
  const found = [];
  for await (const line of lines) found.push(line);
  return found;
}

async function error(promise) {
  const found = await promise.then(() => undefined, (reason) => reason);
  assert.ok(found instanceof NscmaError, found);
  return found;
}

// Lines, whatever the pieces in which they come.
for (const size of [1, 2, 3, 7, 100]) {
  const exported = await all(client(pieces('{"a":"é🙂"}\n{"b":1}\n', size), LINES).exportStore());
  assert.deepEqual(exported, ['{"a":"é🙂"}', '{"b":1}']);
  assert.deepEqual(await all(client(pieces("1\n2", size), LINES).export()), ["1", "2"]);
}

// A stream that is left is cancelled.
let left = false;
for await (const line of client(pieces("1\n".repeat(99_999), 9, () => (left = true)), LINES).export()) {
  if (line === "1") break;
}
assert.ok(left);

// An error after the first line, and a connection that breaks.
const problem = { type: "urn:nscma:EncodingError", title: "Unprocessable Content", status: 422, detail: "line 2: no" };
const good = { lines: 1, added: 1, known: 0, done: false };
const bad = { lines: 1, added: 1, known: 0, done: false, error: problem };
const stream = client(`${JSON.stringify(good)}\n${JSON.stringify(bad)}\n`, LINES).addMany(["x"]);
assert.deepEqual((await stream.next()).value, good);
const told = await error(stream.next());
assert.deepEqual([told.status, told.type, told.message], [422, problem.type, "line 2: no"]);
const broken = new ReadableStream({
  start: (controller) => controller.enqueue(new TextEncoder().encode("1\n2")),
  pull: (controller) => controller.error(new TypeError("terminated")),
});
await assert.rejects(all(client(broken, LINES).export()), { name: "TypeError", message: "terminated" });

// A server that is busy, one that is not ready, a proxy's page, and another server.
const busy = { type: "urn:nscma:OverloadedError", title: "Service Unavailable", status: 503 };
const type = "application/problem+json";
const late = await error(client(JSON.stringify(busy), type, { status: 503, headers: { "retry-after": "2" } }).ready());
assert.deepEqual([late.retryAfter, late.message, late.detail, late.errors], [2, "Service Unavailable", "", []]);
const unready = client('{"status":"unready"}', "application/json; charset=utf-8", { status: 503 });
assert.deepEqual(await unready.ready(), { status: "unready" });
assert.equal((await error(unready.live())).status, 503);
const page = await error(client("<h1>Bad gateway</h1>", "text/html", { status: 502, statusText: "Bad Gateway" }).stats());
assert.deepEqual([page.status, page.type, page.title], [502, "about:blank", "Bad Gateway"]);
assert.deepEqual([page.detail, page.retryAfter], ["<h1>Bad gateway</h1>", undefined]);
assert.match((await error(client("<h1>Hello</h1>", "text/html").stats())).message, /text\/html.*NSCMA server/);

// Ids that would be another path, and an address that is none.
for (const id of ["", ".", "..", undefined, 7]) {
  assert.throws(() => client("{}", "application/json").get(id), { name: "TypeError", message: /is not an id/ });
}
assert.throws(() => new NscmaClient("127.0.0.1"), { name: "TypeError" });
console.log("the end");
