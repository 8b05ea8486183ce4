// Types of the NSCMA client. Generated from the server's OpenAPI document by `make client`; edit docs/clients instead.

/** Settings of a client. */
export interface ClientOptions {
  /** A token, made with `nscma token add`; may be omitted if the server has no tokens. */
  token?: string;
  /** A function to use instead of the global `fetch`. */
  fetch?: typeof globalThis.fetch;
}

/** Settings of one request. */
export interface RequestOptions {
  /** Aborts the request, also while its response is read. */
  signal?: AbortSignal;
}

/** A point in time: ISO 8601, a `Date`, or seconds (not milliseconds) since 1970. */
export type Time = string | Date | number;

/**
 * JSON lines: as text or bytes, or one by one, each an object or its JSON text. An iterable other than an array is
 * sent as a stream, which browsers refuse over HTTP/1.1: pass them an array.
 */
export type Lines =
  | string
  | Blob
  | ReadableStream<Uint8Array>
  | Iterable<string | object>
  | AsyncIterable<string | object>;

/** An error that the server reported: a problem document (RFC 9457), or another response in its place. */
export declare class NscmaError extends Error {
  constructor(problem: Problem, retryAfter?: number);
  /** `urn:nscma:` followed by the error's name, or `about:blank` if the status is sufficient. */
  readonly type: string;
  readonly title: string;
  readonly status: number;
  /** What was wrong, and what to do. */
  readonly detail: string;
  /** The first twenty invalid parts of the request. */
  readonly errors: { [key: string]: unknown }[];
  /** Seconds to wait before the next try, if the server named them. */
  readonly retryAfter?: number;
}

/** Client of one server. Methods have the names and arguments of the server's operations. */
export declare class NscmaClient {
  /** Connect to the server at this address, such as `http://127.0.0.1:8765`. */
  constructor(address: string | URL, options?: ClientOptions);

  /**
   * Store a text, a message or a list of messages. They are on disk and searchable when this returns.
   *
   * `POST /v1/messages`; needs the right `write`
   */
  add(body: AddBody, options?: RequestOptions): Promise<AddedOut>;

  /**
   * Return the active messages in a scope in order of arrival; `limit=null` returns all.
   *
   * `GET /v1/messages`; needs the right `read`
   */
  getAll(params?: GetAllParams, options?: RequestOptions): Promise<Episode[]>;

  /**
   * Hide all messages in a scope like `delete`; return their number.
   *
   * `DELETE /v1/messages`; needs the right `write`
   */
  deleteAll(params?: RunParams, options?: RequestOptions): Promise<CountOut>;

  /**
   * Return the active messages in a scope in order of arrival; `limit=null` returns all.
   *
   * `POST /v1/messages/query`; needs the right `read`
   */
  query(body?: QueryBody, options?: RequestOptions): Promise<Episode[]>;

  /**
   * Return a message, or null if the user has no active message with this id; `expired` includes expired messages. Over
   * HTTP, null is a 404.
   *
   * `GET /v1/messages/{memory_id}`; needs the right `read`
   */
  get(memoryId: string, params?: GetParams, options?: RequestOptions): Promise<Episode>;

  /**
   * Replace a message's text, some metadata, or its expiration date (null removes it); `history` keeps the old values.
   *
   * `PATCH /v1/messages/{memory_id}`; needs the right `write`
   */
  update(memoryId: string, body?: UpdateBody, options?: RequestOptions): Promise<Episode>;

  /**
   * Hide a message from every read except `history`; `restore` undoes this. To delete it permanently, use `erase`.
   *
   * `DELETE /v1/messages/{memory_id}`; needs the right `write`
   */
  delete(memoryId: string, params?: UserParams, options?: RequestOptions): Promise<ChangedOut>;

  /**
   * Restore a deleted message; return false if it wasn't deleted.
   *
   * `POST /v1/messages/{memory_id}/restore`; needs the right `write`
   */
  restore(memoryId: string, params?: UserParams, options?: RequestOptions): Promise<ChangedOut>;

  /**
   * Return a message's history, oldest first. Raises `NotFoundError` for an unknown id.
   *
   * `GET /v1/messages/{memory_id}/history`; needs the right `read`
   */
  history(memoryId: string, params?: UserParams, options?: RequestOptions): Promise<HistoryEvent[]>;

  /**
   * Return a message's structured record, or null if it has no record or the user has no active message with this id.
   * Over HTTP, null is a 404.
   *
   * `GET /v1/messages/{memory_id}/record`; needs the right `read`
   */
  record(memoryId: string, params?: UserParams, options?: RequestOptions): Promise<MemoryRecord>;

  /**
   * Record whether a message was helpful: helpful messages are forgotten later and rank higher, unhelpful ones the
   * reverse.
   *
   * `POST /v1/messages/{memory_id}/feedback`; needs the right `write`
   */
  feedback(memoryId: string, body: FeedbackBody, options?: RequestOptions): Promise<void>;

  /**
   * Return all messages in a scope, including deleted ones, with the gate's decisions. `ids` selects messages by id,
   * and `deferred` by decision.
   *
   * `GET /v1/log`; needs the right `read`
   */
  log(params?: LogParams, options?: RequestOptions): Promise<Episode[]>;

