// Calls of all methods with a `fetch` that keeps what it gets: run by test_client.py, which compares.
import { NscmaClient } from "nscma-client";

const sent = [];
let next;
async function fetch(url, { method, headers, body = null }) {
  sent.push({ url, method, headers, body });
  return new Response(next.status === 204 ? null : "{}", {
    status: next.status,
    headers: { "content-type": next.answers },
  });
}

const client = new NscmaClient("http://127.0.0.1:9/base", { token: "secret", fetch });
let given = "";
for await (const part of process.stdin) given += part;
for (next of JSON.parse(given)) {
  const result = client[next.name](...next.arguments);
  if (next.answers.endsWith("ndjson")) await result.next();
  else await result;
}
console.log(JSON.stringify(sent));
