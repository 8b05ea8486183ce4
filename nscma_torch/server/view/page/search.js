// Search and ask: answers with the passages that they rest on, marked.

import { post } from "./api.js";
import { announce, empty, field, fill, h } from "./dom.js";
import { count, fromLocal, origin, predicate, rounded, span, words } from "./format.js";
import { doubt, factOpener } from "./fact.js";
import { found, marked } from "./highlight.js";
import { opener } from "./message.js";

export const title = "Search and ask";
export const name = "Search";
export const lead = "Ask a question for an answer with its evidence, or search for the messages that fit.";

const FIRST = 10;
const STEP = 20;

/** Ask or search again, after something was changed. */
export let renew = () => {};

export function show(root, params, { signal }) {
  const text = h("input", { type: "search", value: params.get("q") ?? "", autocomplete: "off", required: true, maxlength: 4000 });
  const at = h("input", { type: "datetime-local", value: params.get("at") ?? "" });
  const follow = h("input", { type: "checkbox" });
  const following = h("div", { class: "check", hidden: true }, h("label", {}, follow, " as a follow-up of the answer below"));
  const region = h("div", { class: "results" }, empty("Nothing asked yet", "Try “Where does my sister work?”, or a few words of what was said."));
  let before = null;

  const address = () => {
    const query = new URLSearchParams({ q: text.value, ...(at.value && { at: at.value }) });
    history.replaceState(null, "", `#/search?${query}`);
  };
  const ask = (follows = follow.checked ? before : undefined) => fill(region, async () => {
    address();
    renew = () => ask(follows);
    const answer = await post("v1/ask", { question: text.value, as_of: fromLocal(at.value) || undefined, follows }, { signal });
    before = answer.query;
    follow.checked = false;
    following.hidden = before === null;
    announce(`${answer.short}${unsure(answer) ? ", not sure" : ""}`);
    return answered(answer);
  });
  const search = (top = FIRST) => fill(region, async () => {
    address();
    renew = () => search(top);
    const hits = await post("v1/search", { query: text.value, top_k: top, explain: true, as_of: fromLocal(at.value) || undefined }, { signal });
    announce(count(hits.length, "result"));
    if (!hits.length) return empty("Nothing was found", "Nothing stored fits these words. Fewer or other words may.");
    const more = hits.length === top && top < 200
      ? h("p", { class: "more" }, h("button", { type: "button", onclick: () => search(top + STEP) }, "Show more")) : null;
    return [h("p", { class: "tally" }, count(hits.length, "result")), h("ol", { class: "plain list" }, hits.map((hit) => h("li", {}, shown(hit, found(hit.text, text.value))))), more];
  });

  const form = h("form", { class: "card asking", role: "search" },
    field("Question or words", text, { class: "field wide" }),
    field("As of", at),
    h("div", { class: "actions" }, h("button", { class: "primary" }, "Ask"), h("button", { type: "button", onclick: () => form.reportValidity() && search() }, "Search")),
    following);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    ask();
  });
  root.append(form, region);
  renew = () => {};
  if (text.value) search();
}

/** Whether the server marked the answer as unsure: its text has the mark, `short` lacks it. */
function unsure({ text, quotes, short }) {
  const lines = text.split("\n");
  return lines.slice(0, lines.length - quotes).join("\n") !== short;
}

function answered(answer) {
  const doubtful = unsure(answer);
  return [
    h("section", { class: `answer ${answer.abstained ? "unknown" : doubtful ? "unsure" : ""}`, "aria-label": "Answer" },
      h("p", { class: "answer-text", dir: "auto" }, answer.short, doubtful && [" ", h("span", { class: "badge wait" }, "not sure")]),
      h("p", { class: "muted" }, answer.abstained ? "Nothing stored answers it." : `confidence ${rounded(answer.confidence)}`, ` · ${rounded(answer.usage.seconds)} s`),
      answer.notes.map((note) => h("p", { class: "note warn" }, note))),
    answer.facts.length > 0 && h("section", {}, h("h2", {}, "Facts it was read off from"),
      h("ul", { class: "plain list short" }, answer.facts.map((fact) => h("li", {},
        h("bdi", {}, fact.subject), " ", predicate(fact), " ", h("bdi", { class: "value" }, fact.object),
        h("span", { class: "muted" }, ` ${span(fact)} `), factOpener(fact), doubt(fact))))),
    answer.evidence.length > 0 && h("section", {}, h("h2", {}, "Evidence"),
      h("ol", { class: "plain list" }, answer.evidence.map((one) => h("li", {}, shown(one.hit, [[one.start, one.end]]))))),
    answer.trace.length > 0 && h("details", {}, h("summary", {}, "How it was found"), h("ul", {}, answer.trace.map((step) => h("li", { dir: "auto" }, step)))),
  ];
}

/** A hit, with some of its text marked. */
function shown(hit, spans) {
  const parts = Object.entries(hit.parts);
  const sources = hit.kind === "chunk" ? [hit.id] : hit.episode_ids;
  return h("article", {},
    hit.kind === "chunk" ? origin(hit) : h("p", { class: "origin" }, h("span", { class: "badge" }, words(hit.kind)), ` rests on ${count(hit.episode_ids.length, "message")}`),
    h("p", { class: "said", dir: "auto" }, marked(hit.text, spans)),
    h("div", { class: "foot" },
      sources.slice(0, 5).map((id, i) => opener(id, sources.length === 1 ? "Open the message" : `Message ${i + 1}`)),
      h("details", {}, h("summary", {}, `score ${rounded(hit.score)}`),
        parts.length > 0 && h("dl", { class: "pairs" }, parts.map(([part, value]) => h("div", {}, h("dt", {}, words(part)), h("dd", {}, rounded(value, 3))))))));
}