  /**
   * Return the structured records for a scope's messages (section [records]), in order of arrival.
   *
   * `GET /v1/records`; needs the right `read`
   */
  records(params?: RecordsParams, options?: RequestOptions): Promise<MemoryRecord[]>;

  /**
   * Return the conversations in a scope, the most recent first.
   *
   * `GET /v1/sessions`; needs the right `read`
   */
  sessions(params?: SessionsParams, options?: RequestOptions): Promise<Session[]>;

  /**
   * Return short-term memory: the messages in a conversation's last turns, oldest first.
   *
   * `GET /v1/window`; needs the right `read`
   */
  window(params?: WindowParams, options?: RequestOptions): Promise<Episode[]>;

  /**
   * Return the stored units that match the query, best first.
   *
   * `POST /v1/search`; needs the right `read`
   */
  search(body: SearchBody, options?: RequestOptions): Promise<HitOut[]>;

  /**
   * Answer from facts or else from one retrieval, with evidence; otherwise return an answer that says the memory
   * doesn't know.
   *
   * `POST /v1/ask`; needs the right `read`
   */
  ask(body: AskBody, options?: RequestOptions): Promise<AnswerOut>;

  /**
   * Return facts, ordered by subject, relation and start time.
   *
   * `GET /v1/facts`; needs the right `read`
   */
  facts(params?: FactsParams, options?: RequestOptions): Promise<Fact[]>;

  /**
   * Return current facts about the entities named in a text, and about the subjects of statements in messages (given by
   * id), in the messages' order.
   *
   * `POST /v1/facts/related`; needs the right `read`
   */
  relatedFacts(body: RelatedFactsBody, options?: RequestOptions): Promise<Fact[]>;

  /**
   * Return all facts with a subject and relation, including past ones, oldest first, with the reason for each status.
   *
   * `GET /v1/timeline`; needs the right `read`
   */
  timeline(params: TimelineParams, options?: RequestOptions): Promise<Fact[]>;

  /**
   * Return what falls due from today to `days` days later, by day: what messages name a day for, or a repetition
   * ("choir every Tuesday").
   *
   * `GET /v1/due`; needs the right `read`
   */
  due(params?: DueParams, options?: RequestOptions): Promise<Due[]>;

  /**
   * Return the unresolved contradictions, each as a tuple of conflicting facts.
   *
   * `GET /v1/conflicts`; needs the right `read`
   */
  conflicts(params?: AgentParams, options?: RequestOptions): Promise<Fact[][]>;

  /**
   * Return the user's profile: dated lines with the ids of their facts, then the portrait and insights.
   *
   * `GET /v1/profile`; needs the right `read`
   */
  profile(params?: ProfileParams, options?: RequestOptions): Promise<ProfileLine[]>;

  /**
   * Return the derived texts of this kind, each with the ids of its source messages and source texts.
   *
   * `GET /v1/derived/{kind}`; needs the right `read`
   */
  derived(kind: "insight" | "daily_summary" | "global_summary" | "daily_insight" | "portrait" | "reflection" | "qa_pair"
    | "document_summary" | "skill", params?: AgentParams, options?: RequestOptions): Promise<DerivedText[]>;

  /**
   * Return the hierarchy (CAM) over a user's messages to an agent, or to no agent: the chunks, then the clusters on
   * each level.
   *
   * `GET /v1/tree`; needs the right `read`
   */
  tree(params?: AgentParams, options?: RequestOptions): Promise<Node[]>;

  /**
   * Return the curator's decisions, newest first.
   *
   * `GET /v1/decisions`; needs the right `read`
   */
  decisions(params?: DecisionsParams, options?: RequestOptions): Promise<CuratorDecision[]>;

  /**
   * Undo one of the curator's decisions. Undoing decisions in reverse order restores the earlier memory exactly.
   *
   * `POST /v1/decisions/{decision_id}/undo`; needs the right `write`
   */
  undo(decisionId: string, params?: UserParams, options?: RequestOptions): Promise<CuratorDecision>;

  /**
   * Accept a proposal (PROPOSE in `decisions`) that two names mean the same entity; `undo` separates them again.
   *
   * `POST /v1/decisions/{proposal_id}/merge`; needs the right `write`
   */
  merge(proposalId: string, params?: UserParams, options?: RequestOptions): Promise<CuratorDecision>;

  /**
   * Process deferred messages, resolve disputes, archive forgotten memories, promote recalled ones, and update
   * summaries and the profile.
   *
   * `POST /v1/sleep`; needs the right `write`
   */
  sleep(body?: SleepBody, options?: RequestOptions): Promise<SleepReport>;

  /**
   * Repeat the gate's decisions on all logged messages with other settings (`gate` overrides keys in the [gate]
   * section).
   *
   * `POST /v1/replay`; needs the right `read`
   */
  replay(body?: ReplayBody, options?: RequestOptions): Promise<ReplayOut>;

  /**
   * Queue processed messages so that the next `flush` extracts facts from them again; return their number.
   *
   * `POST /v1/reextract`; needs the right `write`
   */
  reextract(body?: ReextractBody, options?: RequestOptions): Promise<CountOut>;

