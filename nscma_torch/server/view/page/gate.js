// Messages of a conversation in their order, with what the gate decided on each, and why.

import { get, may } from "./api.js";
import { button, empty, field, fill, h } from "./dom.js";
import { count, day, number, rounded, time, why } from "./format.js";
import { curve } from "./curve.js";
import { open } from "./message.js";
import { growing } from "./pages.js";

export const title = "Gate";
export const lead = "Every message is stored and searchable. The gate decides which ones are processed now (written) and which wait for sleep or a recall (deferred).";

let outdated = () => {};

export function show(root, params, { signal }) {
  const view = { at: params.get("at"), of: params.get("at"), deferred: "" };
  const region = h("div");
  const stale = h("div", { role: "status" });
  const picked = h("p", { class: "picked" });
  const kinds = [["", "all"], ["false", "written"], ["true", "deferred"]].map(([value, label]) => h("option", { value }, label));
  const filter = h("select", { onchange: () => { view.deferred = filter.value; turn({}); } }, kinds);
  const conversations = h("details", { class: "card chooser" }, h("summary", {}, "Choose a conversation or document"));
  conversations.addEventListener("toggle", () => {
    if (conversations.open && conversations.children.length === 1) conversations.append(choices(signal, choose));
  });
  const choose = (one) => {
    conversations.open = false;
    view.of = one?.first ?? null;
    picked.replaceChildren(...named(one));
    turn({});
  };
  const turn = (beside) => {
    stale.replaceChildren();
    const renew = () => turn(beside);
    return fill(region, async () => {
      const limit = root.clientWidth < 700 ? 40 : 100;
      const page = await get("v1/view/messages", { of: view.of, deferred: view.deferred, limit, ...beside }, { signal });
      if (!page.total) return none(view);
      return [pager(page, turn), drawing(page, root, renew), table(page, view, renew), pager(page, turn)];
    });
  };
  outdated = (more) => stale.replaceChildren(h("p", { class: "note" }, `${count(more, "message")} more since. `, button("Show the newest", () => turn({}), { class: "link" })));
  root.append(h("div", { class: "filters row-form" }, conversations, field("Decision", filter)), picked, stale, region);
  turn(view.at ? { at: view.at } : {});
}

export function changed(stats, before) {
  if (before && stats.messages > before.messages) outdated(stats.messages - before.messages);
}

function none(view) {
  if (view.deferred) return empty("No matching messages", "Choose another filter, or all.");
  return empty("No messages yet", may("write") ? "Add one on the overview, or a file with `nscma add`." : "This user has no messages.");
}

function choices(signal, choose) {
  const load = (offset) => get("v1/view/conversations", { limit: 20, offset }, { signal });
  const row = (one) => h("li", {}, button([
    h("span", { class: "value", dir: "auto" }, label(one)), h("span", { class: "muted" }, ` ${count(one.messages, "message")}, ${number(one.deferred)} deferred, last ${day(one.last_at)}`),
    h("span", { class: "clip one", dir: "auto" }, one.opening)], () => choose(one), { class: "choice" }));
  return h("div", {}, button("All messages of this user", () => choose(null), { class: "link" }), growing({ load, row, noun: "conversation", none: () => empty("No conversation yet") }));
}

const label = (one) => one.source ?? one.session ?? (one.scope.agent_id ? `with ${one.scope.agent_id}` : "unnamed conversation");
const named = (one) => (one ? [h("bdi", { class: "value" }, label(one)), h("span", { class: "muted" }, ` ${count(one.messages, "message")}`)] : []);

function pager(page, turn) {
  const first = page.skipped + 1;
  const last = page.skipped + page.items.length;
  return h("nav", { class: "pager", "aria-label": "Pages" },
    button("← Older", () => turn({ before: page.items[0].id }), { disabled: first <= 1 }),
    h("span", {}, `${number(first)}–${number(last)} of ${number(page.total)}`),
    button("Newer →", () => turn({ after: page.items.at(-1).id }), { disabled: last >= page.total }),
    last < page.total && button("Newest", () => turn({})));
}

function drawing(page, root, renew) {
  const width = Math.max(300, root.clientWidth - 34);
  const legend = [["written", "written"], ["deferred", "deferred"], ["threshold", "threshold"]].map(([kind, text]) => h("li", {}, h("span", { class: `key ${kind}` }), text));
  return h("figure", { class: "card" }, h("ul", { class: "legend plain" }, legend), curve(page.items, width, (i) => open(page.items[i].id, renew)));
}

function table(page, view, renew) {
  const rows = page.items.map((message) => {
    const decision = message.decision;
    const kind = message.status === "deleted" ? ["", "hidden"] : decision ? (decision.write ? ["good", "written"] : ["wait", "deferred"]) : ["", "not asked"];
    return h("tr", { class: message.id === view.at && "chosen" },
      h("td", { class: "said-cell" }, h("p", { class: "origin" }, h("bdi", { class: "who" }, message.name ?? message.role), " ", time(message.occurred_at)), button(h("span", { class: "clip", dir: "auto" }, message.text), () => open(message.id, renew), { class: "plain-button" })),
      h("td", {}, h("span", { class: `badge ${kind[0]}` }, kind[1])),
      h("td", { class: "numeric", "data-label": "score" }, decision ? rounded(decision.score) : "–"),
      h("td", { class: "numeric", "data-label": "threshold" }, decision ? rounded(decision.threshold) : "–"),
      h("td", { class: "numeric", "data-label": "surprise" }, decision ? rounded(decision.surprise) : "–"),
      h("td", { class: "why" }, decision ? why(decision) : ""));
  });
  const heads = ["Message", "Decision", "Score", "Threshold", "Surprise", "Why"].map((one) => h("th", { scope: "col" }, one));
  return h("table", { class: "log" }, h("caption", { class: "unseen" }, "Messages and decisions"), h("thead", {}, h("tr", {}, heads)), h("tbody", {}, rows));
}
