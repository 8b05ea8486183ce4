// The step before an erasure, and the receipt after it.

import { post, state } from "./api.js";
import { modal } from "./dialog.js";
import { announce, button, field, fill, fresh, h, problem } from "./dom.js";
import { planOfMessage, planOfUser } from "./erase_plan.js";
import { count, number, time } from "./format.js";

/** Receipts of this visit, newest first: ids and counts, no text. */
export const receipts = [];

/** Say what goes, ask for a typed word, erase, show the receipt. With `message` null all of the user is erased. */
export function confirmErasure({ message, done }) {
  const word = message ? "erase" : state.user;
  const title = fresh("erase");
  const input = h("input", { autocomplete: "off", spellcheck: "false", autofocus: true });
  const go = h("button", { class: "danger filled", disabled: true }, message ? "Erase this message" : "Erase everything");
  const cancel = button("Cancel", () => dialog.close());
  const plan = h("div");
  let busy = false;
  const form = h("form", { class: "stack" },
    h("h2", { id: title, tabindex: "-1" }, message ? "Permanently erase this message?" : "Permanently erase everything of this user?"),
    message && h("blockquote", { class: "said short", dir: "auto" }, message.text),
    plan,
    h("p", {}, "It goes from the store's files. This can't be undone."),
    field(h("span", {}, "Type ", h("code", {}, word), " to go on"), input),
    h("p", { class: "actions" }, go, cancel));
  fill(plan, () => (message ? planOfMessage(message.id) : planOfUser()));
  input.addEventListener("input", () => { go.disabled = input.value.trim() !== word; });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (go.disabled) return;
    const what = message ? { memory_id: message.id } : { everything: true };
    form.querySelector(".problem")?.remove();
    go.disabled = cancel.disabled = busy = true;
    go.textContent = "Erasing, and searching the files…";
    try {
      const made = await post("v1/erase", what, { scope: "user" });
      receipts.unshift({ at: new Date().toISOString(), receipt: made });
      announce(made.found ? "Erased, but some bytes were found" : made.found === 0 ? "Erased, and no bytes were found" : "Erased");
      busy = false;
      done(made);
      const shut = button("Close", () => dialog.close(), { class: "primary" });
      form.replaceChildren(h("h2", { id: title, tabindex: "-1" }, "Erased"), receipt(made), h("p", { class: "actions" }, shut, save(made)));
      shut.focus();
    } catch (error) {
      go.disabled = cancel.disabled = busy = false;
      go.textContent = "Try again";
      form.append(problem(error));
    }
  });
  const dialog = modal({ class: "small", "aria-labelledby": title }, [form], { leave: () => !busy });
}

/** What a receipt says. */
export function receipt(made) {
  const rows = Object.entries(made.rows).filter(([, n]) => n);
  return h("div", { class: "receipt" },
    made.found === null
      ? h("p", { class: "note" }, "Its rows are deleted. The files belong to the database server and were not searched; its write-ahead log, replicas and backups keep copies for as long as they exist.")
      : made.found
      ? h("p", { class: "note bad" }, `${count(made.found, "byte string")} still found in the files: see the server's log.`)
      : h("p", { class: "note good" }, `No byte of it was found in ${count(made.checked.length, "file")}, except what others said too.`),
    h("dl", { class: "pairs" },
      pair("what", made.item_id ? h("code", {}, made.item_id) : ["all of ", h("bdi", {}, made.user_id)]),
      pair("files searched", h("ul", { class: "plain" }, made.checked.map((path) => h("li", {}, h("code", {}, path.split(/[\\/]/).at(-1)))))),
      pair("rows deleted", rows.length ? h("ul", { class: "plain" }, rows.map(([table, n]) => h("li", {}, `${number(n)} of ${table}`))) : "none"),
      pair("recomputed without it", made.rebuilt.length ? count(made.rebuilt.length, "stream or hierarchy", "streams or hierarchies") : "nothing")));
}

/** Receipts of before, for the view. */
export const kept = () => receipts.map((one) => h("details", {}, h("summary", {}, time(one.at)), receipt(one.receipt)));

function save(made) {
  const address = URL.createObjectURL(new Blob([JSON.stringify(made, null, 2)], { type: "application/json" }));
  return h("a", { class: "button", href: address, download: `erasure-${(made.item_id ?? "user").slice(0, 8)}.json` }, "Save the receipt");
}

const pair = (name, value) => h("div", {}, h("dt", {}, name), h("dd", {}, value));
