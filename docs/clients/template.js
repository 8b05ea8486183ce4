// Client of the NSCMA memory server. Generated from its OpenAPI document by `make client`; edit docs/clients instead.

const JSON_TYPE = "application/json";
const LINES_TYPE = "application/x-ndjson";
const PROBLEM_TYPE = "application/problem+json";

/** An error that the server reported: a problem document (RFC 9457), or another response in its place. */
export class NscmaError extends Error {
  constructor(problem, retryAfter = undefined) {
    super(problem.detail || problem.title);
    this.name = "NscmaError";
    this.type = problem.type;
    this.title = problem.title;
    this.status = problem.status;
    this.detail = problem.detail ?? "";
    this.errors = problem.errors ?? [];
    this.retryAfter = retryAfter;
  }
}

/** Client of one server. Methods have the names and arguments of the server's operations. */
export class NscmaClient {
  #address;
  #headers;
  #fetch;

  constructor(address, { token, fetch = globalThis.fetch } = {}) {
    const { href } = new URL(address);
    this.#address = href.endsWith("/") ? href.slice(0, -1) : href;
    this.#headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    this.#fetch = (...request) => fetch(...request);
  }

  // generated: methods

  /** Send a request; throw NscmaError unless it succeeds with this media type. */
  async #send(verb, path, { params, body, lines, accepted = [] }, { signal } = {}, type = "") {
    const request = { method: verb, headers: { ...this.#headers }, signal };
    if (lines !== undefined) {
      request.headers["content-type"] = LINES_TYPE;
      request.body = bodyOf(lines);
      request.duplex = "half"; // what fetch asks for if a body is a stream
    } else if (body !== undefined) {
      request.headers["content-type"] = JSON_TYPE;
      request.body = JSON.stringify(body);
    }
    const response = await this.#fetch(this.#address + path + queryOf(params), request);
    const expected = response.ok || accepted.includes(response.status);
    if (!expected || (type && mediaType(response) !== type)) throw await errorOf(response);
    return response;
  }

  async #json(verb, path, parts, options) {
    const response = await this.#send(verb, path, parts, options, JSON_TYPE);
    return response.json();
  }

  async #text(verb, path, parts, options) {
    const response = await this.#send(verb, path, parts, options);
    return response.status === 204 ? undefined : response.text();
  }

  async *#lines(verb, path, parts, options) {
    const response = await this.#send(verb, path, parts, options, LINES_TYPE);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    try {
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        const lines = part.value.split("\n");
        lines[0] = rest + lines[0];
        rest = lines.pop();
        yield* lines;
      }
      if (rest) yield rest;
    } finally {
      await reader.cancel();
    }
  }

  async *#objects(verb, path, parts, options) {
    for await (const line of this.#lines(verb, path, parts, options)) {
      const value = JSON.parse(line);
      if (value.error) throw new NscmaError(value.error);
      yield value;
    }
  }
}

/** Return an id as a segment of a path. */
function segment(id) {
  if (typeof id !== "string" || ["", ".", ".."].includes(id)) {
    throw new TypeError(`${JSON.stringify(id)} is not an id; pass the id that the server returned`);
  }
  return encodeURIComponent(id);
}

/** Return parameters as a query; those that are null or undefined are left out. */
function queryOf(params = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null) query.append(name, one instanceof Date ? one.toISOString() : one);
    }
  }
  const text = query.toString();
  return text && `?${text}`;
}

/** Return the body of a request of JSON lines: as it is, or the lines of an array, or a stream of lines. */
function bodyOf(lines) {
  if (typeof lines === "string" || lines instanceof Blob || lines instanceof ReadableStream) return lines;
  if (Array.isArray(lines)) return lines.map(lineOf).join("");
  const iterator = lines[Symbol.asyncIterator]?.() ?? lines[Symbol.iterator]();
  const encoder = new TextEncoder();
  return new ReadableStream({
    async pull(controller) {
      const { value, done } = await iterator.next();
      if (done) controller.close();
      else controller.enqueue(encoder.encode(lineOf(value)));
    },
    async cancel(reason) {
      await iterator.return?.(reason);
    },
  });
}

function lineOf(value) {
  return `${typeof value === "string" ? value : JSON.stringify(value)}\n`;
}

function mediaType(response) {
  return (response.headers.get("content-type") ?? "").split(";")[0].trim();
}

/** Read the error of a response: its problem document, or what stands in its place, such as a page of a proxy. */
async function errorOf(response) {
  const seconds = Number(response.headers.get("retry-after") ?? undefined);
  const retryAfter = Number.isNaN(seconds) ? undefined : seconds;
  const text = await response.text();
  if (mediaType(response) === PROBLEM_TYPE) return new NscmaError(JSON.parse(text), retryAfter);
  const detail = response.ok
    ? `a response of type ${mediaType(response) || "(none)"}; pass the address of an NSCMA server`
    : text.slice(0, 1000);
  const { status, statusText: title } = response;
  return new NscmaError({ type: "about:blank", title, status, detail }, retryAfter);
}
