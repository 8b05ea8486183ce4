// Dialogs above the page: Escape, the backdrop and "×" close them, and the focus goes back to where it was.

import { button, h } from "./dom.js";

/**
 * Open a dialog with these children. `leave()` may keep it open, if something there is not saved yet; `closed()` is
 * called once it has closed.
 */
export function modal(attributes, children, { leave = () => true, closed = () => {} } = {}) {
  const before = document.activeElement;
  const dialog = h("dialog", attributes, children, h("p", { class: "unseen announce", role: "status" }));
  const tryToClose = () => leave() && dialog.close();
  dialog.addEventListener("keydown", (event) => { // a browser closes at the second Escape, whatever "cancel" says
    if (event.key !== "Escape" || event.isComposing) return;
    event.preventDefault();
    event.stopPropagation();
    tryToClose();
  });
  dialog.addEventListener("cancel", (event) => { // other ways to go back
    if (event.target !== dialog) return; // a file field has this event too
    event.preventDefault();
    tryToClose();
  });
  dialog.addEventListener("click", (event) => event.target === dialog && beside(dialog, event) && tryToClose());
  dialog.addEventListener("close", () => {
    dialog.remove();
    back(before);
    closed();
  });
  dialog.querySelector(".close button")?.addEventListener("click", tryToClose);
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/** The "×" of a dialog. */
export const closer = () => h("p", { class: "close" }, button("×", () => {}, { "aria-label": "Close" }));

function beside(dialog, { clientX, clientY }) {
  const { left, right, top, bottom } = dialog.getBoundingClientRect();
  return clientX < left || clientX > right || clientY < top || clientY > bottom;
}

/** Focus what opened the dialog, or what stands in its place now, or the heading above. */
function back(before) {
  const under = [...document.querySelectorAll("dialog[open]")].at(-1) ?? document.getElementById("main");
  const opens = before?.dataset.opens;
  const same = opens && under.querySelector(`[data-opens="${CSS.escape(opens)}"]`);
  const to = before?.isConnected && before !== document.body ? before : same || under.querySelector("h1, h2");
  to?.focus({ preventScroll: true });
}
