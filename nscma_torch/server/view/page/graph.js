// The facts around one entity as a drawing whose nodes are links, and the same facts as a table.

import { get } from "./api.js";
import { proposal, proposals } from "./decisions.js";
import { empty, field, fill, h, s } from "./dom.js";
import { factOpener } from "./fact.js";
import { count, fromLocal, number, points, predicate, span } from "./format.js";
import { placed } from "./layout.js";
import { opener } from "./message.js";

export const title = "Graph";
export const lead = "The facts around a person, place or thing. Click a node to open it.";

const TYPING = 200; // milliseconds
const PROPOSALS = 200; // that are looked through for the entity

export function show(root, params, { signal, again }) {
  const list = h("datalist", { id: "entities" });
  const name = h("input", { type: "search", list: "entities", value: params.get("entity") ?? "", autocomplete: "off", maxlength: 400 });
  const at = h("input", { type: "datetime-local", value: params.get("at") ?? "" });
  const region = h("div");
  const often = h("div");
  const go = () => {
    const query = new URLSearchParams({ ...(name.value && { entity: name.value }), ...(at.value && { at: at.value }) });
    location.hash = `#/graph?${query}`;
  };
  const form = h("form", { class: "card filters", role: "search" },
    field("Person, place or thing", name), field("As of", at), list,
    h("div", { class: "actions" }, h("button", { class: "primary" }, "Show")));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    go();
  });
  let typing;
  name.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(async () => {
      const { items } = await get("v1/view/entities", { text: name.value, limit: 12 }, { signal }).catch(() => ({ items: [] }));
      list.replaceChildren(...items.map(([one]) => h("option", { value: one })));
    }, TYPING);
  });
  root.append(form, often, region);
  fill(often, async () => {
    const { items } = await get("v1/view/entities", { limit: 10 }, { signal });
    return items.length ? h("ul", { class: "chips plain", "aria-label": "Most facts" }, items.map(([one, facts]) => h("li", {}, link(one, at.value, h("bdi", {}, one), h("span", { class: "muted" }, ` ${number(facts)}`))))) : [];
  });
  fill(region, async () => {
    const narrow = root.clientWidth < 700;
    const asked = { entity: params.get("entity"), as_of: fromLocal(at.value), limit: narrow ? 14 : 36, further: narrow ? 4 : 16 };
    const graph = await get("v1/view/graph", asked, { signal });
    if (graph.name === null) return empty("No facts yet", "Facts are extracted from messages some time after these are added. Their subjects are then listed here.");
    name.value ||= graph.name;
    if (!graph.facts.length) return empty(`Nothing is known of ${graph.name}`, at.value ? "Try another time." : "Choose one of the names above, or type part of one.");
    const same = await namesakes(graph.name, again, signal);
    return [same, around(graph, at.value, narrow, root.clientWidth)];
  });
}

/** The open proposals that this entity is the same as another one. */
async function namesakes(name, again, signal) {
  const { items } = await proposals({ limit: PROPOSALS }, { signal });
  const own = items.filter((one) => [one.subject, one.object].some((each) => each.toLowerCase() === name.toLowerCase()));
  return own.length > 0 && h("ul", { class: "plain card", "aria-label": "May be the same" }, own.map((one) => proposal(one, () => again({ focus: true }))));
}

function link(entity, at, ...children) {
  const query = new URLSearchParams({ entity, ...(at && { at }) });
  return h("a", { href: `#/graph?${query}` }, children);
}

function around(graph, at, narrow, room) {
  const own = graph.facts.filter((fact) => fact.subject === graph.name || fact.object === graph.name);
  const missing = graph.total - own.length;
  return [
    h("div", { class: "columns graph" },
      h("figure", {}, drawn(graph, at, narrow, room), h("figcaption", { class: "muted" }, `${count(own.length, "fact")} at `, h("bdi", {}, graph.name), missing > 0 ? `, the newest of ${number(graph.total)}` : "", ", and some next to its neighbours. Dashed: disputed.")),
      h("section", { "aria-labelledby": "graph-facts" },
        h("h2", { id: "graph-facts" }, "As a table"),
        h("div", { class: "scroll", tabindex: "0", role: "region", "aria-labelledby": "graph-facts" }, table(graph, at)))),
  ];
}

function table(graph, at) {
  const rows = graph.facts.map((fact) => h("tr", {},
    h("td", {}, link(fact.subject, at, h("bdi", {}, fact.subject))),
    h("td", {}, predicate(fact)),
    h("td", {}, link(fact.object, at, h("bdi", {}, fact.object))),
    h("td", { class: "muted" }, span(fact), fact.status !== "active" && h("span", { class: "badge wait" }, fact.status)),
    h("td", {}, opener(fact.episode_ids.at(-1), "source"), " ", factOpener(fact, "history"))));
  return h("table", {}, h("thead", {}, h("tr", {}, ["Subject", "Relation", "Object", "When", "From"].map((one) => h("th", { scope: "col" }, one)))), h("tbody", {}, rows));
}

function drawn(graph, at, narrow, room) {
  const width = narrow ? Math.max(300, room - 2) : Math.min(760, Math.max(520, room * 0.56));
  const height = narrow ? 420 : 560;
  const names = [...new Set([graph.name, ...graph.facts.flatMap((fact) => [fact.subject, fact.object])])];
  const pairs = graph.facts.map((fact) => [fact.subject, fact.object]).filter(([a, b]) => a !== b);
  const sizes = new Map(names.map((one) => [one, broad(cut(one, narrow ? 13 : 20))]));
  const places = placed(names, pairs, width, height, sizes);
  const many = names.length > 26;
  const edges = graph.facts.filter((fact) => fact.subject !== fact.object).map((fact) => edge(fact, places, graph.name, many));
  const nodes = names.map((one) => node(one, places.get(one), one === graph.name, at, narrow));
  return s("svg", { viewBox: `0 0 ${width} ${height}`, width, height, class: "graph-drawing", role: "group", "aria-label": `Graph around ${graph.name}: ${count(names.length, "node")}, ${count(edges.length, "edge")}` },
    edges.map(([line]) => line), edges.map(([, label]) => label), nodes);
}

function edge(fact, places, middle, many) {
  const a = places.get(fact.subject);
  const b = places.get(fact.object);
  const near = fact.subject === middle || fact.object === middle;
  const line = s("line", { x1: a.x, y1: a.y, x2: b.x, y2: b.y, class: `edge ${fact.status === "disputed" ? "disputed" : ""} ${near ? "near" : ""}` });
  const label = near && !many ? s("text", { x: (a.x + 1.25 * b.x) / 2.25, y: (a.y + 1.25 * b.y) / 2.25, class: "edge-label", "aria-hidden": "true" }, cut(predicate(fact).textContent, 18)) : null;
  return [line, label];
}

function node(name, at, middle, time, narrow) {
  const shown = cut(name, narrow ? 13 : 20);
  const wide = broad(shown);
  const query = new URLSearchParams({ entity: name, ...(time && { at: time }) });
  return s("a", { href: `#/graph?${query}`, class: `node ${middle ? "middle" : ""}`, "aria-label": name, "aria-current": middle && "true" },
    s("title", {}, name),
    s("rect", { x: at.x - wide / 2, y: at.y - 13, width: wide, height: 26, rx: 13 }),
    s("text", { x: at.x, y: at.y + 4.5 }, shown));
}

/** Width of a label in pixels, about. */
const broad = (text) => points(text).reduce((sum, one) => sum + (one.codePointAt(0) > 0x2e80 ? 13 : 7.2), 0) + 18;

function cut(text, most) {
  const letters = points(text);
  return letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : text;
}
