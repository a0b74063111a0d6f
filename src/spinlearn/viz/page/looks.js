// What points look like: pictures, pixels, values. Asked for once each.

class Looks {
  constructor(live, onReady) {
    Object.assign(this, { live, onReady });
    this.known = new Map();
    this.wanted = new Set();
    this.asking = false;
  }

  // What is known of a row; if nothing yet, it is asked for, and the page told when it is there.
  of(row) {
    if (!this.known.has(row)) {
      this.wanted.add(row);
      if (!this.asking) {
        this.asking = true;
        setTimeout(() => this.ask(), 0);
      }
    }
    return this.known.get(row) || null;
  }

  async ask() {
    try {
      while (this.wanted.size) {
        const rows = [...this.wanted].slice(0, 64);
        for (const look of await this.live.get(`look?points=${rows.join(',')}`)) this.known.set(look.point, look);
        for (const row of rows) this.wanted.delete(row);
      }
    } catch {
      this.wanted.clear(); // the connection is told of elsewhere
    }
    this.asking = false;
    this.onReady();
  }

  // A small picture of a point, or null where it has none.
  thumb(row, size) {
    const { shape, images } = this.live.settings;
    if (images) {
      const picture = el('img', { class: 'thumb', alt: '', loading: 'lazy', width: size, height: size, src: `${this.live.base}image?point=${row}` });
      picture.addEventListener('error', () => picture.remove());
      return picture;
    }
    if (!shape) return null;
    const canvas = el('canvas', { class: 'thumb', 'aria-hidden': 'true', width: shape[1], height: shape[0] });
    canvas.style.width = canvas.style.height = size + 'px';
    const look = this.of(row);
    if (look && look.pixels) paintPixels(canvas, shape, look.pixels);
    return canvas;
  }

  // The row's own values as a table.
  values(row) {
    const look = this.of(row);
    if (!look || !look.values.length) return null;
    const rows = look.values.map(([name, value]) => el('tr', {}, el('td', { title: name }, name), el('td', { class: 'number', title: value }, value)));
    const more = look.more ? el('p', { class: 'quiet' }, `${look.more} further values are nearer to those of the others`) : null;
    return el('div', { class: 'values scroll' }, el('table', {}, el('tbody', {}, ...rows)), more);
  }
}

function paintPixels(canvas, [height, width, channels], base64) {
  const text = atob(base64);
  const ctx = canvas.getContext('2d');
  const image = ctx.createImageData(width, height);
  for (let i = 0; i < width * height; i++) {
    for (let c = 0; c < 3; c++) image.data[4 * i + c] = text.charCodeAt(channels === 1 ? i : channels * i + c);
    image.data[4 * i + 3] = channels === 4 ? text.charCodeAt(4 * i + 3) : 255;
  }
  ctx.putImageData(image, 0, 0);
}
