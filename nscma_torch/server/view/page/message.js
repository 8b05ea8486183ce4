// One message: its text, what was read from it, the gate's decision, its history, and what can be done with it.

import { act, get, may, post } from "./api.js";
import { closer, modal } from "./dialog.js";
import { announce, button, h, problem, put } from "./dom.js";
import { confirmErasure } from "./erase_dialog.js";
import { factOpener } from "./fact.js";
import { origin, predicate, rounded, span, time, why, words } from "./format.js";
import { editor } from "./message_edit.js";

/** A button that opens a message. */
export function opener(id, label, attributes = {}) {
  return button(label, () => open(id), { class: "link", "data-opens": id, ...attributes });
}

/** The event after which a view shows what it shows anew. */
export const CHANGED = "memorychanged";
const tell = () => window.dispatchEvent(new Event(CHANGED));

/** Show a message above the page. `changed` is called when it was edited, hidden, restored or erased. */
export async function open(id, changed = tell) {
  const view = { id, changed, editing: null, body: h("div", { class: "stack", "aria-busy": "true" }, h("p", { class: "muted" }, "Loading…")) };
  const title = h("h2", { id: "message-title", tabindex: "-1", autofocus: true }, "Message");
  const leave = () => view.editing === null || view.editing.leave();
  view.dialog = modal({ "aria-labelledby": "message-title" }, [title, view.body, closer()], { leave });
  await renew(view);
}

/** Show the message as it is now; `note` says what has just been done. */
async function renew(view, note = null) {
  view.editing = null;
  view.body.setAttribute("aria-busy", "true");
  try {
    const at = `v1/messages/${encodeURIComponent(view.id)}`;
    const [page, events, resting] = await Promise.all([
      get("v1/view/messages", { at: view.id, of: view.id, limit: 1 }),
      get(`${at}/history`, {}, { scope: "user" }),
      get("v1/view/resting", { memory_id: view.id }, { scope: "user" }),
    ]);
    const message = page.items.find((one) => one.id === view.id);
    put(view.body, note, parts(view, message, events, resting));
  } catch (error) {
    view.body.replaceChildren(problem(error, () => renew(view)));
  }
  view.body.removeAttribute("aria-busy");
}

function parts(view, message, events, resting) {
  const path = `v1/messages/${encodeURIComponent(message.id)}`;
  const failed = h("div");
  const done = async (told, note = null) => {
    announce(told);
    view.changed();
    await renew(view, note);
    view.dialog.querySelector("h2").focus({ preventScroll: true });
  };
  const doing = (request, told) => async (event) => {
    event.target.disabled = true;
    try {
      await request();
      await done(told, h("p", { class: "note good" }, told));
    } catch (error) {
      event.target.disabled = false;
      failed.replaceChildren(problem(error));
    }
  };
  const judged = (helpful) => doing(() => post(`${path}/feedback`, { helpful }, { scope: "user" }), helpful ? "Noted as helpful." : "Noted as not helpful.");
  const said = h("div", {}, h("blockquote", { class: "said", dir: "auto" }, message.text));
  const edit = (text = message.text) => {
    view.editing?.leave();
    if (view.editing) return; // it has a change that is not saved
    const cancelled = () => {
      view.editing = null;
      actions.hidden = false;
      put(said, h("blockquote", { class: "said", dir: "auto" }, message.text));
      change.focus();
    };
    view.editing = editor({ message, text, cancelled, saved: (note) => done("saved", note) });
    actions.hidden = true;
    failed.replaceChildren();
    put(said, view.editing.element);
    view.editing.focus();
  };
  const change = may("write") && button("Edit", () => edit());
  const deleted = message.status === "deleted";
  const actions = h("p", { class: "actions" },
    change,
    may("write") && !deleted && button("Hide", doing(() => act("DELETE", path), "Hidden, with the replies written from it. “Restore” brings it back.")),
    may("write") && deleted && button("Restore", doing(() => act("POST", `${path}/restore`), "Restored.")),
    may("erase") && button("Erase…", () => confirmErasure({ message, done: () => { view.dialog.close(); view.changed(); } }), { class: "danger" }),
    h("a", { class: "button", href: `#/gate?at=${message.id}`, onclick: () => view.dialog.close() }, "Show it in its conversation"));
  return [
    origin(message),
    deleted && h("p", { class: "note warn" }, "This message is hidden: searches and answers do not see it."),
    said,
    actions,
    failed,
    h("h2", {}, "Facts read from it"),
    read(resting),
    h("h2", {}, "What the gate decided"),
    message.decision ? decided(message.decision) : h("p", { class: "muted" }, "It was not asked."),
    may("write") && [h("h2", {}, "Was it helpful?"), h("p", { class: "muted" }, "A helpful message is forgotten later and ranks higher."), h("p", { class: "actions" }, button("Helpful", judged(true)), button("Not helpful", judged(false)))],
    h("h2", {}, "History"),
    h("ul", { class: "plain" }, events.map((event) => happened(event, may("write") ? edit : null))),
    h("p", { class: "id" }, message.id),
  ];
}

function read({ gone, kept }) {
  const facts = [...gone, ...kept];
  if (!facts.length) return h("p", { class: "muted" }, "None.");
  return h("ul", { class: "plain" }, facts.map((fact) => h("li", {},
    h("bdi", {}, fact.subject), " ", predicate(fact), " ", h("bdi", { class: "value" }, fact.object), h("span", { class: "muted" }, ` ${span(fact)} `), factOpener(fact))));
}

function happened(event, edit) {
  const changed = event.event === "UPDATE" && event.old_text !== event.new_text;
  return h("li", {},
    h("span", { class: "badge" }, event.event.toLowerCase()), " ", time(event.at),
    event.reason && h("span", { class: "muted", dir: "auto" }, ` ${event.reason}`),
    changed && h("p", { class: "muted", dir: "auto" }, "before: ", h("span", { class: "before" }, event.old_text)),
    changed && edit && button("Edit from this text", () => edit(event.old_text), { class: "link" }));
}

/** A decision of the gate in full. */
export function decided(decision) {
  const pieces = Object.entries(decision.parts);
  return h("div", {},
    h("p", {}, h("span", { class: `badge ${decision.write ? "good" : "wait"}` }, decision.write ? "written" : "deferred"), " ", why(decision)),
    h("dl", { class: "pairs" },
      pair("score", rounded(decision.score)), pair("threshold", rounded(decision.threshold)),
      pair("surprise", `${rounded(decision.surprise)} nats a token`), pair("information", `${rounded(decision.information, 1)} nats`),
      pair("rule", words(decision.rule))),
    pieces.length > 0 && h("details", {}, h("summary", {}, "Parts of the score"),
      h("dl", { class: "pairs" }, pieces.map(([name, value]) => pair(words(name), rounded(value, 3))))));
}

const pair = (name, value) => h("div", {}, h("dt", {}, name), h("dd", {}, value));
