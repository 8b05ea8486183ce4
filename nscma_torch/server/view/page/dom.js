// Elements, made without ever parsing a text: whatever is stored becomes a text node.

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element; attributes that are null, undefined or false are left out, `onclick` and the like are listeners. */
export function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function s(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  add(element, children);
  return element;
}

/** Append what there is: null, undefined and false are left out. */
export function add(parent, ...children) {
  parent.append(...children.flat(Infinity).filter((one) => one !== null && one !== undefined && one !== false));
}

/** The same in the place of what was there. */
export function put(parent, ...children) {
  parent.replaceChildren();
  add(parent, children);
}

/** A button that does something here. */
export function button(label, onclick, attributes = {}) {
  return h("button", { type: "button", onclick, ...attributes }, label);
}

/** What says that there is nothing, and what to do next. */
export function empty(title, ...more) {
  return h("div", { class: "empty" }, h("p", { class: "empty-title" }, title), ...more.map((one) => h("p", {}, one)));
}

/** The server's own message of an error, and a way to try again. */
export function problem(error, again) {
  const title = error.status === 403 ? "The server refused this" : error.status ? `The server answered ${error.status}` : "The server is unreachable";
  return h("div", { class: "problem", role: "alert" },
    h("p", {}, h("strong", {}, title), h("br"), h("span", { dir: "auto" }, error.message)),
    again && button("Try again", again));
}

/** Fill a region with what `make` resolves to; while it works the region is busy, and an error is shown in its place. */
export async function fill(region, make) {
  region.setAttribute("aria-busy", "true");
  const turn = (region.turn = (region.turn ?? 0) + 1);
  try {
    const made = await make();
    if (turn === region.turn) put(region, made);
  } catch (error) {
    if (error.name === "AbortError") return;
    if (turn === region.turn) region.replaceChildren(problem(error, () => fill(region, make)));
  } finally {
    if (turn === region.turn) region.removeAttribute("aria-busy");
  }
}

/** Tell people who do not see the page: from the dialog that is open, since what is below it is not read out. */
export function announce(text) {
  const dialog = [...document.querySelectorAll("dialog[open]")].at(-1);
  (dialog?.querySelector(".announce") ?? document.getElementById("announce")).textContent = text;
}

let number = 0;

/** An id that no other element has. */
export function fresh(prefix) {
  number += 1;
  return `${prefix}-${number}`;
}

/** A labelled field: `field("As of", h("input", …))`. */
export function field(label, control, attributes = {}) {
  control.id ||= fresh("field");
  return h("div", { class: "field", ...attributes }, h("label", { for: control.id }, label), control);
}
