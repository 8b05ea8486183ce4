// Open contradictions, names that may mean one, and all that the curator decided, with a way back.

import { get, may, post } from "./api.js";
import { decision, proposal, proposals } from "./decisions.js";
import { add, button, empty, h, problem } from "./dom.js";
import { factOpener } from "./fact.js";
import { number, predicate, rounded, span, words } from "./format.js";
import { growing } from "./pages.js";
import { opener } from "./message.js";

export const title = "Conflicts";
export const lead = "Unresolved contradictions, names that may mean one, and every decision of the curator. Decisions can be undone.";

/** List everything again, with the focus on the heading of a section. */
export let renew = () => {};

export function show(root, params, { signal }) {
  const open = h("div");
  const same = h("div");
  const made = h("div");
  const changes = h("input", { type: "checkbox", checked: params.has("changes") });
  const list = (region, section, options) => region.replaceChildren(growing({ ...options, row: (one) => options.row(one, () => renew(section)) }));
  const decided = () => list(made, "made", {
    load: (offset) => get("v1/view/decisions", { changes: changes.checked, limit: 30, offset }, { signal }),
    row: decision, noun: "decision",
    none: () => empty(changes.checked ? "Nothing was replaced, archived or merged" : "No decisions yet", "The curator makes decisions as facts are extracted from messages."),
  });
  renew = (section) => {
    list(open, "open", {
      load: (offset) => get("v1/view/conflicts", { limit: 20, offset }, { signal }),
      row: contradiction, noun: "contradiction",
      none: () => empty("No contradictions", "If two statements conflict and neither weighs more, both sides are listed here until one does."),
    });
    list(same, "same", {
      load: (offset) => proposals({ limit: 20, offset }, { signal }),
      row: proposal, noun: "proposal",
      none: () => empty("No proposals", "If two names may mean the same person or thing, they are listed here to be merged."),
    });
    decided();
    if (section) document.getElementById(section).focus({ preventScroll: true });
  };
  changes.addEventListener("change", decided);
  add(root,
    h("section", { "aria-labelledby": "open" }, heading("open", "Open contradictions"), open),
    h("section", { "aria-labelledby": "same" }, heading("same", "Names that may mean one"), same),
    may("write") && sleeping(signal),
    h("section", { "aria-labelledby": "made" }, heading("made", "Decisions"),
      h("div", { class: "check" }, h("label", {}, changes, " only what replaced, archived or merged something")), made));
  renew();
}

const heading = (id, text) => h("h2", { id, tabindex: "-1" }, text);

function contradiction(sides) {
  const [first] = sides;
  return h("li", { class: "card" },
    h("h3", {}, h("bdi", {}, first.subject), " ", predicate(first), " ", factOpener(first)),
    h("ul", { class: "plain sides" }, sides.map((fact) => h("li", {},
      h("bdi", { class: "value" }, fact.object), h("p", { class: "muted" }, `${span(fact)}, confidence ${rounded(fact.confidence)}`),
      fact.reason && h("p", { class: "muted", dir: "auto" }, fact.reason),
      fact.episode_ids.slice(-3).map((id) => [opener(id, "message"), " "])))));
}

/** What a sleep would do, and doing it. */
function sleeping(signal) {
  const said = h("div", { "aria-live": "polite" });
  const sleep = (dry) => async (event) => {
    event.target.disabled = true;
    said.replaceChildren(h("p", { class: "muted" }, dry ? "Looking…" : "Sleeping…"));
    try {
      const report = await post("v1/sleep", { dry_run: dry }, { scope: "user", signal });
      said.replaceChildren(reported(report, dry));
      if (!dry) renew();
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
