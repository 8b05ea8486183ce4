// What the client's types must accept, and, after @ts-expect-error, refuse: compiled by test_client.py.
import { NscmaClient, NscmaError, type Fact, type HitOut } from "nscma-client";

export async function use(): Promise<void> {
  const client = new NscmaClient("http://127.0.0.1:8765", { token: "t", fetch: globalThis.fetch });
  const { results } = await client.add({
    messages: [{ role: "user", content: "I live in Porto.", mood: "glad" }, "A text."],
    timestamp: new Date(),
    metadata: { chat: 7 },
  });
  const id: string = results[0].id;
  const hits: HitOut[] = await client.search({ query: "Porto", kinds: ["chunk", "summary"] }, { signal: new AbortController().signal });
  const answer = await client.ask({ question: hits[0].text });
  await client.ask({ question: "And before?", follows: answer.query });
  const facts: Fact[] = await client.facts({ as_of: 1_700_000_000, ids: [id] });
  const ended: string | null = facts[0].valid_to;
  await client.update(id, { expiration_date: null });
  await client.query({ limit: null });
  await client.sleep();
  await client.derived("portrait", { agent_id: "vet" });
  const nothing: void = await client.feedback(id, { helpful: true });
  for await (const line of client.addMany([{ role: "user", content: "x" }], { ids: true })) {
    const count: number = line.lines;
    if (line.ids && line.done) console.log(count, line.ids.length, nothing, ended);
  }
  const lines: AsyncGenerator<string> = client.exportStore();
  await client.import(lines);
  try {
    await client.get(id);
  } catch (error) {
    if (error instanceof NscmaError && error.status === 404) console.log(error.type, error.detail, error.retryAfter);
  }

  // @ts-expect-error: a field is missing
  await client.search({});
  // @ts-expect-error: an unknown field
  await client.search({ query: "x", topk: 3 });
  // @ts-expect-error: an unknown kind
  await client.search({ query: "x", kinds: ["chunks"] });
  // @ts-expect-error: no id
  await client.get();
  // @ts-expect-error: required parameters
  await client.timeline({ subject: "Ana" });
  // @ts-expect-error: a query cannot say null
  await client.facts({ subject: null });
  // @ts-expect-error: a fact has no such field
  console.log(facts[0].value);
  // @ts-expect-error: a token is a text
  new NscmaClient("http://127.0.0.1:8765", { token: 7 });
}
