// What there is, what came last, and a place to add something.

import { outcomes } from "./add_files.js";
import { get, may, post, state } from "./api.js";
import { add, announce, empty, field, fill, h, problem, put } from "./dom.js";
import { fileField } from "./drops.js";
import { number, origin } from "./format.js";
import { facts } from "./live.js";
import { opener } from "./message.js";

export const title = "Overview";
export const lead = "What this memory holds, and what came in last.";

const LINES = 8; // of the profile that are not folded

let renew = () => {};

export function show(root, _, { signal }) {
  const tiles = h("div", { class: "tiles" });
  const failures = h("div");
  const newest = h("div");
  const known = h("div");
  const last = () => fill(newest, async () => {
    const { items } = await get("v1/view/messages", { limit: 6 }, { signal });
    if (!items.length) {
      return empty("Nothing is stored of this user yet", may("write") ? "Write something here, drop a file on this page, or add one in a terminal:" : "Add something in a terminal:",
        h("code", {}, `nscma add chat.jsonl --user ${state.user}`));
    }
    return h("ul", { class: "plain list" }, items.reverse().map(row));
  });
  const profile = () => fill(known, async () => {
    const lines = await get("v1/profile", {}, { signal });
    if (!lines.length) return [];
    const list = (some) => h("ul", { class: "plain list short" }, some.map((line) => h("li", { dir: "auto" }, line.text)));
    const folded = lines.length > LINES && h("details", {}, h("summary", {}, `${number(lines.length - LINES)} more`), list(lines.slice(LINES)));
    return [h("h2", {}, "Profile"), list(lines.slice(0, LINES)), folded];
  });
  renew = (stats, before) => {
    fill(tiles, async () => counted(stats));
    failures.replaceChildren(...stats.failures.map((one) => h("p", { class: "note bad", dir: "auto" }, one)));
    if (before && stats.messages !== before.messages) last();
  };
  add(root,
    tiles, failures,
    h("div", { class: "columns" },
      h("section", { "aria-labelledby": "newest" }, h("h2", { id: "newest" }, "Newest messages"), newest,
        h("p", {}, h("a", { href: "#/gate" }, "All messages, with the gate's decisions"))),
      h("div", {}, may("write") && [adding(), files()], known)));
  fill(tiles, async () => counted(await get("v1/stats", {}, { scope: "user", signal })));
  last();
  profile();
}

export const changed = (stats, before) => renew(stats, before);

function counted(stats) {
  return [
    tile(stats.messages, "messages", `${number(stats.written)} written, ${number(stats.deferred)} deferred`, "#/gate"),
    tile(facts(stats), "facts", `${number(stats.facts.archived ?? 0)} in the archive`, "#/timeline"),
    tile(stats.facts.disputed ?? 0, "disputed", "sides of open contradictions", "#/conflicts"),
    tile(stats.jobs_queued, "waiting", stats.jobs_failed ? `${number(stats.jobs_failed)} failed` : "for the background worker"),
  ];
}

function tile(value, noun, more, href) {
  const inside = [h("span", { class: "tile-number" }, number(value)), h("span", { class: "tile-noun" }, noun), h("span", { class: "tile-more" }, more)];
  return href ? h("a", { class: "tile", href }, inside) : h("div", { class: "tile" }, inside);
}

function row(message) {
  const deferred = message.decision && !message.decision.write;
  return h("li", {},
    origin(message),
    h("p", { class: "clip", dir: "auto" }, message.text),
    h("p", { class: "foot" },
      message.status === "deleted" ? h("span", { class: "badge" }, "hidden") : message.decision && h("span", { class: `badge ${deferred ? "wait" : "good"}` }, deferred ? "deferred" : "written"),
      " ", opener(message.id, "Details")));
}

function adding() {
  const text = h("textarea", { rows: 3, required: true });
  const name = h("input", { autocomplete: "off", maxlength: 200, placeholder: "optional" });
  const said = h("div");
  const form = h("form", { class: "card stack" },
    h("h2", {}, "Add a message"),
    field("Text", text),
    field("Who says it", name),
    h("p", { class: "actions" }, h("button", { class: "primary" }, "Remember")),
    said);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const message = { role: "user", content: text.value, ...(name.value.trim() && { name: name.value.trim() }) };
    try {
      const { results } = await post("v1/messages", { messages: [message] });
      const one = results[0].decision;
      text.value = "";
      put(said, h("p", { class: "note good", role: "status" }, one ? `${one.write ? "Written" : "Deferred"}: ${one.reason}` : "Stored."), outcomes(results));
      announce("stored");
    } catch (error) {
      said.replaceChildren(problem(error));
    }
  });
  return form;
}

function files() {
  return h("section", { class: "card stack", "aria-labelledby": "add-files" },
    h("h2", { id: "add-files" }, "Add files"),
    fileField(),
    h("p", { class: "muted" }, "Text, Markdown, JSON, PDF, Word, HTML, EPUB, CSV, e-mail or subtitles; or drop them anywhere on this page."));
}