  /**
   * Delete a hierarchy and queue its messages so that the next `flush` builds a new one; return their number.
   *
   * `POST /v1/rebuild`; needs the right `write`
   */
  rebuild(body?: RebuildBody, options?: RequestOptions): Promise<CountOut>;

  /**
   * Return counts for a user or the whole store, including failed jobs and the seconds this process spent on each
   * stage.
   *
   * `GET /v1/stats`; needs the right `read`
   */
  stats(params?: UserParams, options?: RequestOptions): Promise<UserStats>;

  /**
   * Return the SHA-256 of the logical state, which is equal for two stores that were given the same input.
   *
   * `GET /v1/digest`; needs the right `read`
   */
  digest(params?: UserParams, options?: RequestOptions): Promise<DigestOut>;

  /**
   * Permanently delete a user, a message or a skill, and check the files for remains.
   *
   * `POST /v1/erase`; needs the right `erase`
   */
  erase(body?: EraseBody, options?: RequestOptions): Promise<EraseReceipt>;

  /**
   * Store a skill (a procedure); `trigger` describes when it applies. A skill with the same name is replaced.
   *
   * `POST /v1/skills`; needs the right `write`
   */
  addSkill(body: AddSkillBody, options?: RequestOptions): Promise<Skill>;

  /**
   * Return the skills in the order in which they were added; `archived=true` includes archived skills.
   *
   * `GET /v1/skills`; needs the right `read`
   */
  skills(params?: SkillsParams, options?: RequestOptions): Promise<Skill[]>;

  /**
   * Return the skills with the triggers that best match the situation, best first.
   *
   * `POST /v1/skills/find`; needs the right `read`
   */
  findSkills(body: FindSkillsBody, options?: RequestOptions): Promise<FoundSkill[]>;

  /**
   * Record the outcome of using a skill; among equal matches, the more successful skill ranks first.
   *
   * `POST /v1/skills/{skill_id}/outcome`; needs the right `write`
   */
  skillOutcome(skillId: string, body: SkillOutcomeBody, options?: RequestOptions): Promise<Skill>;

  /**
   * Hide a skill from every search; `restore_skill` undoes this, `erase` deletes it permanently.
   *
   * `POST /v1/skills/{skill_id}/archive`; needs the right `write`
   */
  archiveSkill(skillId: string, params?: UserParams, options?: RequestOptions): Promise<Skill>;

  /**
   * Restore an archived skill.
   *
   * `POST /v1/skills/{skill_id}/restore`; needs the right `write`
   */
  restoreSkill(skillId: string, params?: UserParams, options?: RequestOptions): Promise<Skill>;

  /**
   * Return counts for a user or the whole store, including failed jobs and the seconds this process spent on each
   * stage.
   *
   * `GET /v1/store/stats`; needs the right `read`
   */
  statsOfStore(params?: UserParams, options?: RequestOptions): Promise<Stats>;

  /**
   * Return the SHA-256 of the logical state, which is equal for two stores that were given the same input.
   *
   * `GET /v1/store/digest`; needs the right `read`
   */
  digestOfStore(params?: UserParams, options?: RequestOptions): Promise<DigestOut>;

  /**
   * Return the store's problems, one sentence each; empty if every index matches its rows.
   *
   * `GET /v1/store/verify`; needs the right `read`
   */
  verify(options?: RequestOptions): Promise<ProblemsOut>;

  /**
   * Process deferred messages, resolve disputes, archive forgotten memories, promote recalled ones, and update
   * summaries and the profile.
   *
   * `POST /v1/store/sleep`; needs the right `write`
   */
  sleepAll(body?: SleepAllBody, options?: RequestOptions): Promise<SleepReport>;

  /**
   * Run all of the store's background work; return the number of jobs run. `stats` shows failures.
   *
   * `POST /v1/store/flush`; needs the right `write`
   */
  flush(options?: RequestOptions): Promise<CountOut>;

  /**
   * Queue failed jobs again; return their number.
   *
   * `POST /v1/store/retry`; needs the right `write`
   */
  retryFailed(options?: RequestOptions): Promise<CountOut>;

  /**
   * Recompute all vectors with the configured embedder; return their number.
   *
   * `POST /v1/store/reembed`; needs the right `write`
   */
  reembed(options?: RequestOptions): Promise<CountOut>;

  /**
   * Erase every user of the store. This can't be undone.
   *
   * `POST /v1/store/reset`; needs the right `erase`
   */
  reset(options?: RequestOptions): Promise<void>;

  /**
   * Return the relations of facts, as in the relation file.
   *
   * `GET /v1/relations`; needs the right `read`
   */
  relations(options?: RequestOptions): Promise<RelationOut[]>;

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
  addMany(lines: Lines, params?: AddManyParams, options?: RequestOptions): AsyncGenerator<AddedLine, void, undefined>;

  /**
   * Return all data of a user as JSON lines.
   *
   * `GET /v1/export`; needs the right `read`
   *
   * The request is sent when the first line is asked for.
   */
  export(params?: UserParams, options?: RequestOptions): AsyncGenerator<string, void, undefined>;

