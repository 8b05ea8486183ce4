// Facts on both clocks: when they held in the world, and (by the second control) what was believed when.

import { get } from "./api.js";
import { button, empty, field, h, s } from "./dom.js";
import { doubt, factOpener } from "./fact.js";
import { day, fromLocal, predicate, rounded, span, time, toLocal, when } from "./format.js";
import { growing } from "./pages.js";
import { opener } from "./message.js";

export const title = "Timeline";
export const lead = "What holds, since when, and what it replaced. Two clocks: when something was true in the world, and when this memory believed it.";

const STEPS = 1000;
const PAGE = 25;
const TRACKS = 6; // bars above each other in one row
const LISTED = 3; // values of a row that are not folded

let outdated = () => {};

/** Load the facts again, with the clocks and the filter as they are. */
export let renew = () => {};

export function show(root, params, { signal }) {
  const view = { world: null, known: null, extent: null, rows: [] };
  const text = h("input", { type: "search", value: params.get("text") ?? "", autocomplete: "off", maxlength: 400 });
  const changed = h("input", { type: "checkbox", checked: params.has("changed") });
  const stale = h("div", { role: "status" });
  const axis = h("div", { class: "axis", "aria-hidden": "true" });
  const region = h("div");
  const begin = () => {
    view.rows = [];
    stale.replaceChildren();
    const list = h("div", { class: "lanes" });
    region.replaceChildren(axis, growing({ load, row, noun: "subject and relation", many: "subjects and relations", none, list }));
  };
  const load = async (offset) => {
    const asked = { text: text.value, changed: changed.checked, known_at: view.known && new Date(view.known).toISOString(), limit: PAGE, offset };
    const page = await get("v1/view/facts", asked, { signal });
    if (view.extent === null && page.extent.recorded) {
      view.extent = bounds(page.extent);
      world.over(view.extent.begin, view.extent.end);
      known.over(view.extent.recorded, Date.now());
    }
    if (view.extent) axis.replaceChildren(...ticks(view));
    return page;
  };
  const row = (facts) => {
    const made = new Row(facts, view);
    view.rows.push(made);
    return made.element;
  };
  const none = () => text.value || changed.checked || view.known
    ? empty("No fact fits", "Clear the filter, or move the clocks back to now.")
    : empty("No facts yet", "Facts are read from messages that say something lasting, a while after they were added. They then stand here with what they replaced.");
  const world = clock("Held in the world on", (at) => {
    view.world = at;
    if (view.extent) axis.replaceChildren(...ticks(view));
    view.rows.forEach((one) => one.draw());
  }, { live: true });
  const known = clock("As this memory knew it on", (at) => {
    view.known = at;
    begin();
  });
  const form = h("form", { class: "card filters" },
    field("Subject, relation or value", text),
    h("div", { class: "check" }, h("label", {}, changed, " only what changed")),
    h("div", { class: "clocks" }, world.element, known.element));
  form.addEventListener("submit", (event) => event.preventDefault());
  let typing;
  text.addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(begin, 300); });
  changed.addEventListener("change", begin);
  renew = begin;
  outdated = () => stale.replaceChildren(h("p", { class: "note" }, "Facts have changed since. ", button("Show them", begin, { class: "link" })));
  root.append(form, stale, legend(), region);
  begin();
}

export function changed(stats, before) {
  if (before && JSON.stringify(stats.facts) !== JSON.stringify(before.facts)) outdated();
}

function bounds(extent) {
  const now = Date.now();
  const begin = Date.parse(extent.begin ?? extent.recorded);
  const end = Math.max(now, Date.parse(extent.end ?? extent.recorded));
  return { begin: begin - (end - begin) * 0.02, end: end + (end - begin) * 0.02, recorded: Date.parse(extent.recorded) };
}

/** A slider with a field for the exact time; "now" is the time that moves on. */
function clock(label, moved, { live = false } = {}) {
  const slider = h("input", { type: "range", min: 0, max: STEPS, value: STEPS, step: 1, disabled: true });
  const exact = h("input", { type: "datetime-local", step: 1, "aria-label": `${label}, exactly` });
  const now = button("Now", () => set(null), { class: "quiet", disabled: true });
  let from = 0;
  let to = 1;
  const set = (at, { silent = false } = {}) => {
    slider.value = at === null ? STEPS : ((at - from) / (to - from)) * STEPS;
    slider.setAttribute("aria-valuetext", at === null ? "now" : when(new Date(at).toISOString()));
    exact.value = at === null ? "" : toLocal(at);
    now.disabled = at === null;
    if (!silent) moved(at);
  };
  const chosen = () => (Number(slider.value) === STEPS ? null : from + ((to - from) * Number(slider.value)) / STEPS);
  slider.addEventListener("input", () => set(chosen(), { silent: !live }));
  slider.addEventListener("change", () => set(chosen()));
  exact.addEventListener("change", () => set(exact.value ? Date.parse(fromLocal(exact.value)) : null));
  const over = (a, b) => {
    [from, to] = [a, Math.max(b, a + 1000)];
    slider.disabled = false;
    set(null, { silent: true });
  };
  return { element: h("div", { class: "clock" }, field(label, slider), h("div", { class: "exact" }, exact, now)), over };
}

function legend() {
  const one = (kind, text) => h("li", {}, h("span", { class: `key ${kind}` }), text);
  return h("ul", { class: "legend plain" }, one("holds", "holds at that time"), one("past", "before or after"), one("disputed", "disputed"), one("archived", "in the archive"));
}

