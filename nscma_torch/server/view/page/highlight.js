// Texts with marks: spans of evidence, or the words of a query.

import { h } from "./dom.js";
import { points } from "./format.js";

const SMALL = new Set("a an and are as at be been but by can could did do does for from had has have he her his how i in is it its me my of on or our she should so that the their them they this to was we were what when where which who whose why will with would you your".split(" "));
const CJK = /[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]/u;

/** A text as nodes, in which `spans` (starts and ends in code points) are marked. */
export function marked(text, spans) {
  const letters = points(text);
  const nodes = [];
  let at = 0;
  for (const [start, end] of [...spans].sort((a, b) => a[0] - b[0])) {
    if (end <= at) continue;
    const from = Math.max(start, at);
    nodes.push(letters.slice(at, from).join(""), h("mark", {}, letters.slice(from, end).join("")));
    at = end;
  }
  nodes.push(letters.slice(at).join(""));
  return nodes;
}

/** Where a text has the words of a query, by their beginnings ("moving" finds "moved"); pairs of CJK characters too. */
export function found(text, query) {
  const stems = words(query).filter(([word]) => !SMALL.has(word)).map(([word]) => stem(word));
  const spans = words(text)
    .filter(([word]) => !SMALL.has(word) && stems.some((one) => one === stem(word)))
    .map(([word, at]) => [at, at + points(word).length]);
  const letters = points(text);
  const pairs = new Set(points(query).map((one, i, all) => one + (all[i + 1] ?? "")).filter((pair) => points(pair).every((one) => CJK.test(one)) && points(pair).length === 2));
  letters.forEach((one, i) => pairs.has(one + (letters[i + 1] ?? "")) && spans.push([i, i + 2]));
  return spans;
}

function words(text) {
  const found = [];
  let word = "";
  points(`${text} `).forEach((one, i) => {
    if (/[\p{L}\p{N}]/u.test(one) && !CJK.test(one)) {
      word += one;
    } else if (word) {
      found.push([word.toLowerCase(), i - points(word).length]);
      word = "";
    }
  });
  return found;
}

const stem = (word) => (word.length < 4 ? word : word.replace(/(?:ing|ies|ied|es|ed|s|e)$/, "").slice(0, 9));
