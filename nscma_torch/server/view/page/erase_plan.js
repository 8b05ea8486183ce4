// What an erasure would take, said before it is confirmed.

import { get, state } from "./api.js";
import { h } from "./dom.js";
import { count, predicate } from "./format.js";
import { facts } from "./live.js";

const NAMED = 8; // facts that are named, of each kind

/** What goes with a message, as nodes. */
export async function planOfMessage(id) {
  const { gone, kept, replies, texts } = await get("v1/view/resting", { memory_id: id }, { scope: "user" });
  return [
    h("p", {}, "What will be gone:"),
    h("ul", { class: "will-go" },
      h("li", {}, "this message, with its earlier texts"),
      replies.length > 0 && h("li", {}, `${count(replies.length, "reply", "replies")} written from it`),
      gone.length > 0 && h("li", {}, `${count(gone.length, "fact")} that nothing else says:`, named(gone)),
      texts > 0 && h("li", {}, `${count(texts, "summary or derived text", "summaries and derived texts")}, to be written again without it`)),
    kept.length > 0 && [h("p", {}, `${count(kept.length, "fact")} will stay, since other messages say it too:`), named(kept)],
  ];
}

/** What goes with a user, as nodes. */
export async function planOfUser() {
  const stats = await get("v1/stats", {}, { scope: "user" });
  const archived = stats.facts.archived ?? 0;
  return [
    h("p", {}, "What will be gone of ", h("bdi", { class: "value" }, state.user), ":"),
    h("ul", { class: "will-go" },
      h("li", {}, `${count(stats.messages, "message")}, hidden ones included`),
      h("li", {}, `${count(facts(stats) + archived, "fact")}, with their history and decisions`),
      h("li", {}, "every summary, profile, record and skill")),
  ];
}

function named(some) {
  const rows = some.slice(0, NAMED).map((fact) => h("li", {}, h("bdi", {}, fact.subject), " ", predicate(fact), " ", h("bdi", { class: "value" }, fact.object)));
  return h("ul", {}, rows, some.length > NAMED && h("li", { class: "muted" }, `and ${some.length - NAMED} more`));
}
