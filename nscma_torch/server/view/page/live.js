// Counts that follow what is added: asked for every few seconds while the page is seen, sooner while they change.

import { get, state } from "./api.js";
import { announce, h } from "./dom.js";
import { count, number } from "./format.js";

const SOON = 1500; // milliseconds
const LATER = 6000;

/** Ask for the counts from now on, and tell `changed(stats, before)` when they differ. */
export function follow(changed) {
  let before = null;
  let user = null;
  let wait = SOON;
  let told = 0;
  const look = async () => {
    if (document.visibilityState === "visible" && state.user !== null) {
      try {
        const stats = await get("v1/stats", {}, { scope: "user", quiet: true });
        if (user !== state.user) before = null;
        user = state.user;
        const differs = before === null || JSON.stringify(stats) !== JSON.stringify(before);
        wait = differs || stats.jobs_queued ? SOON : Math.min(LATER, wait * 1.5);
        show(stats);
        if (differs) {
          if (before && stats.messages !== before.messages && Date.now() - told > 5000) {
            announce(`${count(stats.messages, "message")}, ${count(facts(stats), "fact")}`);
            told = Date.now();
          }
          changed(stats, before);
        }
        before = stats;
      } catch (error) {
        wait = LATER;
        const away = error.status === 401 ? "a token is needed" : error.status ? `the server answered ${error.status}` : "the server is unreachable";
        document.getElementById("live").replaceChildren(h("span", { class: "away" }, away));
      }
    }
    setTimeout(look, wait);
  };
  look();
  document.addEventListener("visibilitychange", () => { wait = SOON; });
}

export const facts = (stats) => (stats.facts.active ?? 0) + (stats.facts.disputed ?? 0);

function show(stats) {
  const queued = stats.jobs_queued
    ? h("span", { class: "working" }, `${number(stats.jobs_queued)} waiting to be processed`)
    : h("span", {}, "all read");
  document.getElementById("live").replaceChildren(
    h("span", { id: "live-messages" }, count(stats.messages, "message")), h("span", {}, count(facts(stats), "fact")), queued,
    stats.jobs_failed ? h("span", { class: "away" }, `${count(stats.jobs_failed, "job")} failed`) : "");
}
