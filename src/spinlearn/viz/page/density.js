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
    let found = colours.get(code);
    if (!found) colours.set(code, found = channels(outcomeMark(data, code, 1, state.theme, listed).colour));
    return found;
  };
  const [paperRed, paperGreen, paperBlue] = channels(state.theme.paper);
  // Edges of columns and rows on the screen, from the left and from below.
  const across = new Int32Array(side + 1);
  const up = new Int32Array(side + 1);
  for (let k = 0; k <= side; k++) {
    across[k] = Math.max(0, Math.min(width, Math.round((a * k / side + bx) * scale)));
    up[k] = Math.max(0, Math.min(height, Math.round((a * (layout.extent[1] - k / side) + by) * scale)));
  }
  for (let b = 0; b < bins.length; b++) {
    const code = outcomes[base + b];
    if (state.proposal || (state.group !== null && code !== state.group)) continue;
    const column = bins[b] % side;
    const row = (bins[b] - column) / side;
    const left = across[column];
    const right = across[column + 1];
    const last = up[row];
    if (left >= right || up[row + 1] >= last) continue;
    const share = FAINTEST + (DARKEST - FAINTEST) * levels[b] / 255;
    const colour = colourOf(code);
    const red = Math.round(colour[0] * share + paperRed * (1 - share));
    const green = Math.round(colour[1] * share + paperGreen * (1 - share));
    const blue = Math.round(colour[2] * share + paperBlue * (1 - share));
    const pixel = ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
    for (let y = up[row + 1]; y < last; y++) {
      const end = y * width + right;
      for (let at = y * width + left; at < end; at++) pixels[at] = pixel;
    }
  }
}
