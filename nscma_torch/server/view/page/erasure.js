// Real deletion: find a message or take the whole user, confirm, and see the receipt.

import { may, post, state } from "./api.js";
import { add, announce, button, empty, field, fill, h } from "./dom.js";
import { count, origin } from "./format.js";
import { confirmErasure, kept, receipts } from "./erase_dialog.js";
import { found, marked } from "./highlight.js";
import { opener } from "./message.js";

export const title = "Erasure";
export const lead = "Deletes permanently. The store's files are then searched for remaining bytes, and a receipt shows the result.";

export function show(root, params, { signal, again }) {
  if (!may("erase")) {
    root.append(empty("This token lacks the right to erase", "Create one that has it:", h("code", {}, `nscma token add --user ${state.user} --can read,write,erase`)));
    return;
  }
  const text = h("input", { type: "search", autocomplete: "off", required: true, maxlength: 4000, value: params.get("q") ?? "" });
  const region = h("div");
  const done = () => {
    again();
    announce("erased");
  };
  const find = () => fill(region, async () => {
    const hits = await post("v1/search", { query: text.value, top_k: 20, kinds: ["chunk"] }, { signal });
    if (!hits.length) return empty("Nothing was found", "Try other words. Hidden messages are in the gate's list.");
    const one = new Map(hits.map((hit) => [hit.id, hit])); // a long message has several passages
    return [h("p", { class: "tally" }, count(one.size, "message")), h("ul", { class: "plain list" }, [...one.values()].map((hit) => h("li", {},
      origin(hit), h("p", { class: "clip", dir: "auto" }, marked(hit.text, found(hit.text, text.value))),
      h("p", { class: "foot" }, opener(hit.id, "Details"), " ", button("Erase…", () => confirmErasure({ message: hit, done }), { class: "danger" })))))];
  });
  const form = h("form", { class: "card asking", role: "search" }, field("Find the message", text, { class: "field wide" }), h("div", { class: "actions" }, h("button", { class: "primary" }, "Find")));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    find();
  });
  add(root,
    h("p", { class: "note" }, "To hide a message from searches and answers reversibly, open it and choose “Hide”."),
    form, region,
    receipts.length > 0 && h("section", { "aria-labelledby": "receipts" }, h("h2", { id: "receipts" }, "Receipts of this visit"), kept()),
    h("section", { class: "card danger-zone", "aria-labelledby": "everything" }, h("h2", { id: "everything" }, "Everything of this user"),
      h("p", {}, "All messages, facts, summaries and skills of ", h("bdi", { class: "value" }, state.user), "."),
      button("Erase everything…", () => confirmErasure({ message: null, done }), { class: "danger" })));
}
