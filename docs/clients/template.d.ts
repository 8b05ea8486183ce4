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

  // generated: declarations
}

// generated: interfaces
