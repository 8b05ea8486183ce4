// Requests to this server, in the name of whoever looks: the token, the user, the agent.

const TOKEN = "nscma.token";
const base = new URL(".", document.baseURI.split("#")[0]);

/** Who looks, and whose memory it is. */
export const state = { user: null, agent: null, rights: new Set(), anyUser: false, users: [], agents: [] };

/** What the server says is wrong: its status, its message, and after how many seconds to ask again. */
export class Problem extends Error {
  constructor(status, message, wait = 0) {
    super(message);
    this.name = "Problem";
    this.status = status;
    this.wait = wait;
  }
}

let asksForToken = async () => {};

/** `ask(message)` resolves when a new token is there, and rejects if none is given. */
export function onTokenNeeded(ask) {
  asksForToken = ask;
}

export const token = () => sessionStorage.getItem(TOKEN);
export const keepToken = (value) => sessionStorage.setItem(TOKEN, value);
export const dropToken = () => sessionStorage.removeItem(TOKEN);
export const may = (right) => state.rights.has(right);

const OF_USER = (values) => ({ ...values, user_id: state.user ?? undefined });
const OF_AGENT = (values) => ({ ...OF_USER(values), agent_id: state.agent ?? undefined });

/** Read: `get("v1/facts", {…})`, of the user and agent that are looked at; `user` false for neither. */
export const get = (path, values = {}, options = {}) => request("GET", path, { query: scoped(values, options), ...options });
/** Change. The endpoints name the user in the body, or in the query where they have no body. */
export const post = (path, values = {}, options = {}) => request("POST", path, { body: scoped(values, options), ...options });
export const patch = (path, values, options = {}) => request("PATCH", path, { body: OF_USER(values), ...options });
/** Send a file as it is. */
export const send = (path, file, values, options = {}) => request("POST", path, { query: OF_USER(values), file, ...options });
export const act = (method, path, options = {}) => request(method, path, { query: OF_USER({}), ...options });

function scoped(values, { scope = "agent" }) {
  return scope === "agent" ? OF_AGENT(values) : scope === "user" ? OF_USER(values) : values;
}

async function request(method, path, { query = {}, body, file, signal, quiet = false } = {}) {
  const address = new URL(path, base);
  for (const [name, values] of Object.entries(query)) {
    for (const value of Array.isArray(values) ? values : [values]) {
      if (value !== null && value !== undefined && value !== "") address.searchParams.append(name, value);
    }
  }
  for (;;) {
    const headers = {};
    const used = token();
    if (used) headers.Authorization = `Bearer ${used}`;
    if (body !== undefined) headers["Content-Type"] = "application/json";
    const sent = body === undefined ? file : JSON.stringify(body);
    const response = await reached(address, { method, headers, body: sent, signal, cache: "no-store" });
    if (response.ok) return response.status === 204 ? null : response.json();
    const message = await told(response);
    if (response.status !== 401 || quiet) throw new Problem(response.status, message, Number(response.headers.get("Retry-After")) || 0);
    if (used === token()) {
      dropToken();
      await asksForToken(used ? message : "");
    }
  }
}

async function reached(address, options) {
  try {
    return await fetch(address, { ...options, credentials: "omit", redirect: "error" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, "Is `nscma serve` or `nscma view` still running?");
  }
}

async function told(response) {
  try {
    const problem = await response.json();
    return problem.detail || problem.title || response.statusText;
  } catch {
    return response.statusText || "no explanation was given";
  }
}
