// How points look, told apart without colour too.
//   labelled   solid, large, with a ring         confident  solid
//   grown      outline with a solid core         confused   a cross in the colours of two candidates
//   new        outline with a dot                outlier    a thin plus

// As Status of answers/rule.py; what they look like is STATUS_LOOKS of viz/palette.py.
const LABELLED = 0, CONFIDENT = 1, GROWN = 2, CONFUSED = 3, NEW = 4, OUTLIER = 5;

// Cividis (Nuñez, Anderton & Renslow 2018), every eighth of the way.
const RAMP = ['#00224e', '#123570', '#3b496c', '#575d6d', '#707173', '#8a8678', '#a59c74', '#c3b369', '#fee838'];

// On a dark ground the ramp starts where it can be seen, on a light one it ends there.
function rampColour(share, theme) {
  const dark = theme.name === 'dark';
  const at = ((dark ? 0.2 : 0) + (dark ? 0.8 : 0.95) * Math.max(0, Math.min(1, share))) * (RAMP.length - 1);
  const low = Math.min(RAMP.length - 2, Math.floor(at));
  return mix(RAMP[low], RAMP[low + 1], at - low);
}

function channels(hex) {
  return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
}

function mix(a, b, share) {
  const x = channels(a);
  const y = channels(b);
  return '#' + x.map((v, i) => Math.round(v + (y[i] - v) * share).toString(16).padStart(2, '0')).join('');
}

