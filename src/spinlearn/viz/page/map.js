// The map: one picture of all points per temperature.
//
// Marks are drawn once each by the browser, then copied by hand into the picture's pixels, which
// takes a fifth of the time of 20,000 calls of drawImage.

const UNLISTED = 4000000; // stands for all small new classes; keys stay below 2^30, which is quick

class PointMap {
  constructor(data, canvas, overlay, frame) {
    Object.assign(this, { data, canvas, overlay, frame });
    this.layout = 0;
    this.sprites = new Map();
    this.order = new Int32Array(data.n);
    this.resetView();
  }

  // Another answer: the number of points on display may have changed.
  adopt() {
    this.order = new Int32Array(this.data.n);
    this.layer = null;
    this.sprites.clear();
  }

  resetView() { this.view = { zoom: 1, x: 0, y: 0 }; }

  resize() {
    const box = this.frame.getBoundingClientRect();
    this.width = Math.max(50, box.width);
    this.height = Math.max(50, box.height);
    this.scale = window.devicePixelRatio || 1;
    for (const canvas of [this.canvas, this.overlay]) {
      canvas.width = Math.round(this.width * this.scale);
      canvas.height = Math.round(this.height * this.scale);
    }
    this.sprites.clear();
  }

  // Screen position of unit-square coordinates: x' = a x + bx, y' = a y + by.
  transform() {
    const layout = this.data.layouts[this.layout];
    const margin = 22;
    const pixel = layout.pixels ? layout.pixel : 0;
    const wide = layout.extent[0] + pixel || 1e-9;
    const high = layout.extent[1] + pixel || 1e-9;
    const fit = Math.min((this.width - 2 * margin) / wide, (this.height - 2 * margin) / high);
    let a = fit * this.view.zoom;
    const side = a * pixel * this.scale;
    const even = side >= 4; // cells of whole screen pixels, between which no seam shows
    if (even) a *= Math.floor(side) / side;
    let bx = this.width / 2 - (a * layout.extent[0]) / 2 + this.view.x;
    let by = this.height / 2 - (a * layout.extent[1]) / 2 + this.view.y;
    if (even) [bx, by] = [bx, by].map((b) => Math.round((b - (a * pixel) / 2) * this.scale) / this.scale + (a * pixel) / 2);
    return { a, bx, by, layout, cell: layout.pixels ? a * layout.pixel : 0 };
  }

  radius() {
    const { layout, a } = this.transform();
    const area = Math.max(this.width * this.height * 0.5, (a * layout.extent[0]) * (a * layout.extent[1]) * 0.7);
    return Math.max(2.1, Math.min(9, 0.36 * Math.sqrt(area / Math.max(1, this.data.n))));
  }

  // How a point looks now: a key for the sprite and the mark behind it.
  marks(state) {
    const { data } = this;
    const { row, colourBy, theme } = state;
    const listed = new Set(data.groups[row].listed.map(([code]) => code));
    const cache = new Map();
    return (point) => {
      const at = row * data.n + point;
      const code = data.outcomes[at];
      const status = data.status[at];
      if (colourBy === 'picture' && status !== LABELLED) return this.pictured(point, theme, cache);
      let level = 0;
      if (colourBy === 'confidence') level = Math.round((31 * data.confidence[at]) / data.stepsPerUnit);
      else if (colourBy === 'column') level = state.column ? state.column.levels[point] : 0;
      let shown = code;
      if (code >= data.k && !listed.has(code)) shown = UNLISTED;
      const key = colourBy === 'status' ? status : (shown + 40000) * 256 + status * 32 + level;
      let found = cache.get(key);
      if (!found) {
        let mark;
        if (colourBy === 'status') mark = statusMark(data, status, theme);
        else {
          mark = outcomeMark(data, code, status, theme, listed);
          if (colourBy === 'confidence' || colourBy === 'column') {
            const colour = rampColour(level / 31, theme);
            mark = { ...mark, colour, second: colour };
          }
        }
        found = { key: colourBy + key, mark };
        cache.set(key, found);
      }
      return found;
    };
  }

