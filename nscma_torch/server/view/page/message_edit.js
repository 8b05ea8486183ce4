// Editing the text of a message. What was saved elsewhere meanwhile is shown, and never overwritten unseen.

import { get, patch } from "./api.js";
import { button, field, h, problem, put } from "./dom.js";

const lines = (text) => text.replace(/\r\n?/g, "\n"); // as a text area keeps them

/**
 * A form with the text of a message, or with another text to begin with.
 *
 * `saved(note)` is called after saving, `cancelled()` after giving up. `leave()` of the result tells whether the form may
 * be left: a text that was changed is given up only the second time.
 */
export function editor({ message, text, saved, cancelled }) {
  const path = `v1/messages/${encodeURIComponent(message.id)}`;
  let known = message.text; // what the new text replaces, as far as is seen here
  let warned = false;
  const area = h("textarea", { rows: Math.min(12, 3 + Math.ceil(text.length / 80)), required: true, dir: "auto" });
  area.value = text;
  const save = h("button", { class: "primary" }, "Save");
  const said = h("div", { role: "alert" });
  const changed = () => lines(area.value) !== lines(known);
  const allow = () => { save.disabled = !changed() || !area.value.trim(); };

  const send = async () => {
    save.disabled = true;
    said.replaceChildren();
    try {
      const now = current(await history(path));
      if (now !== known) {
        put(said, conflict(now));
        return;
      }
      const sent = area.value;
      const stored = await patch(path, { text: sent });
      const replaced = (await history(path)).findLast((event) => event.event === "UPDATE" && event.new_text === stored.text);
      saved([
        h("p", { class: "note good" }, "Saved. Its facts are read again in the background."),
        stored.text !== sent && h("p", { class: "note warn" }, "A part of the text was masked before it was stored."),
        replaced && replaced.old_text !== known && h("p", { class: "note warn", role: "alert" }, "Another change was saved at the same moment, and yours replaced it. The history has its text."),
      ]);
    } catch (error) {
      put(said, problem(error));
      allow();
    }
  };

  /** What was saved elsewhere since this form was opened, and the two ways on. */
  const conflict = (now) => {
    const seen = () => { known = now; said.replaceChildren(); allow(); };
    return h("div", { class: "problem conflict" },
      h("p", {}, h("strong", {}, "This message was changed elsewhere meanwhile. "), "Nothing was saved. It now says:"),
      h("blockquote", { class: "said short", dir: "auto" }, now),
      h("p", { class: "actions" },
        button("Save mine instead", () => { seen(); send(); }),
        button("Edit the new text", () => { seen(); area.value = now; allow(); area.focus(); })));
  };

  const leave = () => {
    if (!changed() || warned) {
      cancelled();
      return false; // the dialog stays, without the form
    }
    warned = true;
    put(said, h("p", { class: "note warn" }, "This change is not saved. Save it, or close or cancel again to give it up."));
    return false;
  };

  const form = h("form", { class: "stack" },
    field("Text", area), said,
    h("p", { class: "actions" }, save, button("Cancel", leave), h("span", { class: "muted" }, "Ctrl+Enter saves")));
  form.addEventListener("submit", (event) => { event.preventDefault(); send(); });
  area.addEventListener("input", () => { warned = false; allow(); });
  area.addEventListener("keydown", (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && !save.disabled && send());
  allow();
  return { element: form, leave, focus: () => area.focus() };
}

const history = (path) => get(`${path}/history`, {}, { scope: "user" });

/** The text of a message by its history. */
const current = (events) => events.findLast((event) => event.new_text !== null).new_text;