  /**
   * Return the whole store as JSON lines.
   *
   * `GET /v1/store/export`; needs the right `read`
   *
   * The request is sent when the first line is asked for.
   */
  exportStore(options?: RequestOptions): AsyncGenerator<string, void, undefined>;

  /**
   * Import an export, all of it or nothing; return the number of rows.
   *
   * `POST /v1/store/import`; needs the right `write`
   */
  import(lines: Lines, options?: RequestOptions): Promise<CountOut>;

  /**
   * Report that the process is running.
   *
   * `GET /health/live`; needs no token
   */
  live(options?: RequestOptions): Promise<Health>;

  /**
   * Check that the store can be read; respond with 503 if it can't, or if no thread is free.
   *
   * `GET /health/ready`; needs no token
   */
  ready(options?: RequestOptions): Promise<Health>;

  /**
   * Return the metrics in Prometheus format.
   *
   * `GET /metrics`; needs the right `read`
   */
  metrics(options?: RequestOptions): Promise<string>;
}

export interface GetAllParams {
  /** id of the user; needed only with a token that is valid for any user */
  user_id?: string;
  agent_id?: string;
  run_id?: string;
  /** default: 100 */
  limit?: number;
  now?: Time;
  expired?: boolean;
}

export interface RunParams {
  /** id of the user; needed only with a token that is valid for any user */
  user_id?: string;
  agent_id?: string;
  run_id?: string;
}

export interface GetParams {
  /** id of the user; needed only with a token that is valid for any user */
  user_id?: string;
  expired?: boolean;
}

export interface UserParams {
  /** id of the user; needed only with a token that is valid for any user */
  user_id?: string;
}

export interface LogParams {
  /** id of the user; needed only with a token that is valid for any user */
  user_id?: string;
  agent_id?: string;
  run_id?: string;
  ids?: string[];
  deferred?: boolean;
  /** default: 100 */
  limit?: number;
}

export interface RecordsParams {
  /** id of the user; needed only with a token that is valid for any user */
  user_id?: string;
  agent_id?: string;
  run_id?: string;
  type?: ("question" | "problem" | "plan" | "preference" | "event" | "fact" | "remark")[];
  sentiment?: ("positive" | "neutral" | "negative")[];
  resolution?: ("none" | "open" | "resolved")[];
  entity?: string;
  importance?: number;
  /** default: 100 */
  limit?: number;
}

export interface SessionsParams {
  /** id of the user; needed only with a token that is valid for any user */
  user_id?: string;
  agent_id?: string;
  run_id?: string;
  /** default: 100 */
  limit?: number;
}

export interface WindowParams {
  /** id of the user; needed only with a token that is valid for any user */
  user_id?: string;
  agent_id?: string;
  run_id?: string;
  session?: string;
  turns?: number;
}

export interface FactsParams {
  /** id of the user; needed only with a token that is valid for any user */
  user_id?: string;
  agent_id?: string;
  subject?: string;
  relation?: string;
  topic?: string;
  as_of?: Time;
  known_at?: Time;
  archived?: boolean;
  ids?: string[];
  now?: Time;
}

export interface TimelineParams {
  /** id of the user; needed only with a token that is valid for any user */
  user_id?: string;
  agent_id?: string;
  subject: string;
  relation: string;
  topic?: string;
}

export interface DueParams {
  /** id of the user; needed only with a token that is valid for any user */
  user_id?: string;
  agent_id?: string;
  /** default: 7 */
  days?: number;
  now?: Time;
}

export interface AgentParams {
  /** id of the user; needed only with a token that is valid for any user */
  user_id?: string;
  agent_id?: string;
}

export interface ProfileParams {
  /** id of the user; needed only with a token that is valid for any user */
  user_id?: string;
  agent_id?: string;
  now?: Time;
}

export interface DecisionsParams {
  /** id of the user; needed only with a token that is valid for any user */
  user_id?: string;
  agent_id?: string;
  /** default: 100 */
  limit?: number;
}

export interface SkillsParams {
  /** id of the user; needed only with a token that is valid for any user */
  user_id?: string;
  agent_id?: string;
  archived?: boolean;
}

export interface AddManyParams {
  /** id of the user; needed only with a token that is valid for any user */
  user_id?: string;
  agent_id?: string;
  run_id?: string;
  /** default: true */
  infer?: boolean;
  /** include each message's id in the response */
  ids?: boolean;
  /** prefix for the keys of lines without one, followed by the line number, so a retry adds nothing */
  idempotency_key?: string;
}

/** Arguments of `Memory.add`, and the name of a document if the messages are its sections. */
export interface AddBody {
  /** id of the user; needed only with a token that is valid for any user */
  user_id?: string | null;
  agent_id?: string | null;
  run_id?: string | null;
  messages: string | MessageIn | (MessageIn | string)[];
  /** name of the document; omit for a conversation */
  source?: string | null;
  metadata?: { [key: string]: unknown } | null;
  timestamp?: Time | null;
  expiration_date?: Time | null;
  idempotency_key?: string | null;
  /** send more to /v1/messages/stream */
  depends_on?: string[];
  /** default: true */
  infer?: boolean;
  now?: Time | null;
}

