// How phases look: tinted bands whose pattern (none, dots, strokes) tells them apart without colour.

const PHASES = ['ferromagnetic', 'super-paramagnetic', 'paramagnetic'];
const PHASE_MEANING = ['all act as one', 'clusters show', 'no order'];

function paintPhases(ctx, data, theme, xOf, top, bottom) {
  for (const phase of data.phases) {
    const which = PHASES.indexOf(phase.name);
    const left = xOf(phase.low);
    const right = xOf(phase.high);
    ctx.fillStyle = data.palette.phaseColours[which];
    ctx.globalAlpha = theme.tint;
    ctx.fillRect(left, top, right - left, bottom - top);
    ctx.globalAlpha = theme.tint * 1.9;
    phasePattern(ctx, which, left, right, top, bottom, data.palette.phaseColours[which]);
    ctx.globalAlpha = 1;
  }
}

function phasePattern(ctx, which, left, right, top, bottom, colour) {
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, top, right - left, bottom - top);
  ctx.clip();
  ctx.strokeStyle = ctx.fillStyle = colour;
  ctx.lineWidth = 1;
  if (which === 1) {
    for (let x = Math.floor(left / 7) * 7; x < right; x += 7) {
      for (let y = top + 3; y < bottom; y += 7) ctx.fillRect(x, y, 1.4, 1.4);
    }
  } else if (which === 2) {
    const high = bottom - top;
    ctx.beginPath();
    for (let x = Math.floor((left - high) / 7) * 7; x < right; x += 7) { ctx.moveTo(x, bottom); ctx.lineTo(x + high, top); }
    ctx.stroke();
  }
  ctx.restore();
}

function phaseKey(data) {
  return PHASES.map((name, which) => {
    const canvas = el('canvas', { 'aria-hidden': 'true' });
    const ctx = sizedCanvas(canvas, 18, 11);
    ctx.fillStyle = data.palette.phaseColours[which];
    ctx.globalAlpha = 0.25;
    ctx.fillRect(0, 0, 18, 11);
    ctx.globalAlpha = 0.6;
    phasePattern(ctx, which, 0, 18, 0, 11, data.palette.phaseColours[which]);
    return el('span', { title: PHASE_MEANING[which] }, canvas, name);
  });
}
