// The hierarchy of summaries as nested lists that open where one looks.

import { get, state } from "./api.js";
import { button, empty, fill, h, problem } from "./dom.js";
import { count, number } from "./format.js";
import { opener } from "./message.js";

export const title = "Hierarchy";
export const lead = "Messages summarised in clusters, and clusters of clusters. A message may be in several.";

const PAGE = 30;

export function show(root, _, { signal }) {
  const region = h("div");
  root.append(region);
  fill(region, async () => {
    const first = await get("v1/view/tree", { limit: PAGE }, { signal });
    if (!first.total) {
      const chunks = first.levels[0] ?? 0;
      return empty("No summaries yet", chunks ? `${count(chunks, "passage")} wait for enough similar ones.` : "The background worker builds them from the messages the gate wrote.",
        state.agents.length && state.agent === null ? "Each agent's messages have their own hierarchy: choose the agent above." : "");
    }
    return [levels(first.levels), branch(first, {}, signal)];
  });
}

function levels(sizes) {
  const tops = sizes.map((size, level) => h("li", {}, h("span", { class: "badge" }, level ? `level ${level}` : "passages"), ` ${number(size)}`)).reverse();
  return h("ul", { class: "legend plain", "aria-label": "Nodes by level" }, tops);
}

/** A list of nodes with what follows on the next pages. */
function branch(page, below, signal) {
  const list = h("ul", { class: "tree" });
  const more = h("p", { class: "more" });
  let offset = 0;
  const add = (items, total) => {
    const made = items.map((one) => item(one, signal));
    list.append(...made);
    offset += items.length;
    more.replaceChildren(...(offset < total && items.length ? [button(`Show more of ${number(total)}`, next)] : []));
    return made;
  };
  const next = async () => {
    try {
      const { items, total } = await get("v1/view/tree", { ...below, limit: PAGE, offset }, { signal });
      add(items, total)[0]?.querySelector("summary, button")?.focus();
    } catch (error) {
      if (error.name !== "AbortError") more.append(problem(error));
    }
  };
  add(page.items, page.total);
  return [list, more];
}

function item(one, signal) {
  if (one.level === 0) {
    return h("li", { class: "leaf" }, h("p", { class: "clip", dir: "auto" }, one.text || "message hidden"), one.message && opener(one.message, "Details"));
  }
  const inside = h("div", { class: "inside" });
  const details = h("details", {},
    h("summary", {}, h("span", { class: "badge" }, `level ${one.level}`), h("span", { class: "muted" }, ` ${count(one.members, one.level === 1 ? "passage" : "cluster")} `),
      h("span", { class: "clip", dir: "auto" }, one.text || "summary pending")),
    inside);
  details.addEventListener("toggle", () => {
    if (!details.open || inside.childNodes.length) return;
    const below = { level: one.level, number: one.number };
    fill(inside, async () => branch(await get("v1/view/tree", { ...below, limit: PAGE }, { signal }), below, signal));
  });
  return h("li", {}, details);
}
