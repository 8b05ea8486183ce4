// Files on their way into the memory: each is read by the server, then stored batch by batch; the result says what became of it.

import { Problem, post, send, state } from "./api.js";
import { closer, modal } from "./dialog.js";
import { announce, button, h, problem, put } from "./dom.js";
import { count, number, size } from "./format.js";
import { CHANGED, opener } from "./message.js";

const BATCH = 64; // messages of a request
const LETTERS = 200_000; // of their texts, except for the last one
const AGAIN = 5; // how often a batch is sent again while the server is busy
const LISTED = 20; // messages that are named of each outcome

/** Add files one after the other, in a dialog with their progress and results. */
export async function addFiles(files) {
  const stopping = new AbortController();
  let running = true;
  const stop = button("Stop", () => stopping.abort(), { autofocus: true });
  const items = files.map((file) => h("li", {}, h("h3", {}, h("bdi", {}, file.name), h("span", { class: "muted" }, ` ${size(file.size)}`)), h("div", { class: "outcome" }, h("p", { class: "muted" }, "Waiting…"))));
  const whose = [state.user, state.agent].filter(Boolean).map((one, i) => [i > 0 && " with ", h("bdi", {}, one)]);
  const leave = () => {
    stopping.abort(); // the first time, so that the result is still seen
    return !running;
  };
  const foot = h("p", { class: "actions" }, stop);
  const title = h("h2", { id: "files-title", tabindex: "-1" }, "Add files to the memory of ", whose);
  const dialog = modal({ "aria-labelledby": "files-title" }, [title, h("ul", { class: "plain list" }, items), foot, closer()], { leave });
  for (const [i, file] of files.entries()) {
    const outcome = items[i].querySelector(".outcome");
    put(outcome, stopping.signal.aborted ? h("p", { class: "note warn" }, "Not added: stopped before it was read.") : await added(file, outcome, stopping.signal));
  }
  running = false;
  const shut = button("Close", () => dialog.close(), { class: "primary" });
  foot.replaceChildren(shut);
  if (dialog.contains(document.activeElement) || document.activeElement === document.body) shut.focus();
  announce(items.map((item) => item.textContent).join(" "));
  window.dispatchEvent(new Event(CHANGED));
}

/** Add one file; resolves to nodes that say what became of it. */
async function added(file, outcome, signal) {
  const results = [];
  const line = h("p", { class: "muted" }, "Reading…");
  const bar = h("progress", { "aria-label": `Progress of ${file.name}` });
  put(outcome, line, bar);
  try {
    await file.slice(0, 1).arrayBuffer().catch(() => { throw new Problem(422, "This is a folder, or can't be opened. Folders are added in a terminal: nscma add FOLDER"); });
    const { source, messages } = await send("v1/view/file", file, { name: file.name }, { signal });
    bar.max = messages.length;
    for (const batch of batches(messages)) {
      if (signal.aborted) break;
      bar.value = results.length;
      line.textContent = `Storing ${number(results.length)} of ${count(messages.length, "message")}…`;
      results.push(...await stored(batch, source));
    }
    return report(results, results.length < messages.length && h("p", { class: "note warn" }, `Stopped: ${count(messages.length - results.length, "message")} not added. Add the file again for the rest.`));
  } catch (error) {
    if (error.name === "AbortError") return h("p", { class: "note warn" }, "Not added: stopped while it was read.");
    const refused = [413, 415, 422].includes(error.status);
    return report(results, refused ? h("p", { class: "note bad", dir: "auto" }, h("strong", {}, "Refused: "), error.message) : problem(error));
  }
}

/** Slices of messages that fit in one request. */
function* batches(messages) {
  let batch = [];
  let letters = 0;
  for (const one of messages) {
    batch.push(Object.fromEntries(Object.entries(one).filter(([name, value]) => value !== null && name !== "source")));
    letters += one.content.length;
    if (batch.length === BATCH || letters > LETTERS) {
      yield batch;
      [batch, letters] = [[], 0];
    }
  }
  if (batch.length) yield batch;
}

/** Store a batch; one that is refused is halved until the messages that are to blame stand alone. */
async function stored(batch, source, again = AGAIN) {
  try {
    const { results } = await post("v1/messages", { messages: batch, source: source ?? undefined });
    return results;
  } catch (error) {
    if ([429, 503].includes(error.status) && again) {
      await new Promise((go) => { setTimeout(go, 1000 * Math.max(error.wait, 1)); });
      return stored(batch, source, again - 1);
    }
    if (![413, 422].includes(error.status)) throw error;
    if (batch.length === 1) return [{ event: "REFUSED", text: batch[0].content, why: error.message, masked: [], hidden: [] }];
    const half = Math.ceil(batch.length / 2);
    const first = await stored(batch.slice(0, half), source);
    return [...first, ...await stored(batch.slice(half), source)];
  }
}

function report(results, end) {
  const of = (event) => results.filter((one) => one.event === event);
  const [added, known, refused] = ["ADD", "NOOP", "REFUSED"].map(of);
  const written = added.filter((one) => one.decision?.write).length;
  const told = [
    added.length > 0 && `${count(added.length, "message")} added: ${number(written)} written, ${number(added.length - written)} deferred.`,
    known.length > 0 && `${count(known.length, "message")} known already.`,
  ].filter(Boolean).join(" ");
  return [
    told && h("p", { class: "note good" }, told),
    outcomes(added),
    refused.length > 0 && h("div", { class: "note bad" },
      h("p", {}, `${count(refused.length, "message")} refused:`),
      h("ul", {}, refused.slice(0, LISTED).map((one) => h("li", { dir: "auto" }, h("span", { class: "clip" }, one.text.slice(0, 300)), one.why))),
      refused.length > LISTED && h("p", {}, `and ${number(refused.length - LISTED)} more`)),
    end,
  ];
}

/** What was masked in messages that were added, and what these asked to forget. */
export function outcomes(added) {
  const kinds = new Map();
  for (const kind of added.flatMap((one) => one.masked)) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  const masked = added.filter((one) => one.masked.length);
  const hidden = added.flatMap((one) => one.hidden);
  return [
    masked.length > 0 && h("div", { class: "note warn" },
      h("p", {}, `Masked before it was stored: ${[...kinds].map(([kind, times]) => `${number(times)} ${kind}`).join(", ")}.`), named(masked.map((one) => one.id))),
    hidden.length > 0 && h("div", { class: "note warn" }, h("p", {}, "Hidden, as was asked to forget it:"), named(hidden)),
  ];
}

function named(ids) {
  const some = ids.slice(0, LISTED).map((id, i) => [opener(id, ids.length === 1 ? "Message" : `Message ${i + 1}`), " "]);
  return h("p", {}, some, ids.length > LISTED && `and ${number(ids.length - LISTED)} more`);
}
