// The track of the slider: phases by grid row, T*, rows whose numbers are to be doubted.

const STRIP = { thumb: 18, top: 13, high: 15 };

function paintStrip(data, canvas, theme) {
  const width = canvas.parentElement.clientWidth;
  const ctx = sizedCanvas(canvas, width, 56);
  const { thumb } = STRIP;
  const last = Math.max(1, data.nRows - 1);
  const x = (row) => thumb / 2 + (row / last) * (width - thumb);
  ctx.font = '11px system-ui, sans-serif';
  const edge = (row) => (row === 0 ? thumb / 2 : row === data.nRows ? width - thumb / 2 : x(row - 0.5));
  paintStripPhases(ctx, data, theme, edge);
  paintStripTicks(ctx, data, theme, x, width);
  const star = x(data.answerRow);
  ctx.fillStyle = theme.ink;
  ctx.beginPath(); ctx.moveTo(star - 5, 4); ctx.lineTo(star + 5, 4); ctx.lineTo(star, STRIP.top); ctx.fill();
  ctx.font = '600 11px system-ui, sans-serif';
  ctx.textAlign = star > width - 40 ? 'right' : 'left';
  ctx.fillText('T*', star + (star > width - 40 ? -8 : 8), 11);
}

function paintStripPhases(ctx, data, theme, edge) {
  const { top, high } = STRIP;
  const phaseOf = data.temperatures.map((_, row) => phaseName(data, row));
  ctx.textBaseline = 'middle';
  ctx.textAlign = 'center';
  let from = 0;
  for (let row = 1; row <= data.nRows; row++) {
    if (row < data.nRows && phaseOf[row] === phaseOf[from]) continue;
    const which = PHASES.indexOf(phaseOf[from]);
    const left = edge(from);
    const right = edge(row);
    ctx.globalAlpha = theme.tint * 1.6;
    ctx.fillStyle = data.palette.phaseColours[which];
    ctx.fillRect(left, top, right - left, high);
    ctx.globalAlpha = theme.tint * 2.2;
    phasePattern(ctx, which, left, right, top, top + high, data.palette.phaseColours[which]);
    ctx.globalAlpha = 1;
    ctx.fillStyle = theme.ink;
    const text = phaseOf[from];
    if (ctx.measureText(text).width + 8 < right - left) ctx.fillText(text, (left + right) / 2, top + 8);
    from = row;
  }
}

function paintStripTicks(ctx, data, theme, x, width) {
  const bottom = STRIP.top + STRIP.high;
  ctx.textBaseline = 'alphabetic';
  ctx.textAlign = 'center';
  let reached = -Infinity;
  for (let row = 0; row < data.nRows; row++) {
    const at = x(row);
    const doubtful = doubt(data, row) !== '';
    ctx.fillStyle = doubtful ? theme.warn : theme.quiet;
    ctx.fillRect(at - 0.5, bottom, 1, doubtful ? 7 : 4);
    const text = temperatureText(data.temperatures[row]);
    const half = ctx.measureText(text).width / 2;
    if (at - half > reached + 10 && at + half <= width) {
      ctx.fillStyle = theme.quiet;
      ctx.fillText(text, Math.max(half, at), bottom + 27);
      reached = at + half;
    }
  }
}
