// Long lists, a page at a time.

import { announce, button, h, problem } from "./dom.js";
import { count, number } from "./format.js";

/**
 * A list that grows by "Show more".
 *
 * `load(offset)` resolves to `{items, total}`, `row(item)` makes an element; `none` is shown where there is nothing.
 */
export function growing({ load, row, noun, many, none, list = h("ul", { class: "plain list" }) }) {
  const said = h("p", { class: "tally" });
  const more = h("p", { class: "more" });
  const region = h("div", { "aria-busy": "true" }, said, list, more);
  let offset = 0;
  const next = async (focus) => {
    region.setAttribute("aria-busy", "true");
    try {
      const { items, total } = await load(offset);
      const made = items.map(row);
      offset += items.length;
      if (total === 0) {
        region.replaceChildren(none());
      } else {
        list.append(...made);
        said.textContent = offset < total ? `${number(offset)} of ${count(total, noun, many)}` : count(total, noun, many);
        more.replaceChildren(...(offset < total && items.length ? [button("Show more", () => next(true))] : []));
      }
      if (focus && made.length) {
        made[0].tabIndex = -1;
        made[0].focus();
        announce(said.textContent);
      }
    } catch (error) {
      if (error.name !== "AbortError") more.replaceChildren(problem(error, () => next(focus)));
    }
    region.removeAttribute("aria-busy");
  };
  next(false);
  return region;
}