/** Arguments of `Memory.add_skill`. */
export interface AddSkillBody {
  /** id of the user; needed only with a token that is valid for any user */
  user_id?: string | null;
  agent_id?: string | null;
  name: string;
  trigger: string;
  steps: string[];
}

/**
 * Result of adding one message: `event` is ADD, or NOOP if the idempotency key was used before.
 *
 * `decision` is null for such a retry and with `infer=false`. `hidden` has the ids of the messages that are hidden
 * because this one asks to forget them. `masked` has the kind of each part that was masked before it was stored.
 */
export interface Added {
  id: string;
  event: "ADD" | "NOOP";
  text: string;
  decision: Decision | null;
  hidden: string[];
  masked: string[];
}

/** A result for each message. The messages are on disk when the response is sent. */
export interface AddedOut {
  results: Added[];
}

/**
 * An answer with its evidence. `query` is the interpreted query that a follow-up question continues.
 *
 * The last `quotes` lines of `text` quote evidence; `short` is the text above them.
 */
export interface AnswerOut {
  text: string;
  short: string;
  quotes: number;
  abstained: boolean;
  confidence: number;
  evidence: EvidenceOut[];
  facts: Fact[];
  trace: string[];
  notes: string[];
  usage: Usage;
  query: FactQuery | null;
}

/** Arguments of `Memory.ask`. */
export interface AskBody {
  /** id of the user; needed only with a token that is valid for any user */
  user_id?: string | null;
  agent_id?: string | null;
  run_id?: string | null;
  filters?: { [key: string]: unknown } | null;
  question: string;
  record?: { [key: string]: unknown } | null;
  top_k?: number | null;
  as_of?: Time | null;
  now?: Time | null;
  follows?: FactQueryInput | null;
}

/** Result that is true if something was changed. */
export interface ChangedOut {
  changed: boolean;
}

/** The number of affected items. */
export interface CountOut {
  count: number;
}

/** A decision by the curator, with its reason; `undo(id)` reverts it as long as nothing depends on it. */
export interface CuratorDecision {
  id: string;
  at: string;
  action: "ADD" | "UPDATE" | "ARCHIVE" | "NOOP" | "MERGE" | "PROPOSE";
  subject: string;
  relation: string;
  object: string;
  topic: string;
  reason: string;
  fact_ids: string[];
  undone: boolean;
}

/**
 * The gate's decision on one message, with its reason.
 *
 * `score` is compared with `threshold` in the unit of `rule`; `parts` maps names to the rule's inputs; `reason` is a
 * sentence for display. `surprise` is in nats per token (NSCMA section 3.2), `information` is their sum in nats.
 */
export interface Decision {
  write: boolean;
  rule: string;
  score: number;
  threshold: number;
  reason: string;
  surprise: number;
  information: number;
  parts: { [key: string]: number };
}

/**
 * A derived text, with the ids of its source messages in order of arrival.
 *
 * `since` and `until` are the times of the first and last of these messages; `confidence` is in (0, 1]. `part` is the
 * part it was derived from, or "" for all of the user's messages to the agent. `derived_ids` are the ids of the derived
 * texts that it cites; their source messages are then included.
 */
export interface DerivedText {
  id: string;
  scope: Scope;
  kind: "insight" | "daily_summary" | "global_summary" | "daily_insight" | "portrait" | "reflection" | "qa_pair" |
    "document_summary" | "skill";
  text: string;
  confidence: number;
  since: string;
  until: string;
  episode_ids: string[];
  part: string;
  derived_ids: string[];
}

/** SHA-256 digest of the store's logical state. */
export interface DigestOut {
  digest: string;
}

/** Something that falls due on a day, according to a sentence of a message. */
export interface Due {
  day: string;
  text: string;
  memory_id: string;
}

/** One stored message; every message added is kept as an episode. */
export interface Episode {
  id: string;
  scope: Scope;
  stream_id: string;
  position: number;
  role: string;
  text: string;
  recorded_at: string;
  occurred_at: string;
  name?: string | null;
  session?: string | null;
  source?: string | null;
  metadata: { [key: string]: unknown };
  decision?: Decision | null;
  encoded: boolean;
  importance: number;
  strength: number;
  accesses: number;
  expires_at?: string | null;
  status: "active" | "archived" | "deleted";
}

/** Selection for permanent deletion: one message, one skill, or all of the user's data if `everything` is true. */
export interface EraseBody {
  /** id of the user; needed only with a token that is valid for any user */
  user_id?: string | null;
  memory_id?: string | null;
  skill_id?: string | null;
  everything?: boolean;
}

/**
 * Proof of an erasure: the rows deleted, the state recomputed, and the files searched for remains.
 *
 * `rows` counts the deleted rows by table; it is empty if the call completed an interrupted erasure. `rebuilt` lists
 * the streams for which the surprise model's state and the gate's statistics were recomputed without the erased text,
 * and the hierarchies that lost summaries of it. `checked` lists the files searched for the text and its names
 * (document, agent, run, session, speaker), and `found` is the number of their byte strings still present, except those
 * that remaining messages share. In PostgreSQL, the rows are deleted and the tables vacuumed, but no file can be
 * searched: `found` is null, and the write-ahead log, replicas and backups contain copies as long as the server keeps
 * them.
 */
