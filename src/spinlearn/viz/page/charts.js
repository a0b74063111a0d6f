// Small line charts over temperature on two layers: curves once, the current temperature often.

function shortNumber(value) {
  if (value === null || !Number.isFinite(value)) return '–';
  const size = Math.abs(value);
  if (size >= 1e7) return value.toExponential(1);
  if (size >= 1e4) return Number((value / 1000).toPrecision(3)) + 'k';
  if (size >= 100) return String(Math.round(value));
  return String(Number(value.toPrecision(3)));
}

function niceTicks(low, high, wanted) {
  const span = high - low || 1;
  const rough = span / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= rough);
  const ticks = [];
  for (let v = Math.ceil(low / step - 1e-9) * step; v <= high + 1e-9 * span; v += step) ticks.push(Number(v.toPrecision(10)));
  return ticks;
}

class Chart {
  // series: [{ name, values, colour, shape, dash, error }]
  constructor(data, { title, note, series, height, floor, ceiling, ribbon, legend, onPick }) {
    Object.assign(this, { data, series, height, floor, ceiling, ribbon, onPick });
    this.places = temperaturePlaces(data);
    this.value = el('span', { class: 'value' });
    this.lower = el('canvas', { 'aria-hidden': 'true' });
    this.upper = el('canvas', { 'aria-hidden': 'true' });
    this.frame = el('div', { class: 'layers' }, this.lower, this.upper);
    this.frame.style.height = height + 'px';
    const heading = title ? el('h3', { title: note }, title, this.value) : null;
    this.legend = legend ? el('div', { class: 'chart-legend' }) : null;
    this.node = el('figure', { role: 'img', 'aria-label': note || title || '' }, heading, this.frame, this.legend);
    const pick = (event) => {
      const box = this.frame.getBoundingClientRect();
      this.onPick(this.rowAt(event.clientX - box.left));
    };
    // A finger picks by a tap or sideways; up and down it scrolls the page.
    let from = [0, 0];
    this.frame.addEventListener('pointerdown', (event) => {
      if (event.button !== 0) return;
      from = [event.clientX, event.clientY];
      this.frame.setPointerCapture(event.pointerId);
      if (event.pointerType === 'mouse') pick(event);
    });
    this.frame.addEventListener('pointermove', (event) => {
      const [dx, dy] = [event.clientX - from[0], event.clientY - from[1]].map(Math.abs);
      if (event.buttons & 1 && (event.pointerType === 'mouse' || dx > 2 * dy + 8)) pick(event);
    });
    this.frame.addEventListener('click', pick);
  }

  rowAt(x) {
    let best = 0;
    this.data.temperatures.forEach((t, row) => {
      if (Math.abs(this.x(t) - x) < Math.abs(this.x(this.data.temperatures[best]) - x)) best = row;
    });
    return best;
  }

  x(temperature) {
    const { first, last, of } = this.places;
    return this.left + ((of(temperature) - first) / (last - first || 1)) * (this.width - this.left - this.right);
  }

  y(value) {
    return this.bottom - ((value - this.low) / (this.high - this.low || 1)) * (this.bottom - this.top);
  }

  // Apart from `paint`: to measure after something was painted makes the browser lay out the page.
  measure() {
    this.width = Math.max(120, this.frame.getBoundingClientRect().width);
  }

  paint(theme) {
    const ctx = sizedCanvas(this.lower, this.width, this.height);
    sizedCanvas(this.upper, this.width, this.height);
    const finite = this.series.flatMap((s) => s.values).filter((v) => v !== null && Number.isFinite(v));
    this.low = this.floor !== undefined ? this.floor : Math.min(...finite, 0);
    const top = Math.max(...finite, this.low);
    this.high = this.ceiling !== undefined ? this.ceiling : top > this.low ? top + 0.06 * (top - this.low) : this.low + 1;
    this.top = 6;
    this.bottom = this.height - 18 - (this.ribbon ? 15 : 0);
    this.left = 36;
    this.right = 8;
    ctx.font = '11px system-ui, sans-serif';
    paintPhases(ctx, this.data, theme, (t) => this.x(t), this.top, this.bottom);
    this.paintAxes(ctx, theme);
    for (const s of this.series) this.paintSeries(ctx, s, theme);
    if (this.ribbon) this.ribbon(ctx, this, this.bottom + 3, 10, theme);
    this.paintLegend(theme);
  }