function luminance(colour) {
  const [r, g, b] = channels(colour).map((v) => (v <= 10 ? v / 3294.6 : ((v / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

// The colour itself where it stands out 3 : 1 from the paper (WCAG 2.1, 1.4.11), else as near as does.
const VISIBLE = new Map();
function visible(colour, { ink, paper }) {
  const key = colour + ink + paper;
  if (!VISIBLE.has(key)) {
    const ground = luminance(paper);
    const stands = (c) => (Math.max(luminance(c), ground) + 0.05) / (Math.min(luminance(c), ground) + 0.05) >= 3;
    let share = 0;
    while (share < 1 && !stands(mix(colour, ink, share))) share += 0.05;
    VISIBLE.set(key, mix(colour, ink, Math.min(share, 1)));
  }
  return VISIBLE.get(key);
}

function polygon(ctx, corners) {
  ctx.moveTo(corners[0][0], corners[0][1]);
  for (let i = 1; i < corners.length; i++) ctx.lineTo(corners[i][0], corners[i][1]);
  ctx.closePath();
}

function regular(x, y, r, count, turn, inner) {
  const corners = [];
  const total = inner ? 2 * count : count;
  for (let i = 0; i < total; i++) {
    const angle = turn + (2 * Math.PI * i) / total;
    const radius = inner && i % 2 ? inner * r : r;
    corners.push([x + radius * Math.cos(angle), y + radius * Math.sin(angle)]);
  }
  return corners;
}

const OUTLINES = {
  circle: (ctx, x, y, r) => { ctx.moveTo(x + 0.92 * r, y); ctx.arc(x, y, 0.92 * r, 0, 2 * Math.PI); },
  square: (ctx, x, y, r) => ctx.rect(x - 0.82 * r, y - 0.82 * r, 1.64 * r, 1.64 * r),
  triangle: (ctx, x, y, r) => polygon(ctx, regular(x, y + 0.14 * r, 1.14 * r, 3, -Math.PI / 2)),
  down: (ctx, x, y, r) => polygon(ctx, regular(x, y - 0.14 * r, 1.14 * r, 3, Math.PI / 2)),
  diamond: (ctx, x, y, r) => polygon(ctx, regular(x, y, 1.12 * r, 4, 0)),
  pentagon: (ctx, x, y, r) => polygon(ctx, regular(x, y, 1.05 * r, 5, -Math.PI / 2)),
  star: (ctx, x, y, r) => polygon(ctx, regular(x, y, 1.2 * r, 5, -Math.PI / 2, 0.45)),
  plus: (ctx, x, y, r) => {
    const a = 0.36 * r;
    polygon(ctx, [[x - a, y - r], [x + a, y - r], [x + a, y - a], [x + r, y - a], [x + r, y + a], [x + a, y + a],
      [x + a, y + r], [x - a, y + r], [x - a, y + a], [x - r, y + a], [x - r, y - a], [x - a, y - a]]);
  },
};
OUTLINES.ring = OUTLINES.circle;
OUTLINES.cross = OUTLINES.circle;

// Two strokes through (x, y), each reaching by (dx, dy) to both sides, on a rim of paper.
function drawStrokes(ctx, x, y, thin, mark, strokes) {
  ctx.lineCap = 'round';
  for (const rim of [true, false]) {
    ctx.lineWidth = (rim ? 2.1 : 1.35) * thin;
    for (const [dx, dy, colour] of strokes) {
      ctx.strokeStyle = rim ? mark.paper : colour;
      ctx.beginPath(); ctx.moveTo(x - dx, y - dy); ctx.lineTo(x + dx, y + dy); ctx.stroke();
    }
  }
}

// A mark: { shape, colour, second, fill, ink, paper }; the same for map, legend and ribbons.
function drawMark(ctx, x, y, r, mark) {
  const thin = Math.max(1, 0.28 * r);
  ctx.lineJoin = 'round';
  if (mark.fill === 'cross') {
    const a = 0.8 * r;
    drawStrokes(ctx, x, y, thin, mark, [[a, a, mark.colour], [a, -a, mark.second]]);
    return;
  }
  if (mark.fill === 'strokes') {
    const colour = visible(mark.colour, mark);
    drawStrokes(ctx, x, y, thin, mark, [[r, 0, colour], [0, r, colour]]);
    return;
  }
  const outline = OUTLINES[mark.shape];
  ctx.beginPath();
  if (mark.fill === 'labelled') {
    outline(ctx, x, y, r + 2.4);
    ctx.fillStyle = mark.ink;
    ctx.fill();
    ctx.beginPath();
    outline(ctx, x, y, r + 0.9);
    ctx.fillStyle = mark.paper;
    ctx.fill();
    ctx.beginPath();
    outline(ctx, x, y, r - 0.4);
    ctx.fillStyle = mark.colour;
    ctx.fill();
    return;
  }
  if (mark.fill === 'solid') {
    outline(ctx, x, y, r);
    ctx.fillStyle = mark.colour;
    ctx.fill();
    const edge = visible(mark.colour, mark);
    ctx.lineWidth = Math.min(1, 0.16 * r);
    ctx.strokeStyle = edge.toLowerCase() === mark.colour.toLowerCase() ? mark.paper : edge;
    ctx.stroke();
    return;
  }
  outline(ctx, x, y, r - thin / 2);
  ctx.fillStyle = mark.paper;
  ctx.fill();
  ctx.lineWidth = mark.fill === 'grown' ? thin : 1.15 * thin;
  ctx.strokeStyle = visible(mark.colour, mark);
  ctx.stroke();
  ctx.beginPath();
  if (mark.fill === 'grown') {
    outline(ctx, x, y, 0.5 * r);
    ctx.fillStyle = mark.colour;
  } else {
    ctx.arc(x, y, Math.max(0.7, 0.2 * r), 0, 2 * Math.PI);
    ctx.fillStyle = mark.ink;
  }
  ctx.fill();
}

// A cell of side s whose upper left corner is (x, y): the same language for pixels.
function drawCell(ctx, x, y, s, mark) {
  ctx.save();
  ctx.beginPath();
  ctx.rect(x, y, s, s);
  ctx.clip();
  const middle = [x + s / 2, y + s / 2];
  if (mark.fill === 'plain') {
    ctx.fillStyle = mark.colour;
    ctx.fillRect(x, y, s, s);
    ctx.restore();
    return;
  }
  if (mark.fill === 'cross') {
    ctx.fillStyle = mark.paper;
    ctx.fillRect(x, y, s, s);
    ctx.lineWidth = Math.max(1, s / 4.5);
    for (const [from, colour] of [[0, mark.colour], [0.5, mark.second], [1, mark.colour], [1.5, mark.second]]) {
      ctx.strokeStyle = colour;
      ctx.beginPath();
      ctx.moveTo(x + from * s + s / 4, y - 1);
      ctx.lineTo(x + from * s - s * 0.75 - 1, y + s);
      ctx.stroke();
    }
  } else if (mark.fill === 'strokes') {
    ctx.fillStyle = mark.paper;
    ctx.fillRect(x, y, s, s);
    drawMark(ctx, ...middle, 0.34 * s, mark);
  } else if (mark.fill === 'open') {
    ctx.fillStyle = mix(mark.colour, mark.paper, 0.72);
    ctx.fillRect(x, y, s, s);
    ctx.fillStyle = mark.colour;
    ctx.beginPath();
    OUTLINES[mark.shape](ctx, middle[0], middle[1], Math.max(0.8, 0.24 * s));
    ctx.fill();
  } else {
    const grown = mark.fill === 'grown';
    ctx.fillStyle = grown ? mix(mark.colour, mark.paper, 0.55) : mark.colour;
    ctx.fillRect(x, y, s, s);
    if (s >= 6) {
      ctx.beginPath();
      OUTLINES[mark.shape](ctx, middle[0], middle[1], 0.26 * s);
      ctx.fillStyle = grown ? mark.colour : mix(mark.colour, '#ffffff', 0.3);
      ctx.fill();
    }
  }
  if (s >= 5) {
    ctx.strokeStyle = mark.paper;
    ctx.globalAlpha = 0.5;
    ctx.lineWidth = 1;
    ctx.beginPath();
    ctx.moveTo(x + s, y);
    ctx.lineTo(x + s, y + s);
    ctx.lineTo(x, y + s);
    ctx.stroke();
  }
  ctx.restore();
}

function classShape(data, code) {
  return data.palette.shapes[code % data.palette.shapes.length];
}

function classColour(data, code) {
  return data.palette.colours[code % data.palette.colours.length];
}

// The mark of an outcome; `status` decides the fill of named classes.
function outcomeMark(data, code, status, theme, listed) {
  const { neutral } = data.palette;
  const base = { ink: theme.ink, paper: theme.paper };
  if (isOutlier(data, code)) return { ...base, shape: 'plus', fill: 'strokes', colour: neutral };
  if (code < 0) {
    const [first, second] = data.confusedSets[-1 - code];
    return { ...base, shape: 'cross', fill: 'cross', colour: classColour(data, first), second: classColour(data, second) };
  }
  if (code >= data.k) {
    const small = listed && !listed.has(code);
    return {
      ...base, fill: 'open',
      shape: small ? 'circle' : classShape(data, code),
      colour: small ? neutral : classColour(data, code),
    };
  }
  const filled = status === CONFUSED || status === OUTLIER ? GROWN : status;
  const fill = status === undefined ? 'solid' : data.statuses[filled].fill;
  return { ...base, shape: classShape(data, code), colour: classColour(data, code), fill };
}

function statusMark(data, status, theme) {
  const { colour, shape, fill } = data.statuses[status];
  return { ink: theme.ink, paper: theme.paper, shape, colour, second: colour, fill };
}

// A small picture of a mark for legends and tables. Lists are rendered anew with every step of the
// slider, and a canvas is dear to make: one that has left the page is used again.
const SWATCHES = new Map();
const handedOut = new Set(); // not on the page yet, but about to be

function swatch(mark, size = 16) {
  const scale = window.devicePixelRatio || 1;
  const key = `${size}/${scale}/${JSON.stringify(mark)}`;
  if (SWATCHES.size > 500) SWATCHES.clear();
  if (!SWATCHES.has(key)) SWATCHES.set(key, []);
  const drawn = SWATCHES.get(key);
  let canvas = drawn.find((c) => !c.isConnected && !handedOut.has(c));
  if (!canvas) drawn.push(canvas = drawnSwatch(mark, size, scale));
  if (!handedOut.size) queueMicrotask(() => handedOut.clear());
  handedOut.add(canvas);
  return canvas;
}

function drawnSwatch(mark, size, scale) {
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = Math.round(size * scale);
  canvas.style.width = canvas.style.height = size + 'px';
  canvas.setAttribute('aria-hidden', 'true');
  const ctx = canvas.getContext('2d');
  ctx.scale(scale, scale);
  drawMark(ctx, size / 2, size / 2, (mark.fill === 'labelled' ? 0.28 : 0.36) * size, mark);
  return canvas;
}
