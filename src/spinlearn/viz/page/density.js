// The density of all points, under those that are drawn: one square per bin, the fuller the darker,
// in the colour of the call that most of its points have.

const FAINTEST = 0.08;
const DARKEST = 0.55;

function paintDensity(map, state) {
  const { data, pixels, scale } = map;
  const { a, bx, by, layout } = map.transform();
  const { density } = layout;
  if (!density) return;
  const { side, bins, levels, outcomes } = density;
  const width = map.canvas.width;
  const height = map.canvas.height;
  const base = state.row * bins.length;
  const colours = new Map();
  const listed = new Set(data.groups[state.row].listed.map(([code]) => code));
  const colourOf = (code) => {
    if (!colours.has(code)) colours.set(code, channels(outcomeMark(data, code, 1, state.theme, listed).colour));
    return colours.get(code);
  };
  const paper = channels(state.theme.paper);
  for (let b = 0; b < bins.length; b++) {
    const code = outcomes[base + b];
    if (state.group !== null && code !== state.group) continue;
    const column = bins[b] % side;
    const row = Math.floor(bins[b] / side);
    const top = layout.extent[1] - (row + 1) / side;
    const left = Math.max(0, Math.round((a * column / side + bx) * scale));
    const right = Math.min(width, Math.round((a * (column + 1) / side + bx) * scale));
    const first = Math.max(0, Math.round((a * top + by) * scale));
    const last = Math.min(height, Math.round((a * (top + 1 / side) + by) * scale));
    if (left >= right || first >= last) continue;
    const share = FAINTEST + (DARKEST - FAINTEST) * levels[b] / 255;
    const [red, green, blue] = colourOf(code).map((c, k) => Math.round(c * share + paper[k] * (1 - share)));
    const pixel = ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
    for (let y = first; y < last; y++) pixels.fill(pixel, y * width + left, y * width + right);
  }
}
