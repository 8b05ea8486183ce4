// The gate's decisions along a conversation: score and threshold, and below them the surprise, message by message.

import { h, s } from "./dom.js";
import { number, rounded } from "./format.js";

const HIGH = 150;
const LOW = 90;
const LEFT = 42;

/**
 * A drawing of messages with decisions, in their order. `chosen(i)` is called for a click on the i-th.
 * The table beside it says the same, so that it is one picture to screen readers.
 */
export function curve(messages, width, chosen) {
  const decided = messages.map((message, i) => ({ i, decision: message.decision })).filter((one) => one.decision);
  if (!decided.length) return h("p", { class: "muted" }, "The gate made no decision on these messages.");
  const step = (width - LEFT - 8) / messages.length;
  const x = (i) => LEFT + step * (i + 0.5);
  const scores = decided.flatMap(({ decision }) => [decision.score, decision.threshold]);
  const y = scale(clipped(scores), HIGH);
  const surprise = scale([0, ...decided.map(({ decision }) => decision.surprise)], LOW);
  const bar = ({ i, decision }) => {
    const [a, b] = [y(decision.score), y(decision.threshold)];
    return s("g", { class: decision.write ? "written" : "deferred" },
      s("line", { x1: x(i), x2: x(i), y1: a, y2: b }), s("circle", { cx: x(i), cy: a, r: Math.max(2, Math.min(5, step / 2.2)) }));
  };
  const steps = decided.map(({ i, decision }) => `M${(x(i) - step / 2).toFixed(1)} ${y(decision.threshold).toFixed(1)}h${step.toFixed(1)}`).join("");
  const line = decided.map(({ i, decision }, n) => `${n ? "L" : "M"}${x(i).toFixed(1)} ${(HIGH + 34 + surprise(decision.surprise)).toFixed(1)}`).join("");
  const areas = decided.map(({ i, decision }) => {
    const area = s("rect", { x: x(i) - step / 2, y: 0, width: step, height: HIGH + LOW + 40, class: "area" },
      s("title", {}, `${decision.write ? "written" : "deferred"}: ${decision.reason}\nscore ${rounded(decision.score)}, threshold ${rounded(decision.threshold)}, surprise ${rounded(decision.surprise)}`));
    area.addEventListener("click", () => chosen(i));
    return area;
  });
  const written = decided.filter(({ decision }) => decision.write).length;
  const said = `Score against threshold of ${number(decided.length)} messages: ${number(written)} written, ${number(decided.length - written)} deferred. The table below has the same data.`;
  return s("svg", { viewBox: `0 0 ${width} ${HIGH + LOW + 44}`, width, height: HIGH + LOW + 44, class: "curve", role: "img", "aria-label": said },
    s("text", { x: 0, y: 12, class: "caption" }, "score"), axis(y, y.ends, width),
    s("text", { x: 0, y: HIGH + 30, class: "caption" }, "surprise, nats per token"), axis((value) => HIGH + 34 + surprise(value), [0, surprise.ends[1]], width),
    s("path", { d: steps, class: "threshold" }), decided.map(bar), s("path", { d: line, class: "surprise" }), areas);
}

/** Lines at these values, with the values beside them. */
function axis(place, values, width) {
  return values.map((value) => s("g", { class: "grid" },
    s("line", { x1: LEFT, x2: width, y1: place(value), y2: place(value) }),
    s("text", { x: LEFT - 6, y: place(value) + 4 }, rounded(value, 1))));
}

/** From values to pixels, the largest at the top. */
function scale(values, height) {
  const low = Math.min(...values);
  const high = Math.max(...values, low + 0.01);
  const place = (value) => 22 + (height - 32) * (1 - (Math.min(high, Math.max(low, value)) - low) / (high - low));
  place.ends = [low, high];
  return place;
}

/** Values without far outliers, which would press all others flat. */
function clipped(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share) => sorted[Math.round(share * (sorted.length - 1))];
  const room = 3 * (at(0.9) - at(0.1) || 1);
  return values.map((value) => Math.min(at(0.9) + room, Math.max(at(0.1) - room, value)));
}
