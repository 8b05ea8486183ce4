// Where the nodes of a small graph go: springs along edges, repulsion between all, always the same for the same graph.

const ROUNDS = 220;

/**
 * Places by name for `names` (the first in the middle) and `edges` (pairs of names), within `width` and `height`.
 * O(n²) a round: for a hundred nodes.
 */
export function placed(names, edges, width, height, margin) {
  const nodes = names.map((name, i) => {
    const turn = i * 2.399963; // the golden angle spreads them evenly
    const far = i === 0 ? 0 : 0.18 + 0.32 * Math.sqrt(i / names.length);
    return { name, x: width / 2 + width * far * Math.cos(turn), y: height / 2 + height * far * Math.sin(turn), dx: 0, dy: 0 };
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
      node.x = Math.min(width - margin.x, Math.max(margin.x, node.x + node.dx * move));
      node.y = Math.min(height - margin.y, Math.max(margin.y, node.y + node.dy * move));
    }
  }
  return by;
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
