// One message: its text, the gate's decision with its parts, its history, and what can be done with it.

import { act, get, may } from "./api.js";
import { announce, button, h, problem, put } from "./dom.js";
import { origin, rounded, time, why, words } from "./format.js";
import { confirmErasure } from "./erase_dialog.js";

/** A button that opens a message. */
export function opener(id, label, attributes = {}) {
  return button(label, () => open(id), { class: "link", ...attributes });
}

/** The event after which a view shows what it shows anew. */
export const CHANGED = "memorychanged";
const tell = () => window.dispatchEvent(new Event(CHANGED));

/** Show a message above the page. `changed` is called when it was hidden, restored or erased. */
export async function open(id, changed = tell) {
  const body = h("div", { class: "stack", "aria-busy": "true" }, h("p", { class: "muted" }, "Loading…"));
  const close = h("form", { method: "dialog", class: "close" }, h("button", { "aria-label": "Close", autofocus: true }, "×"));
  const dialog = h("dialog", { "aria-label": "Message" }, close, body);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  document.body.append(dialog);
  dialog.showModal();
  await renew(dialog, body, id, changed);
}

async function renew(dialog, body, id, changed) {
  try {
    const [page, events] = await Promise.all([
      get("v1/view/messages", { at: id, of: id, limit: 1 }),
      get(`v1/messages/${encodeURIComponent(id)}/history`, {}, { scope: "user" }),
    ]);
    const message = page.items.find((one) => one.id === id);
    put(body, parts(dialog, body, message, events, changed));
  } catch (error) {
    body.replaceChildren(problem(error, () => renew(dialog, body, id, changed)));
  }
  body.removeAttribute("aria-busy");
}

function parts(dialog, body, message, events, changed) {
  const again = async (done) => {
    announce(done);
    changed();
    await renew(dialog, body, message.id, changed);
  };
  const failed = (error) => body.append(problem(error));
  const hide = () => act("DELETE", `v1/messages/${message.id}`).then(() => again("hidden"), failed);
  const restore = () => act("POST", `v1/messages/${message.id}/restore`).then(() => again("restored"), failed);
  const erase = () => confirmErasure({ message, done: () => { dialog.close(); changed(); } });
  const deleted = message.status === "deleted";
  return [
    origin(message),
    deleted && h("p", { class: "note warn" }, "This message is hidden: searches and answers do not see it."),
    h("blockquote", { class: "said", dir: "auto" }, message.text),
    h("h2", {}, "What the gate decided"),
    message.decision ? decided(message.decision) : h("p", { class: "muted" }, "It was not asked."),
    h("h2", {}, "History"),
    h("ul", { class: "plain" }, events.map((event) => h("li", {},
      h("span", { class: "badge" }, event.event.toLowerCase()), " ", time(event.at),
      event.reason && h("span", { class: "muted" }, ` ${event.reason}`),
      event.event === "UPDATE" && h("p", { class: "muted", dir: "auto" }, "before: ", event.old_text)))),
    h("p", { class: "actions" },
      h("a", { class: "button", href: `#/gate?at=${message.id}`, onclick: () => dialog.close() }, "Show it in its conversation"),
      may("write") && !deleted && button("Hide", hide),
      may("write") && deleted && button("Restore", restore),
      may("erase") && button("Erase…", erase, { class: "danger" })),
    h("p", { class: "id" }, message.id),
  ];
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
