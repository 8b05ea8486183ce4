// Where the nodes of a small graph go: springs along edges, repulsion between all, always the same for the same graph.

const ROUNDS = 220;

const APART = 80;
const GAP = 8;
const HIGH = 26;

/**
 * Places by name for `names` (the first in the middle) and `edges` (pairs of names), within `width` and `height`.
 * `sizes` are the widths of the labels by name, which do not cover each other. O(n²) a round: for a hundred nodes.
 */
export function placed(names, edges, width, height, sizes) {
  const nodes = names.map((name, i) => {
    const turn = i * 2.399963; // the golden angle spreads them evenly
    const far = i === 0 ? 0 : 0.18 + 0.32 * Math.sqrt(i / names.length);
    return { name, wide: sizes.get(name), x: width / 2 + width * far * Math.cos(turn), y: height / 2 + height * far * Math.sin(turn), dx: 0, dy: 0 };
  });
  const by = new Map(nodes.map((node) => [node.name, node]));
  const ideal = 0.85 * Math.sqrt((width * height) / Math.max(nodes.length, 2));
  for (let round = 0; round < ROUNDS; round += 1) {
    const step = 0.12 * Math.min(width, height) * (1 - round / ROUNDS);
    for (const node of nodes) node.dx = node.dy = 0;
    for (let i = 0; i < nodes.length; i += 1) {
      for (let j = 0; j < i; j += 1) push(nodes[i], nodes[j], ideal);
    }
    for (const [a, b] of edges) pull(by.get(a), by.get(b), ideal);
    for (const node of nodes.slice(1)) {
      const length = Math.hypot(node.dx, node.dy) || 1;
      const move = Math.min(length, step) / length;
      node.x += node.dx * move;
      node.y += node.dy * move;
      keep(node, width, height);
    }
  }
  for (let round = 0; round < APART; round += 1) {
    for (let i = 0; i < nodes.length; i += 1) {
      for (let j = 0; j < i; j += 1) part(nodes[i], nodes[j], nodes[0]);
    }
    for (const node of nodes) keep(node, width, height);
  }
  return by;
}

function keep(node, width, height) {
  node.x = Math.min(width - node.wide / 2 - GAP, Math.max(node.wide / 2 + GAP, node.x));
  node.y = Math.min(height - HIGH, Math.max(HIGH, node.y));
}

/** Move two labels that cover each other apart, along the shorter way; the one in the middle stays. */
function part(a, b, middle) {
  const x = (a.wide + b.wide) / 2 + GAP - Math.abs(a.x - b.x);
  const y = HIGH + GAP - Math.abs(a.y - b.y);
  if (x <= 0 || y <= 0) return;
  const [axis, by] = y <= x ? ["y", y] : ["x", x];
  const way = a[axis] >= b[axis] ? 1 : -1;
  if (b !== middle) b[axis] -= (way * by) / 2;
  a[axis] += (way * by) / (b === middle ? 1 : 2);
}

function push(a, b, ideal) {
  const dx = (a.x - b.x) * 0.72; // labels are wider than high: neighbours need more room to the side
  const dy = (a.y - b.y) * 1.25 || 0.01;
  const square = dx * dx + dy * dy || 0.01;
  const force = (ideal * ideal) / square;
  a.dx += dx * force;
  a.dy += dy * force;
  b.dx -= dx * force;
  b.dy -= dy * force;
}

function pull(a, b, ideal) {
  const dx = a.x - b.x;
  const dy = a.y - b.y;
  const force = Math.hypot(dx, dy) / ideal;
  a.dx -= dx * force;
  a.dy -= dy * force;
  b.dx += dx * force;
  b.dy += dy * force;
}