  // The pixel of the picture itself, in 16 shades of each colour.
  pictured(point, theme, cache) {
    const shade = (c) => this.data.picture[3 * point + c] >> 4;
    const key = -1 - ((shade(0) << 8) | (shade(1) << 4) | shade(2));
    if (!cache.has(key)) {
      const colour = '#' + [0, 1, 2].map((c) => (17 * shade(c)).toString(16).padStart(2, '0')).join('');
      cache.set(key, { key: 'picture' + key, mark: { shape: 'square', fill: 'plain', colour, ink: theme.ink, paper: theme.paper } });
    }
    return cache.get(key);
  }

  // A mark as pixels, of `size` screen units; drawn once.
  sprite(name, size, draw) {
    const side = Math.max(1, Math.ceil(size * this.scale));
    const key = name + '/' + side;
    let sprite = this.sprites.get(key);
    if (!sprite) {
      const scratch = this.scratch || (this.scratch = document.createElement('canvas'));
      scratch.width = scratch.height = side;
      const ctx = scratch.getContext('2d', { willReadFrequently: true });
      ctx.scale(this.scale, this.scale);
      draw(ctx);
      sprite = cropped(new Uint32Array(ctx.getImageData(0, 0, side, side).data.buffer), side);
      if (this.sprites.size > 3000) this.sprites.clear();
      this.sprites.set(key, sprite);
    }
    return sprite;
  }

  // Copies a sprite, cut to `wide` x `high`, over the (opaque) picture.
  blit(sprite, left, top, wide, high) {
    const { pixels, side } = sprite;
    const target = this.pixels;
    const width = this.canvas.width;
    const fromX = Math.max(sprite.left, -left);
    const toX = Math.min(wide, sprite.right, width - left);
    const fromY = Math.max(sprite.top, -top);
    const toY = Math.min(high, sprite.bottom, this.canvas.height - top);
    for (let y = fromY; y < toY; y++) {
      let source = y * side + fromX;
      let at = (top + y) * width + left + fromX;
      for (let x = fromX; x < toX; x++, source++, at++) {
        const pixel = pixels[source];
        const alpha = pixel >>> 24;
        if (alpha === 255) target[at] = pixel;
        else if (alpha !== 0) {
          const under = target[at];
          const rest = 255 - alpha;
          const red = ((pixel & 255) * alpha + (under & 255) * rest) / 255;
          const green = (((pixel >>> 8) & 255) * alpha + ((under >>> 8) & 255) * rest) / 255;
          const blue = (((pixel >>> 16) & 255) * alpha + ((under >>> 16) & 255) * rest) / 255;
          target[at] = (255 << 24) | (blue << 16) | (green << 8) | red;
        }
      }
    }
  }

  // Back to front: ghosts, then one layer of statuses after the other.
  sortPoints(state) {
    const { data, order } = this;
    const rank = data.statuses.map(({ layer }) => layer);
    const start = new Int32Array(Math.max(...rank) + 2); // a layer of ghosts, one place for the end
    const layer = this.layer || (this.layer = new Uint8Array(data.n));
    const base = state.row * data.n;
    for (let i = 0; i < data.n; i++) {
      const status = data.status[base + i];
      layer[i] = state.hidden[status] || !inGroup(data, i, state) ? 0 : rank[status];
      start[layer[i] + 1]++;
    }
    for (let r = 1; r < start.length; r++) start[r] += start[r - 1];
    for (let i = 0; i < data.n; i++) order[start[layer[i]]++] = i;
  }

