// A conversation with a server through the client: run by test_client.py.
import assert from "node:assert/strict";
import { NscmaClient, NscmaError } from "nscma-client";

const { ADDRESS, ANA, READER, STORE } = process.env;
const ana = new NscmaClient(ADDRESS, { token: ANA });
const store = new NscmaClient(`${ADDRESS}/`, { token: STORE });

async function refused(promise, status, name) {
  await assert.rejects(promise, (error) => {
    assert.ok(error instanceof NscmaError && error instanceof Error, error);
    assert.deepEqual([error.status, error.type], [status, `urn:nscma:${name}`]);
    assert.ok(error.detail && error.message === error.detail && error.title, error);
    return true;
  });
}

async function all(lines) {
  const found = [];
  for await (const line of lines) found.push(line);
  return found;
}

// Messages, facts, answers.
assert.deepEqual([await ana.live(), await ana.ready()], [{ status: "ok" }, { status: "ok" }]);
const { results } = await ana.add({
  messages: [
    { role: "user", content: "I live in Porto. {Ana|lives_in|Porto}", timestamp: new Date("2026-01-02T03:04:05Z") },
    "My cat is called Miso.",
  ],
  run_id: "monday",
});
assert.deepEqual(results.map((one) => one.event), ["ADD", "ADD"]);
const [first, second] = results.map((one) => one.id);
assert.ok((await store.flush()).count > 0);
assert.equal((await ana.get(first)).occurred_at, "2026-01-02T03:04:05Z");
assert.equal((await ana.search({ query: "Who is Miso?", top_k: 1 }))[0].id, second);
const [fact] = await ana.facts({ subject: "Ana", ids: undefined, as_of: new Date("2026-02-01") });
assert.deepEqual([fact.relation, fact.object, fact.episode_ids], ["lives_in", "Porto", [first]]);
assert.deepEqual(await ana.facts({ as_of: new Date("2025-02-01") }), []);
assert.equal((await ana.timeline({ subject: "Ana", relation: "lives_in" })).length, 1);
const answer = await ana.ask({ question: "Where does Ana live?" });
assert.ok(!answer.abstained && answer.text.includes("Porto"), answer.text);
await ana.ask({ question: "And before?", follows: answer.query });
assert.equal((await ana.log({ ids: [first, second] })).length, 2);
assert.equal((await ana.query()).length, 2);
assert.ok((await store.metrics()).includes("nscma_"));

// Deletion.
assert.deepEqual(await ana.delete(second), { changed: true });
await refused(ana.get(second), 404, "NotFoundError");
assert.deepEqual(await ana.restore(second), { changed: true });
assert.equal(await ana.feedback(second, { helpful: true }), undefined);
assert.equal((await ana.erase({ memory_id: second })).item_id, second);
assert.deepEqual(await ana.deleteAll({ run_id: "tuesday" }), { count: 0 });

// Errors.
await refused(new NscmaClient(ADDRESS, { token: "wrong" }).stats(), 401, "TokenError");
await refused(new NscmaClient(ADDRESS).stats(), 401, "TokenError");
await refused(ana.stats({ user_id: "ben" }), 403, "ForbiddenError");
await refused(new NscmaClient(ADDRESS, { token: READER }).add({ messages: "x" }), 403, "ForbiddenError");
await refused(ana.history("no such id"), 404, "NotFoundError");
await refused(ana.search({ query: "x", top_k: 0 }), 422, "InvalidInputError");
await refused(ana.search(), 422, "InvalidInputError");
await refused(all(ana.addMany([])), 422, "EmptyTextError");
await refused(all(store.export({ user_id: "nobody" })), 404, "NotFoundError");
const unfit = await ana.search({ nonsense: 1 }).catch((error) => error);
assert.ok(unfit.errors.some((one) => one.at === "body.nonsense"), unfit.errors);
await assert.rejects(ana.stats({}, { signal: AbortSignal.abort() }), { name: "AbortError" });

// Streams: of an array, of a generator, and of text; a retry adds nothing.
const lines = [1, 2, 3].map((number) => ({ role: "user", content: `Line ${number}.` }));
async function* slowly() {
  yield lines[0];
  await new Promise((resolve) => setTimeout(resolve, 20));
  yield JSON.stringify(lines[1]);
  yield lines[2];
}
const options = { ids: true, idempotency_key: "k" };
const told = await all(ana.addMany(slowly(), options));
assert.deepEqual(told.at(-1), { lines: 3, added: 3, known: 0, done: true });
assert.equal(told[0].ids.length, 3);
assert.deepEqual((await all(ana.addMany(lines, options))).at(-1), { lines: 3, added: 0, known: 3, done: true });
const text = lines.map((line) => JSON.stringify(line)).join("\n");
for (const body of [text, new Blob([text]), new Blob([text]).stream(), new Set(lines)]) {
  assert.equal((await all(ana.addMany(body, options))).at(-1).known, 3);
}

// An export, left in the middle and whole, and back again.
for await (const line of ana.export()) {
  assert.equal(typeof JSON.parse(line), "object");
  break;
}
assert.ok((await all(ana.export())).some((line) => line.includes("I live in Porto.")));
const { digest } = await store.digestOfStore();
const exported = await all(store.exportStore());
assert.equal(await store.reset(), undefined);
assert.deepEqual(await ana.getAll(), []);
assert.ok((await store.import(exported)).count > 0);
assert.equal((await store.digestOfStore()).digest, digest);
console.log("the end");