  paintAxes(ctx, theme) {
    ctx.strokeStyle = theme.line;
    ctx.fillStyle = theme.quiet;
    ctx.lineWidth = 1;
    ctx.textAlign = 'right';
    ctx.textBaseline = 'middle';
    for (const v of niceTicks(this.low, this.high, this.height > 130 ? 4 : 2)) {
      const y = Math.round(this.y(v)) + 0.5;
      ctx.beginPath(); ctx.moveTo(this.left, y); ctx.lineTo(this.width - this.right, y); ctx.stroke();
      ctx.fillText(shortNumber(v), this.left - 5, y);
    }
    ctx.textAlign = 'center';
    ctx.textBaseline = 'alphabetic';
    const { data } = this;
    const finite = data.temperatures.filter((t) => t !== Infinity);
    for (const t of finite.length ? niceTicks(finite[0], finite[finite.length - 1], this.width > 300 ? 6 : 4) : []) {
      const room = (finite.length < data.nRows ? this.x(Infinity) - 11 : this.width) - ctx.measureText(shortNumber(t)).width / 2;
      if (this.x(t) < room) ctx.fillText(shortNumber(t), Math.min(this.width - this.right - 4, this.x(t)), this.height - 4);
    }
    if (finite.length < data.nRows) ctx.fillText('∞', this.x(Infinity) - 3, this.height - 4);
    const star = this.x(data.temperatures[data.answerRow]);
    ctx.setLineDash([3, 3]);
    ctx.strokeStyle = theme.ink;
    ctx.globalAlpha = 0.75;
    ctx.beginPath(); ctx.moveTo(star, this.top); ctx.lineTo(star, this.bottom); ctx.stroke();
    ctx.globalAlpha = 1;
    ctx.setLineDash([]);
  }

  paintSeries(ctx, s, theme) {
    const { temperatures } = this.data;
    ctx.strokeStyle = visible(s.colour || theme.ink, theme);
    ctx.lineWidth = s.faint ? 1 : 1.8;
    ctx.globalAlpha = s.faint ? 0.5 : 1;
    if (s.error) {
      ctx.lineWidth = 1;
      ctx.beginPath();
      temperatures.forEach((t, row) => {
        const reach = s.error[row];
        if (!reach) return;
        const x = this.x(t);
        const high = this.y(Math.min(1, s.values[row] + reach));
        const low = this.y(Math.max(0, s.values[row] - reach));
        ctx.moveTo(x, low); ctx.lineTo(x, high);
        ctx.moveTo(x - 2.5, low); ctx.lineTo(x + 2.5, low);
        ctx.moveTo(x - 2.5, high); ctx.lineTo(x + 2.5, high);
      });
      ctx.stroke();
      ctx.lineWidth = s.faint ? 1 : 1.8;
    }
    ctx.setLineDash(s.dash || []);
    ctx.beginPath();
    let open = false;
    temperatures.forEach((t, row) => {
      const v = s.values[row];
      if (v === null || !Number.isFinite(v)) { open = false; return; }
      if (open) ctx.lineTo(this.x(t), this.y(v));
      else ctx.moveTo(this.x(t), this.y(v));
      open = true;
    });
    ctx.stroke();
    ctx.setLineDash([]);
    if (s.mark && !s.faint) {
      const every = Math.max(1, Math.ceil(temperatures.length / 12));
      temperatures.forEach((t, row) => {
        const v = s.values[row];
        if (v !== null && Number.isFinite(v) && row % every === (s.offset || 0) % every) drawMark(ctx, this.x(t), this.y(v), 3.6, { ...s.mark, ink: theme.ink, paper: theme.paper });
      });
    }
    ctx.globalAlpha = 1;
  }

  paintLegend(theme) {
    if (!this.legend) return;
    this.legend.replaceChildren(...this.series.filter((s) => !s.faint).map((s) => {
      const picture = s.mark ? swatch({ ...s.mark, ink: theme.ink, paper: theme.paper }, 14) : null;
      s.count = el('b');
      return el('span', {}, picture, s.name, ' ', s.count);
    }));
  }

  // The current temperature.
  paintNow(row, theme) {
    const ctx = this.upper.getContext('2d');
    ctx.clearRect(0, 0, this.width, this.height);
    const x = this.x(this.data.temperatures[row]);
    ctx.strokeStyle = theme.accent;
    ctx.lineWidth = 1.6;
    ctx.beginPath(); ctx.moveTo(x, this.top - 3); ctx.lineTo(x, this.bottom + (this.ribbon ? 13 : 3)); ctx.stroke();
    for (const s of this.series) {
      const v = s.values[row];
      if (s.faint || v === null || !Number.isFinite(v)) continue;
      ctx.beginPath();
      ctx.arc(x, this.y(v), 3.2, 0, 2 * Math.PI);
      ctx.fillStyle = s.colour || theme.ink;
      ctx.fill();
      ctx.strokeStyle = theme.paper;
      ctx.lineWidth = 1.2;
      ctx.stroke();
      if (s.count) s.count.textContent = shortNumber(v);
    }
    this.value.textContent = this.legend || !this.series.length ? '' : shortNumber(this.series[0].values[row]);
  }
}