  paint(state) {
    this.frame.classList.toggle('zoomed', this.view.zoom > 1);
    const ctx = this.canvas.getContext('2d');
    const { data, scale } = this;
    const { a, bx, by, layout, cell } = this.transform();
    if (!this.image || this.image.width !== this.canvas.width || this.image.height !== this.canvas.height) {
      this.image = ctx.createImageData(this.canvas.width, this.canvas.height);
      this.pixels = new Uint32Array(this.image.data.buffer);
    }
    const [red, green, blue] = channels(state.theme.paper);
    this.pixels.fill(((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0);
    paintDensity(this, state);
    this.sortPoints(state);
    const markOf = this.marks(state);
    const radius = this.radius();
    const cells = layout.pixels;
    const style = state.theme.name + (cells ? cell : radius).toFixed(2);
    const room = cells ? cell + 1 / scale : 2 * Math.ceil(radius + 3);
    const ghost = this.sprite('ghost' + style + cells, room, (c) => {
      c.fillStyle = state.theme.ghost;
      if (cells) c.fillRect(0, 0, cell - (cell > 4 ? 1 : 0), cell - (cell > 4 ? 1 : 0));
      else { c.beginPath(); c.arc(room / 2, room / 2, Math.max(1, 0.5 * radius), 0, 2 * Math.PI); c.fill(); }
    });
    const large = cells ? Math.max(5, Math.min(13, 0.62 * cell + 2)) : radius + 1.2;
    const largeRoom = 2 * Math.ceil(large + 4);
    const edge = Math.max(room, largeRoom);
    const base = state.row * data.n;
    for (let s = 0; s < data.n; s++) {
      const i = this.order[s];
      const x = a * layout.x[i] + bx;
      const y = a * layout.y[i] + by;
      if (x < -edge || y < -edge || x > this.width + edge || y > this.height + edge) continue;
      const look = this.layer[i] === 0 ? null : markOf(i);
      const labelled = look !== null && data.status[base + i] === LABELLED;
      let sprite = ghost;
      if (look !== null && (cells || !labelled)) {
        if (!look.small) {
          look.small = this.sprite((cells ? 'C' : 'M') + style + look.key, room, (c) => {
            if (cells) drawCell(c, 0, 0, cell, look.mark);
            else drawMark(c, room / 2, room / 2, radius, look.mark);
          });
        }
        sprite = look.small;
      }
      if (cells) {
        // Both edges are rounded, so that neighbouring pixels meet without a seam.
        const left = Math.round((x - cell / 2) * scale);
        const top = Math.round((y - cell / 2) * scale);
        this.blit(sprite, left, top, Math.round((x + cell / 2) * scale) - left, Math.round((y + cell / 2) * scale) - top);
      }
      if (labelled) {
        if (!look.large) look.large = this.sprite('L' + style + look.key, largeRoom, (c) => drawMark(c, largeRoom / 2, largeRoom / 2, large, look.mark));
        sprite = look.large;
      }
      if (labelled || !cells) {
        const { side } = sprite;
        this.blit(sprite, Math.round(x * scale - side / 2), Math.round(y * scale - side / 2), side, side);
      }
    }
    ctx.putImageData(this.image, 0, 0);
  }

  // The selected point and its neighbours, the point under the pointer.
  paintOverlay(state) {
    const ctx = this.overlay.getContext('2d');
    const { data } = this;
    const { a, bx, by, layout } = this.transform();
    ctx.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    ctx.clearRect(0, 0, this.width, this.height);
    const at = (i) => [a * layout.x[i] + bx, a * layout.y[i] + by];
    const ring = (i, r, width, colour) => {
      const [x, y] = at(i);
      ctx.beginPath();
      ctx.arc(x, y, r, 0, 2 * Math.PI);
      ctx.lineWidth = width;
      ctx.strokeStyle = colour;
      ctx.stroke();
    };
    const radius = Math.max(5, this.radius());
    if (state.selected >= 0) {
      const { found } = neighboursOf(data, state.selected, state.row);
      const [x, y] = at(state.selected);
      for (const { other, agreement } of found) {
        const [u, v] = at(other);
        for (const [extra, colour] of [[2, state.theme.paper], [0, state.theme.ink]]) {
          ctx.beginPath();
          ctx.moveTo(x, y);
          ctx.lineTo(u, v);
          ctx.lineWidth = 0.6 + 2.4 * agreement + extra;
          ctx.strokeStyle = colour;
          ctx.stroke();
        }
        ring(other, radius * 0.7, 1.2, state.theme.ink);
      }
      ring(state.selected, radius + 5, 5, state.theme.paper);
      ring(state.selected, radius + 5, 2.4, state.theme.accent);
    }
    if (state.overlay) state.overlay({ ctx, at, ring, radius, layout, a });
    if (state.hover >= 0 && state.hover !== state.selected) ring(state.hover, radius + 3, 1.6, state.theme.ink);
  }

  // Neither hidden by a filter nor outside the group shown.
  pickable(i, state) {
    return !state.hidden[this.data.status[state.row * this.data.n + i]] && inGroup(this.data, i, state);
  }

  // The point for which `far` is smallest, or -1 if it is nowhere finite.
  least(state, far) {
    let best = -1;
    let least = Infinity;
    for (let i = 0; i < this.data.n; i++) {
      const distance = far(i);
      if (distance < least && this.pickable(i, state)) { least = distance; best = i; }
    }
    return best;
  }

  // The point nearest to a place on the screen, however far.
  nearest(px, py, state) {
    const { a, bx, by, layout } = this.transform();
    return this.least(state, (i) => Math.hypot(a * layout.x[i] + bx - px, a * layout.y[i] + by - py));
  }

  // The next point from one in the direction (dx, dy), within 45 degrees; aside counts double.
  beyond(from, dx, dy, state) {
    const { layout } = this.transform();
    return this.least(state, (i) => {
      const x = layout.x[i] - layout.x[from];
      const y = layout.y[i] - layout.y[from];
      const along = x * dx + y * dy;
      const aside = Math.abs(x * dy - y * dx);
      return along > 0 && aside <= along ? along + 2 * aside : Infinity;
    });
  }

  // The point at a place on the screen, or -1. A grid over the layout keeps it quick.
  pick(px, py, state) {
    const { a, bx, by, layout, cell } = this.transform();
    const reach = Math.max(12, this.radius() + 4, cell * 0.75);
    let best = -1;
    let distance = reach * reach;
    const x = (px - bx) / a;
    const y = (py - by) / a;
    const index = this.index(layout);
    const span = reach / a;
    const clampCell = (v) => Math.max(0, Math.min(index.side - 1, Math.floor(v * index.side)));
    for (let gx = clampCell(x - span); gx <= clampCell(x + span); gx++) {
      for (let gy = clampCell(y - span); gy <= clampCell(y + span); gy++) {
        const bucket = gx * index.side + gy;
        for (let s = index.start[bucket]; s < index.start[bucket + 1]; s++) {
          const i = index.points[s];
          if (!this.pickable(i, state)) continue;
          const dx = (layout.x[i] - x) * a;
          const dy = (layout.y[i] - y) * a;
          const d = dx * dx + dy * dy;
          if (d < distance) { distance = d; best = i; }
        }
      }
    }
    return best;
  }

  index(layout) {
    if (!layout.index) {
      const { n } = this.data;
      const side = Math.max(1, Math.min(200, Math.ceil(Math.sqrt(n / 4))));
      const start = new Int32Array(side * side + 1);
      const bucket = new Int32Array(n);
      const place = (v) => Math.max(0, Math.min(side - 1, Math.floor(v * side)));
      for (let i = 0; i < n; i++) {
        bucket[i] = place(layout.x[i]) * side + place(layout.y[i]);
        start[bucket[i] + 1]++;
      }
      for (let b = 0; b < side * side; b++) start[b + 1] += start[b];
      const next = start.slice();
      const points = new Int32Array(n);
      for (let i = 0; i < n; i++) points[next[bucket[i]]++] = i;
      layout.index = { side, start, points };
    }
    return layout.index;
  }

  zoomAt(px, py, factor) {
    const { view } = this;
    const zoom = Math.max(0.5, Math.min(60, view.zoom * factor));
    const change = zoom / view.zoom;
    const cx = this.width / 2;
    const cy = this.height / 2;
    view.x = (view.x + cx - px) * change + px - cx;
    view.y = (view.y + cy - py) * change + py - cy;
    view.zoom = zoom;
  }

  // Bring a point into sight.
  reveal(point) {
    const { a, bx, by, layout } = this.transform();
    const x = a * layout.x[point] + bx;
    const y = a * layout.y[point] + by;
    if (x < 10 || y < 10 || x > this.width - 10 || y > this.height - 10) {
      this.view.x += this.width / 2 - x;
      this.view.y += this.height / 2 - y;
      return true;
    }
    return false;
  }
}

// A sprite, and the box that holds all of it that can be seen.
function cropped(pixels, side) {
  const sprite = { pixels, side, left: side, top: side, right: 0, bottom: 0 };
  for (let at = 0; at < pixels.length; at++) {
    if (pixels[at] >>> 24 === 0) continue;
    const x = at % side;
    const y = (at - x) / side;
    sprite.left = Math.min(sprite.left, x);
    sprite.right = Math.max(sprite.right, x + 1);
    sprite.top = Math.min(sprite.top, y);
    sprite.bottom = Math.max(sprite.bottom, y + 1);
  }
  return sprite;
}