export interface EraseReceipt {
  user_id: string;
  item_id: string | null;
  rows: { [key: string]: number };
  rebuilt: string[];
  checked: string[];
  found: number | null;
}

/** A passage that supports an answer: the text of `hit` from `start` to `end`. */
export interface EvidenceOut {
  text: string;
  start: number;
  end: number;
  score: number;
  hit: HitOut;
}

/**
 * A bitemporal fact: `(subject, relation, object)` with the time it is true in the world and the time it was believed.
 *
 * If `valid_from` is null, it began at an unknown time; if `valid_to` is null, it is still true; if `retired_at` is
 * null, it is still believed. `sequence` orders facts that begin at the same time by when they were said, and `ended`
 * is the position in this order at which the fact ended (null if it hasn't ended or this is unknown). `strength` is the
 * number of statements that support it, and `episode_ids` are their messages; `reason` explains its status. `in_doubt`
 * is the reason if later messages have taken away what all of these messages rest on, or have ended it without a
 * statement that the curator could use.
 */
export interface Fact {
  id: string;
  scope: Scope;
  subject: string;
  relation: string;
  object: string;
  topic: string;
  valid_from: string | null;
  valid_to: string | null;
  recorded_at: string;
  retired_at: string | null;
  status: "active" | "archived" | "disputed";
  confidence: number;
  strength: number;
  sequence: number;
  episode_ids: string[];
  reason: string;
  ended?: number | null;
  in_doubt: string;
}

/**
 * A question as a walk over facts: from `subject` along `path` to the answer.
 *
 * If `asks` is "subject", the walk goes backwards from `object`. `before` asks for the predecessor of an object
 * ("before the bathroom"); `previous` asks for the value before the current one. `count` asks how many there are.
 * `named` asks for a name, so a kind ("grey cat") is no answer.
 */
export interface FactQueryInput {
  asks: "object" | "subject" | "whether" | "when" | "giver" | "receiver" | "thing";
  path: string[];
  subject?: string;
  object?: string;
  topic?: string;
  before?: string;
  previous?: boolean;
  count?: boolean;
  named?: boolean;
  as_of?: string | Date | null;
}

/**
 * A question as a walk over facts: from `subject` along `path` to the answer.
 *
 * If `asks` is "subject", the walk goes backwards from `object`. `before` asks for the predecessor of an object
 * ("before the bathroom"); `previous` asks for the value before the current one. `count` asks how many there are.
 * `named` asks for a name, so a kind ("grey cat") is no answer.
 */
export interface FactQuery {
  asks: "object" | "subject" | "whether" | "when" | "giver" | "receiver" | "thing";
  path: string[];
  subject: string;
  object: string;
  topic: string;
  before: string;
  previous: boolean;
  count: boolean;
  named: boolean;
  as_of?: string | null;
}

/** Arguments of `Memory.feedback`. */
export interface FeedbackBody {
  /** id of the user; needed only with a token that is valid for any user */
  user_id?: string | null;
  helpful: boolean;
}

/** Arguments of `Memory.find_skills`. */
export interface FindSkillsBody {
  /** id of the user; needed only with a token that is valid for any user */
  user_id?: string | null;
  agent_id?: string | null;
  situation: string;
  /** default: 5 */
  top_k?: number;
}

/** A skill and its cosine similarity to the query, in [-1, 1]. */
export interface FoundSkill {
  skill: Skill;
  similarity: number;
}

/** Health of the server. Exposes no user data and needs no token. */
export interface Health {
  status: "ok" | "unready";
}

/**
 * One change to a memory; `Memory.history` returns changes oldest first.
 *
 * RECALL is the last recall; it is recorded only with `curator.recall = "restart"` or `score.recency_since =
 * "recalled"`.
 */
export interface HistoryEvent {
  item_id: string;
  event: "ADD" | "UPDATE" | "DELETE" | "RESTORE" | "REDECIDE" | "FEEDBACK" | "RECALL";
  at: string;
  old_text?: string | null;
  new_text?: string | null;
  reason?: string | null;
}

/** A search result. `id` is the message id used in paths; a summary lists its messages in `episode_ids`. */
export interface HitOut {
  id: string;
  text: string;
  kind: "chunk" | "triple" | "atomic_fact" | "summary" | "insight" | "daily_summary" | "global_summary" |
    "daily_insight" | "portrait" | "reflection" | "qa_pair" | "document_summary" | "skill";
  score: number;
  occurred_at: string;
  role: string;
  name: string | null;
  session: string | null;
  source: string | null;
  agent_id: string | null;
  run_id: string | null;
  unit_id: string;
  episode_ids: string[];
  metadata: { [key: string]: unknown };
  parts: { [key: string]: number };
  renewed: boolean;
}

