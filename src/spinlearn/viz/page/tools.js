// Tools on the map: pick points one by one, draw a lasso around some, or paint strokes over them.

const TOOLS = [['pick', 'Pick'], ['lasso', 'Lasso'], ['stroke', 'Stroke']];
const BRUSH = 9; // screen units from the middle of a stroke, at least

function insideOf(path, x, y) {
  let inside = false;
  for (let i = 0, j = path.length - 1; i < path.length; j = i++) {
    const [ax, ay] = path[i];
    const [bx, by] = path[j];
    if ((ay > y) !== (by > y) && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) inside = !inside;
  }
  return inside;
}

function nearTo(path, x, y, reach) {
  for (let i = 1; i < path.length; i++) {
    const [ax, ay] = path[i - 1];
    const [bx, by] = path[i];
    const length = (bx - ax) ** 2 + (by - ay) ** 2;
    const share = length ? Math.max(0, Math.min(1, ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / length)) : 0;
    if (Math.hypot(x - ax - share * (bx - ax), y - ay - share * (by - ay)) <= reach) return true;
  }
  return false;
}

// Points on display that a path picks.
function pointsOf(path, tool, map, state) {
  const { a, bx, by, layout, cell } = map.transform();
  const reach = Math.max(cell * 0.6, layout.pixels ? 0 : BRUSH);
  const edge = tool === 'stroke' ? reach : 0;
  const xs = path.map(([x]) => x);
  const ys = path.map(([, y]) => y);
  const [left, right, top, bottom] = [Math.min(...xs) - edge, Math.max(...xs) + edge, Math.min(...ys) - edge, Math.max(...ys) + edge];
  const found = [];
  for (let i = 0; i < map.data.n; i++) {
    const x = a * layout.x[i] + bx;
    const y = a * layout.y[i] + by;
    if (x < left || x > right || y < top || y > bottom || !map.pickable(i, state)) continue;
    if (tool === 'stroke' ? nearTo(path, x, y, reach) : insideOf(path, x, y)) found.push(i);
  }
  return found;
}

function paintPath({ ctx }, state) {
  if (!state.path) return;
  ctx.beginPath();
  state.path.forEach(([x, y], i) => (i ? ctx.lineTo(x, y) : ctx.moveTo(x, y)));
  if (state.tool === 'stroke') {
    ctx.lineWidth = 2 * BRUSH;
    ctx.lineCap = ctx.lineJoin = 'round';
    ctx.globalAlpha = 0.35;
    ctx.strokeStyle = state.theme.accent;
    ctx.stroke();
    ctx.globalAlpha = 1;
    return;
  }
  ctx.closePath();
  ctx.globalAlpha = 0.12;
  ctx.fillStyle = state.theme.accent;
  ctx.fill();
  ctx.globalAlpha = 1;
  ctx.lineWidth = 1.6;
  ctx.strokeStyle = state.theme.accent;
  ctx.stroke();
}
