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

  /**
   * Store a text, a message or a list of messages. They are on disk and searchable when this returns.
   *
   * `POST /v1/messages`; needs the right `write`
   */
  add(body = {}, options) {
    return this.#json("POST", "/v1/messages", { body }, options);
  }

  /**
   * Return the active messages in a scope in order of arrival; `limit=null` returns all.
   *
   * `GET /v1/messages`; needs the right `read`
   */
  getAll(params, options) {
    return this.#json("GET", "/v1/messages", { params }, options);
  }

  /**
   * Hide all messages in a scope like `delete`; return their number.
   *
   * `DELETE /v1/messages`; needs the right `write`
   */
  deleteAll(params, options) {
    return this.#json("DELETE", "/v1/messages", { params }, options);
  }

  /**
   * Return the active messages in a scope in order of arrival; `limit=null` returns all.
   *
   * `POST /v1/messages/query`; needs the right `read`
   */
  query(body = {}, options) {
    return this.#json("POST", "/v1/messages/query", { body }, options);
  }

  /**
   * Return a message, or null if the user has no active message with this id; `expired` includes expired messages. Over
   * HTTP, null is a 404.
   *
   * `GET /v1/messages/{memory_id}`; needs the right `read`
   */
  get(memoryId, params, options) {
    return this.#json("GET", `/v1/messages/${segment(memoryId)}`, { params }, options);
  }

  /**
   * Replace a message's text, some metadata, or its expiration date (null removes it); `history` keeps the old values.
   *
   * `PATCH /v1/messages/{memory_id}`; needs the right `write`
   */
  update(memoryId, body = {}, options) {
    return this.#json("PATCH", `/v1/messages/${segment(memoryId)}`, { body }, options);
  }

  /**
   * Hide a message from every read except `history`; `restore` undoes this. To delete it permanently, use `erase`.
   *
   * `DELETE /v1/messages/{memory_id}`; needs the right `write`
   */
  delete(memoryId, params, options) {
    return this.#json("DELETE", `/v1/messages/${segment(memoryId)}`, { params }, options);
  }

  /**
   * Restore a deleted message; return false if it wasn't deleted.
   *
   * `POST /v1/messages/{memory_id}/restore`; needs the right `write`
   */
  restore(memoryId, params, options) {
    return this.#json("POST", `/v1/messages/${segment(memoryId)}/restore`, { params }, options);
  }

  /**
   * Return a message's history, oldest first. Raises `NotFoundError` for an unknown id.
   *
   * `GET /v1/messages/{memory_id}/history`; needs the right `read`
   */
  history(memoryId, params, options) {
    return this.#json("GET", `/v1/messages/${segment(memoryId)}/history`, { params }, options);
  }

  /**
   * Return a message's structured record, or null if it has no record or the user has no active message with this id.
   * Over HTTP, null is a 404.
   *
   * `GET /v1/messages/{memory_id}/record`; needs the right `read`
   */
  record(memoryId, params, options) {
    return this.#json("GET", `/v1/messages/${segment(memoryId)}/record`, { params }, options);
  }

  /**
   * Record whether a message was helpful: helpful messages are forgotten later and rank higher, unhelpful ones the
   * reverse.
   *
   * `POST /v1/messages/{memory_id}/feedback`; needs the right `write`
   */
  feedback(memoryId, body = {}, options) {
    return this.#text("POST", `/v1/messages/${segment(memoryId)}/feedback`, { body }, options);
  }

  /**
   * Return all messages in a scope, including deleted ones, with the gate's decisions. `ids` selects messages by id,
   * and `deferred` by decision.
   *
   * `GET /v1/log`; needs the right `read`
   */
  log(params, options) {
    return this.#json("GET", "/v1/log", { params }, options);
  }

  /**
   * Return the structured records for a scope's messages (section [records]), in order of arrival.
   *
   * `GET /v1/records`; needs the right `read`
   */
  records(params, options) {
    return this.#json("GET", "/v1/records", { params }, options);
  }

  /**
   * Return the conversations in a scope, the most recent first.
   *
   * `GET /v1/sessions`; needs the right `read`
   */
  sessions(params, options) {
    return this.#json("GET", "/v1/sessions", { params }, options);
  }

  /**
   * Return short-term memory: the messages in a conversation's last turns, oldest first.
   *
   * `GET /v1/window`; needs the right `read`
   */
  window(params, options) {
    return this.#json("GET", "/v1/window", { params }, options);
  }

  /**
   * Return the stored units that match the query, best first.
   *
   * `POST /v1/search`; needs the right `read`
   */
  search(body = {}, options) {
    return this.#json("POST", "/v1/search", { body }, options);
  }

  /**
   * Answer from facts or else from one retrieval, with evidence; otherwise return an answer that says the memory
   * doesn't know.
   *
   * `POST /v1/ask`; needs the right `read`
   */
  ask(body = {}, options) {
    return this.#json("POST", "/v1/ask", { body }, options);
  }

  /**
   * Return facts, ordered by subject, relation and start time.
   *
   * `GET /v1/facts`; needs the right `read`
   */
  facts(params, options) {
    return this.#json("GET", "/v1/facts", { params }, options);
  }

  /**
   * Return current facts about the entities named in a text, and about the subjects of statements in messages (given by
   * id), in the messages' order.
   *
   * `POST /v1/facts/related`; needs the right `read`
   */
  relatedFacts(body = {}, options) {
    return this.#json("POST", "/v1/facts/related", { body }, options);
  }

  /**
   * Return all facts with a subject and relation, including past ones, oldest first, with the reason for each status.
   *
   * `GET /v1/timeline`; needs the right `read`
   */
  timeline(params, options) {
    return this.#json("GET", "/v1/timeline", { params }, options);
  }

  /**
   * Return what falls due from today to `days` days later, by day: what messages name a day for, or a repetition
   * ("choir every Tuesday").
   *
   * `GET /v1/due`; needs the right `read`
   */
  due(params, options) {
    return this.#json("GET", "/v1/due", { params }, options);
  }

  /**
   * Return the unresolved contradictions, each as a tuple of conflicting facts.
   *
   * `GET /v1/conflicts`; needs the right `read`
   */
  conflicts(params, options) {
    return this.#json("GET", "/v1/conflicts", { params }, options);
  }

  /**
   * Return the user's profile: dated lines with the ids of their facts, then the portrait and insights.
   *
   * `GET /v1/profile`; needs the right `read`
   */
  profile(params, options) {
    return this.#json("GET", "/v1/profile", { params }, options);
  }

  /**
   * Return the derived texts of this kind, each with the ids of its source messages and source texts.
   *
   * `GET /v1/derived/{kind}`; needs the right `read`
   */
  derived(kind, params, options) {
    return this.#json("GET", `/v1/derived/${segment(kind)}`, { params }, options);
  }

  /**
   * Return the hierarchy (CAM) over a user's messages to an agent, or to no agent: the chunks, then the clusters on
   * each level.
   *
   * `GET /v1/tree`; needs the right `read`
   */
  tree(params, options) {
    return this.#json("GET", "/v1/tree", { params }, options);
  }

  /**
   * Return the curator's decisions, newest first.
   *
   * `GET /v1/decisions`; needs the right `read`
   */
  decisions(params, options) {
    return this.#json("GET", "/v1/decisions", { params }, options);
  }

  /**
   * Undo one of the curator's decisions. Undoing decisions in reverse order restores the earlier memory exactly.
   *
   * `POST /v1/decisions/{decision_id}/undo`; needs the right `write`
   */
  undo(decisionId, params, options) {
    return this.#json("POST", `/v1/decisions/${segment(decisionId)}/undo`, { params }, options);
  }

  /**
   * Accept a proposal (PROPOSE in `decisions`) that two names mean the same entity; `undo` separates them again.
   *
   * `POST /v1/decisions/{proposal_id}/merge`; needs the right `write`
   */
  merge(proposalId, params, options) {
    return this.#json("POST", `/v1/decisions/${segment(proposalId)}/merge`, { params }, options);
  }

  /**
   * Process deferred messages, resolve disputes, archive forgotten memories, promote recalled ones, and update
   * summaries and the profile.
   *
   * `POST /v1/sleep`; needs the right `write`
   */
  sleep(body = {}, options) {
    return this.#json("POST", "/v1/sleep", { body }, options);
  }

  /**
   * Repeat the gate's decisions on all logged messages with other settings (`gate` overrides keys in the [gate]
   * section).
   *
   * `POST /v1/replay`; needs the right `read`
   */
  replay(body = {}, options) {
    return this.#json("POST", "/v1/replay", { body }, options);
  }

  /**
   * Queue processed messages so that the next `flush` extracts facts from them again; return their number.
   *
   * `POST /v1/reextract`; needs the right `write`
   */
  reextract(body = {}, options) {
    return this.#json("POST", "/v1/reextract", { body }, options);
  }

  /**
   * Delete a hierarchy and queue its messages so that the next `flush` builds a new one; return their number.
   *
   * `POST /v1/rebuild`; needs the right `write`
   */
  rebuild(body = {}, options) {
    return this.#json("POST", "/v1/rebuild", { body }, options);
  }

  /**
   * Return counts for a user or the whole store, including failed jobs and the seconds this process spent on each
   * stage.
   *
   * `GET /v1/stats`; needs the right `read`
   */
  stats(params, options) {
    return this.#json("GET", "/v1/stats", { params }, options);
  }

  /**
   * Return the SHA-256 of the logical state, which is equal for two stores that were given the same input.
   *
   * `GET /v1/digest`; needs the right `read`
   */
  digest(params, options) {
    return this.#json("GET", "/v1/digest", { params }, options);
  }

  /**
   * Permanently delete a user, a message or a skill, and check the files for remains.
   *
   * `POST /v1/erase`; needs the right `erase`
   */
  erase(body = {}, options) {
    return this.#json("POST", "/v1/erase", { body }, options);
  }

  /**
   * Store a skill (a procedure); `trigger` describes when it applies. A skill with the same name is replaced.
   *
   * `POST /v1/skills`; needs the right `write`
   */
  addSkill(body = {}, options) {
    return this.#json("POST", "/v1/skills", { body }, options);
  }

  /**
   * Return the skills in the order in which they were added; `archived=true` includes archived skills.
   *
   * `GET /v1/skills`; needs the right `read`
   */
  skills(params, options) {
    return this.#json("GET", "/v1/skills", { params }, options);
  }

  /**
   * Return the skills with the triggers that best match the situation, best first.
   *
   * `POST /v1/skills/find`; needs the right `read`
   */
  findSkills(body = {}, options) {
    return this.#json("POST", "/v1/skills/find", { body }, options);
  }

  /**
   * Record the outcome of using a skill; among equal matches, the more successful skill ranks first.
   *
   * `POST /v1/skills/{skill_id}/outcome`; needs the right `write`
   */
  skillOutcome(skillId, body = {}, options) {
    return this.#json("POST", `/v1/skills/${segment(skillId)}/outcome`, { body }, options);
  }

  /**
   * Hide a skill from every search; `restore_skill` undoes this, `erase` deletes it permanently.
   *
   * `POST /v1/skills/{skill_id}/archive`; needs the right `write`
   */
  archiveSkill(skillId, params, options) {
    return this.#json("POST", `/v1/skills/${segment(skillId)}/archive`, { params }, options);
  }

  /**
   * Restore an archived skill.
   *
   * `POST /v1/skills/{skill_id}/restore`; needs the right `write`
   */
  restoreSkill(skillId, params, options) {
    return this.#json("POST", `/v1/skills/${segment(skillId)}/restore`, { params }, options);
  }

  /**
   * Return counts for a user or the whole store, including failed jobs and the seconds this process spent on each
   * stage.
   *
   * `GET /v1/store/stats`; needs the right `read`
   */
  statsOfStore(params, options) {
    return this.#json("GET", "/v1/store/stats", { params }, options);
  }

  /**
   * Return the SHA-256 of the logical state, which is equal for two stores that were given the same input.
   *
   * `GET /v1/store/digest`; needs the right `read`
   */
  digestOfStore(params, options) {
    return this.#json("GET", "/v1/store/digest", { params }, options);
  }

  /**
   * Return the store's problems, one sentence each; empty if every index matches its rows.
   *
   * `GET /v1/store/verify`; needs the right `read`
   */
  verify(options) {
    return this.#json("GET", "/v1/store/verify", {}, options);
  }

  /**
   * Process deferred messages, resolve disputes, archive forgotten memories, promote recalled ones, and update
   * summaries and the profile.
   *
   * `POST /v1/store/sleep`; needs the right `write`
   */
  sleepAll(body = {}, options) {
    return this.#json("POST", "/v1/store/sleep", { body }, options);
  }

  /**
   * Run all of the store's background work; return the number of jobs run. `stats` shows failures.
   *
   * `POST /v1/store/flush`; needs the right `write`
   */
  flush(options) {
    return this.#json("POST", "/v1/store/flush", {}, options);
  }

  /**
   * Queue failed jobs again; return their number.
   *
   * `POST /v1/store/retry`; needs the right `write`
   */
  retryFailed(options) {
    return this.#json("POST", "/v1/store/retry", {}, options);
  }

  /**
   * Recompute all vectors with the configured embedder; return their number.
   *
   * `POST /v1/store/reembed`; needs the right `write`
   */
  reembed(options) {
    return this.#json("POST", "/v1/store/reembed", {}, options);
  }

  /**
   * Erase every user of the store. This can't be undone.
   *
   * `POST /v1/store/reset`; needs the right `erase`
   */
  reset(options) {
    return this.#text("POST", "/v1/store/reset", {}, options);
  }

  /**
   * Return the relations of facts, as in the relation file.
   *
   * `GET /v1/relations`; needs the right `read`
   */
  relations(options) {
    return this.#json("GET", "/v1/relations", {}, options);
  }

  /**
   * Store a stream of messages, one per line. Each line of the response reports a batch that is on disk.
   *
   * The last line has `done` set to true, or an `error`. After an error, the batches reported before it are stored and
   * the rest isn't.
   *
   * `POST /v1/messages/stream`; needs the right `write`
   *
   * The request is sent when the first line is asked for; an `error` in a line is thrown.
   */
  addMany(lines, params, options) {
    return this.#objects("POST", "/v1/messages/stream", { lines, params }, options);
  }

  /**
   * Return all data of a user as JSON lines.
   *
   * `GET /v1/export`; needs the right `read`
   *
   * The request is sent when the first line is asked for.
   */
  export(params, options) {
    return this.#lines("GET", "/v1/export", { params }, options);
  }

  /**
   * Return the whole store as JSON lines.
   *
   * `GET /v1/store/export`; needs the right `read`
   *
   * The request is sent when the first line is asked for.
   */
  exportStore(options) {
    return this.#lines("GET", "/v1/store/export", {}, options);
  }

  /**
   * Import an export, all of it or nothing; return the number of rows.
   *
   * `POST /v1/store/import`; needs the right `write`
   */
  import(lines, options) {
    return this.#json("POST", "/v1/store/import", { lines }, options);
  }

  /**
   * Report that the process is running.
   *
   * `GET /health/live`; needs no token
   */
  live(options) {
    return this.#json("GET", "/health/live", {}, options);
  }

  /**
   * Check that the store can be read; respond with 503 if it can't, or if no thread is free.
   *
   * `GET /health/ready`; needs no token
   */
  ready(options) {
    return this.#json("GET", "/health/ready", { accepted: [503] }, options);
  }

  /**
   * Return the metrics in Prometheus format.
   *
   * `GET /metrics`; needs the right `read`
   */
  metrics(options) {
    return this.#text("GET", "/metrics", {}, options);
  }

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
