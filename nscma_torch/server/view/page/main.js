// The frame of the page: which view, whose memory, and the token where the server asks for one.

import { Problem, dropToken, get, keepToken, onTokenNeeded, state, token } from "./api.js";
import { modal } from "./dialog.js";
import { button, field, h, problem } from "./dom.js";
import { watchDrops } from "./drops.js";
import { follow } from "./live.js";
import { CHANGED } from "./message.js";
import * as conflicts from "./conflicts.js";
import * as erasure from "./erasure.js";
import * as gate from "./gate.js";
import * as graph from "./graph.js";
import * as hierarchy from "./hierarchy.js";
import * as overview from "./overview.js";
import * as search from "./search.js";
import * as timeline from "./timeline.js";

const VIEWS = { "": overview, search, timeline, graph, hierarchy, gate, conflicts, erasure };
const USER = "nscma.user";
const main = document.getElementById("main");
let leaving = new AbortController();
let shown = null;

/** The view and its parameters in the address: `#/graph?entity=Ana`. */
function place() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const name = Object.hasOwn(VIEWS, path) ? path : "";
  return { name, view: VIEWS[name], params: new URLSearchParams(query) };
}

/** Show what the address names; after a click the focus goes to the new heading. */
function show({ focus = false } = {}) {
  leaving.abort();
  leaving = new AbortController();
  const { name, view, params } = place();
  shown = view;
  const heading = h("h1", { tabindex: "-1" }, view.title);
  main.replaceChildren(h("div", { class: "head" }, heading, h("p", { class: "lead" }, view.lead)));
  document.title = `${view.title} · Memory`;
  navigation(name);
  try {
    view.show(main, params, { signal: leaving.signal, again: show });
  } catch (error) {
    main.append(problem(error, show));
    throw error;
  }
  if (focus) {
    heading.focus({ preventScroll: true });
    window.scrollTo(0, 0);
  }
}

function navigation(current) {
  const items = Object.entries(VIEWS).map(([name, view]) => {
    const link = h("a", { href: `#/${name}`, "aria-current": name === current && "page" }, view.name ?? view.title);
    return h("li", {}, link);
  });
  const list = document.getElementById("nav");
  list.replaceChildren(...items);
  const open = items.find((item) => item.firstChild.hasAttribute("aria-current"));
  list.scrollLeft = open.offsetLeft - list.clientWidth / 2 + open.offsetWidth / 2;
}

/** Who looks, by the server; whose memory, by the choice of before. */
async function enter() {
  const chosen = sessionStorage.getItem(USER);
  const found = await get("v1/view/access", chosen ? { user_id: chosen } : {}, { scope: "none" }).catch((error) => {
    if (!chosen || error.status !== 403) throw error;
    sessionStorage.removeItem(USER); // the token is for another user
    return get("v1/view/access", {}, { scope: "none" });
  });
  state.anyUser = found.any_user;
  state.rights = new Set(found.rights);
  state.users = found.users;
  state.agents = found.agents;
  state.user = found.user;
  const elsewhere = !found.users.includes(found.user) && (found.user === null || !found.more_users);
  if (elsewhere && found.users.length && !chosen) return choose(found.users[0]); // who is meant has nothing here
  if (!state.agents.includes(state.agent)) state.agent = null;
  document.getElementById("store").textContent = found.store ?? "";
  whose();
}

function choose(user) {
  sessionStorage.setItem(USER, user);
  return enter();
}

function whose() {
  const form = document.getElementById("whose");
  const parts = [];
  if (state.anyUser) {
    const list = h("datalist", { id: "users" }, state.users.map((user) => h("option", { value: user })));
    const input = h("input", { list: "users", autocomplete: "off", spellcheck: "false", value: state.user ?? "", maxlength: 256 });
    input.addEventListener("change", async () => {
      if (input.value.trim()) await entered(() => choose(input.value.trim()));
    });
    input.addEventListener("focus", () => input.select());
    parts.push(field("User", input), list);
  } else {
    parts.push(h("p", { class: "field" }, h("span", { class: "label" }, "User"), h("bdi", { class: "value" }, state.user)));
  }
  if (state.agents.length) {
    const options = [h("option", { value: "" }, "all")].concat(state.agents.map((one) => h("option", { value: one, selected: one === state.agent }, one)));
    const select = h("select", { onchange: () => { state.agent = select.value || null; show(); } }, options);
    parts.push(field("Agent", select));
  }
  if (token()) parts.push(button("Forget the token", () => { dropToken(); sessionStorage.removeItem(USER); location.reload(); }, { class: "quiet" }));
  form.replaceChildren(...parts);
}

/** Ask for a token; whoever closes the dialog without one is told so where the answer would stand. */
function askForToken(message) {
  if (askForToken.open) return askForToken.open;
  askForToken.open = new Promise((given, refused) => {
    const input = h("input", { type: "password", autocomplete: "off", spellcheck: "false", required: true, autofocus: true });
    const form = h("form", { class: "stack" },
      h("h2", { id: "token-title", tabindex: "-1" }, "Token required"),
      message && h("p", { class: "problem", role: "alert" }, message),
      h("p", {}, "Create one in a terminal: ", h("code", {}, "nscma token add --user NAME --can read,write"), ". It is kept in this tab until you close it, and sent to this server alone."),
      field("Token", input),
      h("div", { class: "actions" }, h("button", { class: "primary" }, "View the memory"), button("Cancel", () => dialog.close())));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (!input.value.trim()) return;
      keepToken(input.value.trim());
      given();
      dialog.close();
    });
    const closed = () => {
      askForToken.open = null;
      refused(new Problem(401, "This server asks for a token. Try again to give one."));
    };
    const dialog = modal({ "aria-labelledby": "token-title", class: "small" }, [form], { closed });
  });
  return askForToken.open;
}

async function entered(enters) {
  try {
    await enters();
    show();
  } catch (error) {
    main.replaceChildren(problem(error, () => entered(enters)));
  }
}

document.getElementById("whose").addEventListener("submit", (event) => event.preventDefault());
document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
document.getElementById("nav").addEventListener("focusin", (event) => event.target.scrollIntoView({ block: "nearest", inline: "nearest" }));
window.addEventListener("hashchange", () => show({ focus: true }));
window.addEventListener(CHANGED, () => (shown?.renew ? shown.renew() : show()));
onTokenNeeded(askForToken);
watchDrops();
await entered(enter);
follow((stats, before) => shown?.changed?.(stats, before));
