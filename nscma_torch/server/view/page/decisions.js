// One decision of the curator with a way back, and one proposal that two names mean the same.

import { act, get, may } from "./api.js";
import { announce, button, h, problem } from "./dom.js";
import { predicate, said, time } from "./format.js";

const ACTIONS = { ADD: ["good", "added"], UPDATE: ["", "replaced"], ARCHIVE: ["wait", "archived"], NOOP: ["", "known already"], MERGE: ["", "merged"], PROPOSE: ["wait", "may be the same"] };
const OF_NAMES = { MERGE: "into", PROPOSE: "and" }; // these are about two names

/** A page of the proposals that nobody has accepted or dismissed. */
export const proposals = (values, options) => get("v1/view/decisions", { ...values, proposals: true }, options);

/** A decision as an item of a list. `done()` is called once it is undone. */
export function decision(one, done) {
  const [kind, label] = ACTIONS[one.action] ?? ["", one.action.toLowerCase()];
  const undo = one.action !== "PROPOSE" && [["undo", "Undo", "undone", `Undo: ${label} ${said(one)} ${one.object}`]];
  return item(one, [kind, label], undo || [], done);
}

/** A proposal as an item of a list. `done()` is called once it is accepted or dismissed. */
export function proposal(one, done) {
  const both = `${one.subject} and ${one.object}`;
  return item(one, ACTIONS.PROPOSE, [["merge", "Merge them", "merged", `Merge ${both}`], ["undo", "They differ", "dismissed", `Dismiss: ${both} differ`]], done);
}

function item(one, [kind, label], changes, done) {
  const failed = h("div", { class: "wide" });
  const change = (what, told) => async (event) => {
    event.target.disabled = true;
    try {
      await act("POST", `v1/decisions/${encodeURIComponent(one.id)}/${what}`);
      announce(told);
      done();
    } catch (error) {
      event.target.disabled = false;
      failed.replaceChildren(problem(error));
    }
  };
  return h("li", { class: `decision ${one.undone ? "undone" : ""}` },
    h("p", {}, h("span", { class: `badge ${kind}` }, label), " ",
      h("bdi", {}, one.subject), " ", OF_NAMES[one.action] ?? predicate(one), " ", h("bdi", { class: "value" }, one.object),
      one.undone && h("span", { class: "badge" }, "taken back")),
    h("p", { class: "muted", dir: "auto" }, time(one.at), one.reason && `, ${one.reason}`),
    may("write") && !one.undone && changes.length > 0 && h("p", { class: "back actions" },
      changes.map(([what, text, told, about]) => button(text, change(what, told), { "aria-label": about }))),
    failed);
}
