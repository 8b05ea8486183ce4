// Files that are dropped anywhere on the page, or chosen in a field.

import { addFiles } from "./add_files.js";
import { may } from "./api.js";
import { modal } from "./dialog.js";
import { field, h } from "./dom.js";

/** A field that chooses files to add. */
export function fileField() {
  const input = h("input", { type: "file", multiple: true });
  input.addEventListener("change", () => {
    const files = [...input.files];
    input.value = "";
    if (files.length) addFiles(files);
  });
  return field("Documents, chats or notes", input);
}

/** Add what is dropped on the page; without the right to write, say so. */
export function watchDrops() {
  const sign = document.getElementById("drop");
  const seen = (event) => event.dataTransfer?.types.includes("Files");
  const free = () => !document.querySelector("dialog[open]"); // what a dialog asks comes first
  window.addEventListener("dragover", (event) => {
    if (!seen(event)) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = free() ? "copy" : "none";
    sign.hidden = !(free() && may("write"));
  });
  window.addEventListener("dragleave", (event) => { sign.hidden ||= event.relatedTarget === null; });
  window.addEventListener("drop", (event) => {
    sign.hidden = true;
    if (!seen(event)) return;
    event.preventDefault(); // the browser would open the file in the place of the page
    if (!free()) return;
    if (may("write")) addFiles([...event.dataTransfer.files]);
    else refuse();
  });
}

function refuse() {
  const shut = h("button", { class: "primary", autofocus: true }, "Close");
  modal({ class: "small", "aria-labelledby": "no-files" }, [h("form", { class: "stack", method: "dialog" },
    h("h2", { id: "no-files", tabindex: "-1" }, "Files can't be added"),
    h("p", {}, "This token lacks the right to write: ", h("code", {}, "nscma token add --can read,write"), " makes one that has it."),
    h("p", { class: "actions" }, shut))]);
}