/**
 * The structured record for a message (configured in section [records]).
 *
 * `entities` are the people, places and things that the message is about, except its speaker and listener, the most
 * important first. `importance` is the message's importance, in [0, 1]. `sentiment` is null if unclear. `resolution` is
 * "none" except for a question, problem or plan; `resolved_by` contains the ids of later messages that settle it.
 */
export interface MemoryRecord {
  episode_id: string;
  scope: Scope;
  type: "question" | "problem" | "plan" | "preference" | "event" | "fact" | "remark";
  entities: string[];
  importance: number;
  sentiment: "positive" | "neutral" | "negative" | null;
  resolution: "none" | "open" | "resolved";
  occurred_at: string;
  resolved_by: string[];
}

/** One message in OpenAI's format; other keys become metadata. */
export interface MessageIn {
  role: string;
  content: string | (string | { [key: string]: unknown })[] | null;
  timestamp?: string | number | null;
  name?: string | number | null;
  session?: string | number | null;
  metadata?: { [key: string]: unknown } | null;
  idempotency_key?: string | number | null;
  [key: string]: unknown;
}

/**
 * A node of the hierarchy: a chunk at level 0, a cluster with its summary above.
 *
 * `members` are the ids of nodes one level below; a node may belong to several clusters. `text` is empty until `flush`
 * writes the summary; until then, `stale` is true.
 */
export interface Node {
  id: string;
  level: number;
  text: string;
  members: string[];
  episode_ids: string[];
  stale: boolean;
}

/** Problems found in the store, one sentence each. */
export interface ProblemsOut {
  problems: string[];
}

/**
 * One line in a profile, true since `day` according to the facts with these ids. `number` is its position, from 0.
 *
 * Portrait and insights come after the facts: they are based on the messages `episode_ids`, the last of which is from
 * `day`, with `confidence` in (0, 1].
 */
export interface ProfileLine {
  number: number;
  text: string;
  day: string;
  fact_ids: string[];
  episode_ids: string[];
  confidence: number;
}

/** Arguments of `Memory.get_all`. */
export interface QueryBody {
  /** id of the user; needed only with a token that is valid for any user */
  user_id?: string | null;
  agent_id?: string | null;
  run_id?: string | null;
  filters?: { [key: string]: unknown } | null;
  /** default: 100 */
  limit?: number | null;
  now?: Time | null;
  expired?: boolean;
}

/** Arguments of `Memory.rebuild`. */
export interface RebuildBody {
  /** id of the user; needed only with a token that is valid for any user */
  user_id?: string | null;
  agent_id?: string | null;
}

/** A message for which the new rules decide differently. */
export interface Redecision {
  episode: Episode;
  decision: Decision;
}

/** Arguments of `Memory.reextract`. */
export interface ReextractBody {
  /** id of the user; needed only with a token that is valid for any user */
  user_id?: string | null;
  agent_id?: string | null;
}

/** Arguments of `Memory.related_facts`. */
export interface RelatedFactsBody {
  /** id of the user; needed only with a token that is valid for any user */
  user_id?: string | null;
  agent_id?: string | null;
  text: string;
  messages?: string[];
  known_at?: Time | null;
  now?: Time | null;
}

/**
 * A relation between a fact's subject and object. If it is `open`, a fact's `topic` is a predicate in the message's own
 * words.
 */
export interface RelationOut {
  name: string;
  meaning: string;
  cardinality: "one" | "many";
  open: boolean;
}

/** Arguments of `Memory.replay`. */
export interface ReplayBody {
  /** id of the user; needed only with a token that is valid for any user */
  user_id?: string | null;
  agent_id?: string | null;
  run_id?: string | null;
  gate?: { [key: string]: unknown } | null;
  /** default: true */
  dry_run?: boolean;
}

/** The number of messages decided, and the messages for which the decision changes. */
export interface ReplayOut {
  decided: number;
  changed: Redecision[];
}

/**
 * Owner of memories. `user_id` limits every access; the other two narrow or widen reads within the user's memories.
 *
 * Raises `ScopeError` for an id that is empty, not a string, above 256 characters, or contains control characters.
 */
export interface Scope {
  user_id: string;
  agent_id?: string | null;
  run_id?: string | null;
}

/** Arguments of `Memory.search`. */
export interface SearchBody {
  /** id of the user; needed only with a token that is valid for any user */
  user_id?: string | null;
  agent_id?: string | null;
  run_id?: string | null;
  filters?: { [key: string]: unknown } | null;
  query: string;
  record?: { [key: string]: unknown } | null;
  top_k?: number | null;
  threshold?: number | null;
  kinds?: ("chunk" | "triple" | "atomic_fact" | "summary" | "insight" | "daily_summary" | "global_summary" |
    "daily_insight" | "portrait" | "reflection" | "qa_pair" | "document_summary" | "skill")[] | null;
  strategy?: string | null;
  budget?: number | null;
  as_of?: Time | null;
  now?: Time | null;
  explain?: boolean;
  expired?: boolean;
  relevant?: boolean;
}

/** A conversation: its label (null if its messages have none), size, times, and first words. */
export interface Session {
  scope: Scope;
  name: string | null;
  messages: number;
  begun_at: string;
  last_at: string;
  opening: string;
}

