// Times, numbers and names as people read them. Times are UTC, as everywhere in the library.

import { h } from "./dom.js";

const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" });
const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", timeZone: "UTC" });
const NUMBER = new Intl.NumberFormat("en-GB");

export const number = (value) => NUMBER.format(value);
export const count = (value, one, many = `${one}s`) => `${number(value)} ${value === 1 ? one : many}`;
export const rounded = (value, digits = 2) => value.toFixed(digits);

/** A day; with a clock where the time is not midnight. */
export function when(iso) {
  const at = new Date(iso);
  const midnight = at.getUTCHours() + at.getUTCMinutes() === 0;
  return midnight ? DAY.format(at) : `${DAY.format(at)}, ${CLOCK.format(at)}`;
}

export const day = (iso) => DAY.format(new Date(iso));

/** The same as an element that says the exact time. */
export function time(iso, text = when(iso)) {
  return h("time", { datetime: iso, title: iso }, text);
}

/** `2026-03-05T10:00` of a form, as UTC in ISO 8601; "" where nothing is chosen. */
export const fromLocal = (value) => (value ? `${value.length === 16 ? `${value}:00` : value}Z` : "");
/** The other way round, from milliseconds. */
export const toLocal = (milliseconds) => new Date(milliseconds).toISOString().slice(0, 19);

/** lives_in → lives in. */
export const words = (name) => name.replaceAll("_", " ");

/** What a fact or decision says of its subject: the relation with its topic, or the words of an open one. */
export function predicate({ relation, topic }) {
  if (relation === "statement" && topic) return h("bdi", { class: "relation" }, topic);
  return h("span", { class: "relation" }, words(relation), topic && [" ", h("bdi", { class: "topic" }, topic)]);
}

/** When a fact held in the world. */
export function span(fact) {
  if (fact.valid_from && fact.valid_to) return `${day(fact.valid_from)} to ${day(fact.valid_to)}`;
  if (fact.valid_from) return `since ${day(fact.valid_from)}`;
  return fact.valid_to ? `until ${day(fact.valid_to)}` : "unknown time";
}

/** The same as plain text, for labels. */
export const said = ({ subject, relation, topic }) => [subject, !(relation === "statement" && topic) && words(relation), topic].filter(Boolean).join(" ");

const SIZES = [[1 << 20, "MB"], [1 << 10, "KB"]];

/** 12 KB, of bytes. */
export function size(bytes) {
  const [unit, name] = SIZES.find(([least]) => bytes >= least) ?? [1, "bytes"];
  return `${number(Math.round(bytes / unit))} ${name}`;
}

/** The reason of a gate's decision, without what is shown beside it. */
export const why = (decision) => decision.reason.replace(/^(?:written|deferred): /, "").replace(/ \(score [^()]*\)$/, "");

/** Who said it, when and where, of a message or hit. */
export function origin(said) {
  const who = said.name ?? said.role;
  const where = said.source ?? said.session;
  return h("p", { class: "origin" },
    h("bdi", { class: "who" }, who), " ", time(said.occurred_at),
    where && [" · ", h("bdi", {}, where)]);
}

/** Offsets count code points, as in Python; JavaScript counts UTF-16 units. */
export const points = (text) => Array.from(text);
