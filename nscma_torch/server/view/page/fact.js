// The timeline of one fact: each value with when it held, when that was believed, why, what is in doubt, and a way back.

import { get, may } from "./api.js";
import { decision } from "./decisions.js";
import { closer, modal } from "./dialog.js";
import { button, empty, h, problem, put } from "./dom.js";
import { count, predicate, rounded, said, span, time } from "./format.js";
import { growing } from "./pages.js";
import { CHANGED, opener } from "./message.js";

const SOURCES = 5; // messages of a value that are named
const SIDES = 100; // facts whose decisions are asked for

/** A button that opens the timeline of a fact. */
export function factOpener(fact, label = "History") {
  const name = `${label} of ${said(fact)}`;
  return button(label, () => show(fact), { class: "link", "aria-label": name, "data-opens": name });
}

function show(fact) {
  const body = h("div", { class: "stack", "aria-busy": "true" }, h("p", { class: "muted" }, "Loading…"));
  const title = h("h2", { id: "fact-title", tabindex: "-1", autofocus: true }, h("bdi", {}, fact.subject), " ", predicate(fact));
  const changed = () => renew(fact, body);
  window.addEventListener(CHANGED, changed);
  modal({ "aria-labelledby": "fact-title" }, [title, body, closer()], { closed: () => window.removeEventListener(CHANGED, changed) });
  changed();
}

async function renew(fact, body) {
  body.setAttribute("aria-busy", "true");
  try {
    const scope = { agent_id: fact.scope.agent_id ?? undefined };
    const every = await get("v1/timeline", { subject: fact.subject, relation: fact.relation, topic: fact.topic, ...scope });
    const own = every.filter((one) => one.topic === fact.topic && one.scope.agent_id === fact.scope.agent_id);
    const ids = own.map((one) => one.id).slice(-SIDES);
    const standing = ids.length ? await get("v1/facts", { ids, ...scope }) : [];
    const doubts = new Map(standing.map((one) => [one.id, one.in_doubt]));
    put(body, parts(own.map((one) => ({ ...one, in_doubt: doubts.get(one.id) ?? "" })), ids, body));
  } catch (error) {
    body.replaceChildren(problem(error, () => renew(fact, body)));
  }
  body.removeAttribute("aria-busy");
}

function parts(facts, ids, body) {
  const done = () => {
    window.dispatchEvent(new Event(CHANGED));
    body.parentElement.querySelector("h2").focus({ preventScroll: true });
  };
  if (!facts.length) return empty("No value is left", "Its messages are hidden, or the decisions on it were undone.");
  const decisions = growing({
    load: (offset) => get("v1/view/decisions", { fact: ids, limit: 20, offset }),
    row: (one) => decision(one, done), noun: "decision", none: () => h("p", { class: "muted" }, "None."),
  });
  return [
    h("ol", { class: "plain list values", "aria-label": "Values, newest first" }, facts.toReversed().map(value)),
    may("write") && h("p", { class: "note" }, "A fact is what its messages say. To change a value, edit its message. To retire one, hide its message, or undo the decision that added it."),
    h("h2", {}, "Decisions on it"),
    decisions,
  ];
}

function value(fact) {
  const [kind, told] = standing(fact);
  return h("li", {},
    h("p", {}, h("bdi", { class: "value" }, fact.object), " ", h("span", { class: `badge ${kind}` }, told), fact.in_doubt && [" ", h("span", { class: "badge wait" }, "in doubt")]),
    h("dl", { class: "pairs wide" },
      pair("held in the world", span(fact)),
      pair("believed here", ["since ", time(fact.recorded_at), fact.retired_at && [" until ", time(fact.retired_at)]]),
      pair("confidence", `${rounded(fact.confidence)}, ${count(fact.strength, "statement")}`)),
    fact.reason && h("p", { class: "muted", dir: "auto" }, fact.reason),
    doubt(fact),
    h("p", { class: "foot" }, fact.episode_ids.slice(-SOURCES).map((id, i, all) => opener(id, all.length === 1 ? "Its message" : `Message ${i + 1}`))));
}

/** Why a fact is in doubt, with the message that took away what it rests on. */
export function doubt(fact) {
  if (!fact.in_doubt) return null;
  const [, why, id] = /^(.*), message (\S+)$/s.exec(fact.in_doubt) ?? [null, fact.in_doubt, null];
  return h("p", { class: "note warn", dir: "auto" }, why, id && [": ", opener(id, "the message that says so")]);
}

function standing(fact) {
  const now = Date.now();
  if (fact.status === "disputed") return ["wait", "disputed"];
  if (fact.valid_to && Date.parse(fact.valid_to) <= now) return ["", "past"];
  if (fact.status === "archived") return ["", "in the archive"];
  return fact.valid_from && Date.parse(fact.valid_from) > now ? ["", "not yet"] : ["good", "holds"];
}

const pair = (name, told) => h("div", {}, h("dt", {}, name), h("dd", {}, told));
