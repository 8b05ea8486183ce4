// Open contradictions, names that may mean one, and all that the curator decided, with a way back.

import { act, get, may, post } from "./api.js";
import { add, announce, button, empty, h, problem } from "./dom.js";
import { number, predicate, rounded, span, time, words } from "./format.js";
import { growing } from "./pages.js";
import { opener } from "./message.js";

export const title = "Conflicts";
export const lead = "Unresolved contradictions, and every decision of the curator. Decisions can be undone.";

const ACTIONS = { ADD: ["good", "added"], UPDATE: ["", "replaced"], ARCHIVE: ["wait", "archived"], NOOP: ["", "known already"], MERGE: ["", "merged"], PROPOSE: ["wait", "may be the same"] };

export function show(root, params, { signal, again }) {
  const open = growing({
    load: (offset) => get("v1/view/conflicts", { limit: 20, offset }, { signal }),
    row: contradiction, noun: "contradiction",
    none: () => empty("No contradictions", "If two statements conflict and neither weighs more, both sides are listed here until one does."),
  });
  const changes = h("input", { type: "checkbox", checked: params.has("changes") });
  const made = h("div");
  const list = () => made.replaceChildren(growing({
    load: (offset) => get("v1/view/decisions", { changes: changes.checked, limit: 30, offset }, { signal }),
    row: (one) => decision(one, again), noun: "decision",
    none: () => empty(changes.checked ? "Nothing was replaced, archived or merged" : "No decisions yet", "The curator makes decisions as facts are extracted from messages."),
  }));
  changes.addEventListener("change", list);
  list();
  add(root,
    h("section", { "aria-labelledby": "open" }, h("h2", { id: "open" }, "Open contradictions"), open),
    may("write") && sleeping(signal, again),
    h("section", { "aria-labelledby": "made" }, h("h2", { id: "made" }, "Decisions"),
      h("div", { class: "check" }, h("label", {}, changes, " only what replaced, archived or merged something")), made));
}

function contradiction(sides) {
  const [first] = sides;
  return h("li", { class: "card" },
    h("h3", {}, h("bdi", {}, first.subject), " ", predicate(first)),
    h("ul", { class: "plain sides" }, sides.map((fact) => h("li", {},
      h("bdi", { class: "value" }, fact.object), h("p", { class: "muted" }, `${span(fact)}, confidence ${rounded(fact.confidence)}`),
      fact.reason && h("p", { class: "muted", dir: "auto" }, fact.reason),
      fact.episode_ids.slice(-3).map((id) => [opener(id, "message"), " "])))));
}

/** A decision with its way back; after an undo or merge the view is made anew. */
function decision(one, again) {
  const [kind, label] = ACTIONS[one.action] ?? ["", one.action.toLowerCase()];
  const said = h("div");
  const change = (what, done) => async (event) => {
    event.target.disabled = true;
    try {
      await act("POST", `v1/decisions/${encodeURIComponent(one.id)}/${what}`);
      announce(done);
      again();
    } catch (error) {
      event.target.disabled = false;
      said.replaceChildren(problem(error));
    }
  };
  const proposal = one.action === "PROPOSE";
  return h("li", { class: `decision ${one.undone ? "undone" : ""}` },
    h("p", {}, h("span", { class: `badge ${kind}` }, label), " ",
      h("bdi", {}, one.subject), " ", predicate(one), " ", h("bdi", { class: "value" }, one.object),
      one.undone && h("span", { class: "badge" }, "taken back")),
    h("p", { class: "muted", dir: "auto" }, time(one.at), one.reason && `, ${one.reason}`),
    may("write") && !one.undone && h("p", { class: "back" },
      proposal && button("Merge them", change("merge", "merged"), { "aria-label": `Merge ${one.subject} and ${one.object}` }),
      !proposal && button("Undo", change("undo", "undone"), { "aria-label": `Undo: ${label} ${one.subject} ${words(one.relation)} ${one.object}` })),
    said);
}

/** What a sleep would do, and doing it. */
function sleeping(signal, again) {
  const said = h("div", { "aria-live": "polite" });
  const sleep = (dry) => async (event) => {
    event.target.disabled = true;
    said.replaceChildren(h("p", { class: "muted" }, dry ? "Looking…" : "Sleeping…"));
    try {
      const report = await post("v1/sleep", { dry_run: dry }, { scope: "user", signal });
      said.replaceChildren(reported(report, dry));
      if (!dry) again();
    } catch (error) {
      if (error.name !== "AbortError") said.replaceChildren(problem(error));
    }
    event.target.disabled = false;
  };
  return h("section", { class: "card", "aria-labelledby": "sleep" }, h("h2", { id: "sleep" }, "Sleep"),
    h("p", {}, "Sleep processes deferred messages, settles disputes, archives faded memories, and renews summaries and the profile. The background worker runs it automatically; here you can see what is due."),
    h("p", { class: "actions" }, button("Preview", sleep(true)), button("Sleep now", sleep(false))), said);
}

function reported(report, dry) {
  const rows = Object.entries(report).filter(([, value]) => typeof value === "number" && value > 0);
  return h("div", { class: "note" },
    h("p", {}, rows.length ? (dry ? "It would change:" : "It changed:") : "Nothing is due."),
    rows.length > 0 && h("ul", { class: "plain" }, rows.map(([name, value]) => h("li", {}, `${words(name)}: ${number(value)}`))),
    report.failures.map((one) => h("p", { class: "note bad", dir: "auto" }, one)));
}