/** A named skill: `trigger` describes when to use it and `steps` how; `skill_outcome` counts its outcomes. */
export interface Skill {
  id: string;
  scope: Scope;
  name: string;
  trigger: string;
  steps: string[];
  successes: number;
  failures: number;
  recorded_at: string;
  updated_at: string;
  status: "active" | "archived";
}

/** Arguments of `Memory.skill_outcome`. */
export interface SkillOutcomeBody {
  /** id of the user; needed only with a token that is valid for any user */
  user_id?: string | null;
  success: boolean;
}

/** Arguments of `Memory.sleep`. */
export interface SleepAllBody {
  /** id of the user; needed only with a token that is valid for any user */
  user_id?: string | null;
  now?: Time | null;
  dry_run?: boolean;
}

/** Arguments of `Memory.sleep`. */
export interface SleepBody {
  /** id of the user; needed only with a token that is valid for any user */
  user_id?: string | null;
  now?: Time | null;
  dry_run?: boolean;
}

/**
 * Changes made by a sleep, or with `dry_run` those it would make.
 *
 * Numbers of: messages erased because they are older than `retention.days` allows (`erased`); deferred messages
 * processed (`replayed`); summaries renewed (`refreshed`); contradictions resolved (`settled`) and still open
 * (`disputed`); pairs of entities that may be the same (`proposed`); facts and messages moved from search to the
 * archive (`forgotten_*`); messages whose importance rose because they were recalled (`promoted`); profile lines and
 * derived texts written, changed or dropped (`profile_lines`, `derived_texts`; with `dry_run`, the parts due).
 * `failures` lists errors in language work: from jobs, after which no later stage ran, or from disputes, which remain
 * open.
 */
export interface SleepReport {
  users: string[];
  dry_run: boolean;
  failures: string[];
  erased: number;
  replayed: number;
  refreshed: number;
  settled: number;
  disputed: number;
  proposed: number;
  forgotten_facts: number;
  forgotten_messages: number;
  promoted: number;
  profile_lines: number;
  derived_texts: number;
}

/**
 * Counts for one user or for the whole store.
 *
 * `written` and `deferred` count the gate's decisions; `units` counts active units by kind, and `facts` current facts
 * by status; `failures` are the errors of jobs that failed or are waiting to be retried; `stage_seconds` is the time
 * that this process spent on each stage of ingestion. `language` names the language engine; `language_work` counts its
 * requests, tokens, failed requests, extractions dropped because the text doesn't support them (ungrounded), and texts
 * that needed no request (spared). `workers` are the background workers that are running or have died.
 */
export interface Stats {
  users: number;
  streams: number;
  messages: number;
  written: number;
  deferred: number;
  deleted: number;
  units: { [key: string]: number };
  facts: { [key: string]: number };
  jobs_queued: number;
  jobs_failed: number;
  failures: string[];
  recalls_queued: number;
  embedder: string | null;
  file_bytes: number;
  stage_seconds: { [key: string]: number };
  language: string;
  language_work: { [key: string]: number };
  workers: WorkerHealth[];
}

/** Arguments of `Memory.update`. */
export interface UpdateBody {
  /** id of the user; needed only with a token that is valid for any user */
  user_id?: string | null;
  text?: string | null;
  metadata?: { [key: string]: unknown } | null;
  expiration_date?: Time | null;
}

/** The cost of an answer: language-model calls, tokens, and wall-clock seconds. */
export interface Usage {
  llm_calls: number;
  tokens: number;
  seconds: number;
}

/** Counts for one user: the fields of `Stats` that reveal nothing about other users. */
export interface UserStats {
  streams: number;
  messages: number;
  written: number;
  deferred: number;
  deleted: number;
  units: { [key: string]: number };
  facts: { [key: string]: number };
  jobs_queued: number;
  jobs_failed: number;
  failures: string[];
  recalls_queued: number;
}

/**
 * State of a background worker; `owner` consists of its host, process id and a unique number.
 *
 * `alive` is false if it died, or has sent no heartbeat for `worker.lease` seconds. `state` is its activity at the last
 * `heartbeat`. Two values are the same for all workers of a store: `slept_at`, the time of the last completed scheduled
 * sleep, and `error`, the last error in background work, with its time; only whole-store counts include the error.
 */
export interface WorkerHealth {
  owner: string;
  heartbeat: string;
  alive: boolean;
  state: string;
  slept_at: string | null;
  error: string | null;
  error_at: string | null;
}

/** An error, with advice on how to fix it. */
export interface Problem {
  /** urn:nscma: followed by the error's name, or about:blank if the status is sufficient */
  type: string;
  title: string;
  status: number;
  /** what was wrong, and what to do */
  detail: string;
  /** the first twenty invalid parts of the request */
  errors?: { [key: string]: unknown }[] | null;
  /** the same error in OpenAI's format, on the OpenAI-compatible paths */
  error?: { [key: string]: string | null } | null;
}

/** One line of the response: the number of messages from the first `lines` lines that are now on disk. */
export interface AddedLine {
  lines: number;
  added: number;
  /** messages with an idempotency key that already exists */
  known: number;
  ids?: string[] | null;
  done: boolean;
  error?: Problem | null;
}