const share = (at, view) => `${((100 * (at - view.extent.begin)) / (view.extent.end - view.extent.begin)).toFixed(3)}%`;

function ticks(view) {
  const { begin, end } = view.extent;
  const narrow = window.innerWidth < 700;
  const step = [1, 7, 30.44, 91.3, 182.6, 365.25, 730.5, 1826, 3652].map((days) => days * 864e5).find((size) => (end - begin) / size <= (narrow ? 3 : 7)) ?? 9e14;
  const labels = [];
  for (let at = Math.ceil(begin / step) * step; at < end; at += step) {
    const left = (at - begin) / (end - begin);
    if (left < 0.92) labels.push(s("text", { x: share(at, view), y: 14, class: "tick" }, day(new Date(at).toISOString())));
    labels.push(s("line", { x1: share(at, view), x2: share(at, view), y1: 18, y2: 24, class: "tick-line" }));
  }
  return [h("span", {}), s("svg", { height: 24, width: "100%" }, labels)];
}

/** What has one subject, relation and topic: bars over world time, and the same as a list. */
class Row {
  constructor(facts, view) {
    this.facts = facts;
    this.view = view;
    this.drawing = h("div", { class: "lane", "aria-hidden": "true" });
    this.list = h("div", { class: "values" });
    const [first] = facts;
    const name = h("a", { href: `#/graph?entity=${encodeURIComponent(first.subject)}` }, h("bdi", {}, first.subject));
    const heading = h("h3", {}, name, " ", predicate(first), " ", factOpener(first));
    this.element = h("section", { class: "row" }, heading, this.drawing, this.list);
    this.draw();
  }

  /** How a fact stands at the chosen world time. */
  kind(fact) {
    const at = this.view.world ?? Date.now();
    const holds = (!fact.valid_from || Date.parse(fact.valid_from) <= at) && (!fact.valid_to || at < Date.parse(fact.valid_to));
    if (fact.status === "disputed") return "disputed";
    if (fact.status === "archived" && !fact.valid_to) return "archived"; // it lost, or was forgotten
    return holds ? "holds" : "past";
  }

  draw() {
    if (!this.view.extent) return;
    const { begin, end } = this.view.extent;
    const tracks = [];
    const bars = [];
    for (const fact of this.facts) {
      const from = fact.valid_from ? Date.parse(fact.valid_from) : begin;
      const to = fact.valid_to ? Date.parse(fact.valid_to) : end;
      let track = tracks.findIndex((until) => until <= from);
      if (track < 0) track = tracks.push(0) - 1;
      tracks[track] = to;
      if (track < TRACKS) bars.push(this.bar(fact, from, Math.max(to, from + (end - begin) * 0.006), track));
    }
    const height = Math.min(tracks.length, TRACKS) * 24 + 4;
    const at = share(this.view.world ?? Date.now(), this.view);
    this.drawing.replaceChildren(s("svg", { height, width: "100%" }, bars, s("line", { x1: at, x2: at, y1: 0, y2: height, class: this.view.world ? "at chosen" : "at" })));
    const items = this.facts.map((fact) => this.value(fact)).reverse();
    const folded = items.length > LISTED && h("details", {}, h("summary", {}, `${items.length - LISTED} more`), h("ul", { class: "plain" }, items.slice(LISTED)));
    const open = this.list.querySelector("details")?.open;
    this.list.replaceChildren(...[h("ul", { class: "plain" }, items.slice(0, LISTED)), folded].filter(Boolean));
    if (open && folded) folded.open = true;
  }

  bar(fact, from, to, track) {
    const width = `${((100 * (to - from)) / (this.view.extent.end - this.view.extent.begin)).toFixed(3)}%`;
    const kind = this.kind(fact);
    return s("svg", { x: share(from, this.view), y: track * 24 + 2, width, height: 22, class: `bar ${kind}` },
      s("title", {}, `${fact.object}, ${span(fact)}`),
      s("rect", { x: 0.5, y: 0.5, width: "100%", height: 21, rx: 4 }),
      s("text", { x: 7, y: 15 }, fact.object));
  }

  value(fact) {
    const kind = this.kind(fact);
    const said = { holds: "holds", past: "not at that time", disputed: "disputed", archived: "in the archive" }[kind];
    const sources = fact.episode_ids.slice(-3);
    return h("li", { class: `value-line ${kind}` },
      h("span", { class: `key ${kind}` }, h("span", { class: "unseen" }, said)), " ",
      h("bdi", { class: "value" }, fact.object), " ", h("span", { class: "muted" }, span(fact)), fact.in_doubt && [" ", h("span", { class: "badge wait" }, "in doubt")],
      fact.reason && fact.status !== "active" && h("span", { class: "muted" }, ", ", h("bdi", {}, fact.reason)), " ",
      h("details", { class: "inline" }, h("summary", {}, "why"),
        h("p", { class: "muted" }, fact.reason && [h("bdi", {}, fact.reason), "; "], "believed since ", time(fact.recorded_at), fact.retired_at && [" until ", time(fact.retired_at)],
          `; confidence ${rounded(fact.confidence)}, ${fact.strength === 1 ? "one statement" : `${fact.strength} statements`} `,
          sources.map((id, i) => [" ", opener(id, sources.length === 1 ? "message" : `message ${i + 1}`)])),
        doubt(fact)));
  }
}
