// Unpacks what the page was given.

const TYPES = {
  uint8: Uint8Array, uint16: Uint16Array, int32: Int32Array, float32: Float32Array,
};

async function inflate(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function inflateText(base64) {
  return new TextDecoder().decode(await inflate(base64));
}

// The inverse of `packed` in explorer.py.
async function unpack(item) {
  const planes = await inflate(item.data);
  const Type = TYPES[item.type];
  const size = Type.BYTES_PER_ELEMENT;
  const count = planes.length / size;
  const bytes = new Uint8Array(planes.length);
  for (let b = 0; b < size; b++) {
    for (let i = 0, from = b * count; i < count; i++) bytes[i * size + b] = planes[from + i];
  }
  const values = new Type(bytes.buffer);
  if (item.type !== 'float32' && item.shape[0] > 1) {
    const row = count / item.shape[0];
    for (let i = row; i < count; i++) values[i] += values[i - row];
  }
  return values;
}

async function unpackData(raw) {
  const data = { ...raw, n: raw.nShown, k: raw.classes.length, nRows: raw.temperatures.length };
  const names = Object.keys(raw.arrays);
  const arrays = await Promise.all(names.map((name) => unpack(raw.arrays[name])));
  names.forEach((name, i) => { data[name] = arrays[i]; });
  data.ids = JSON.parse(await inflateText(raw.texts.ids));
  data.allLabels = raw.texts.labels ? await inflateText(raw.texts.labels) : null;
  data.temperatures = raw.temperatures.map((t) => (t === null ? Infinity : t));
  for (const phase of data.phases) {
    if (phase.low === null) phase.low = Infinity;
    if (phase.high === null) phase.high = Infinity;
  }
  data.layouts = await Promise.all(raw.layouts.map(async (layout) => {
    const steps = await unpack(layout.places);
    const x = new Float64Array(data.n);
    const y = new Float64Array(data.n);
    for (let i = 0; i < data.n; i++) {
      x[i] = steps[2 * i] / 65535;
      y[i] = layout.extent[1] - steps[2 * i + 1] / 65535;
      if (layout.pixels) { // whole multiples again
        x[i] = Math.round(x[i] / layout.pixel) * layout.pixel;
        y[i] = Math.round(y[i] / layout.pixel) * layout.pixel;
      }
    }
    const density = layout.density && { ...layout.density };
    for (const name of density ? ['bins', 'levels', 'outcomes'] : []) density[name] = await unpack(density[name]);
    return { ...layout, x, y, density };
  }));
  data.hasErrors = Boolean(data.error);
  buildNeighbours(data);
  delete data.arrays;
  delete data.texts;
  return data;
}

function buildNeighbours(data) {
  const m = data.edges.length / 2;
  const start = new Int32Array(data.n + 1);
  for (let e = 0; e < 2 * m; e++) start[data.edges[e] + 1]++;
  for (let i = 0; i < data.n; i++) start[i + 1] += start[i];
  const next = start.slice();
  data.neighbourStart = start;
  data.neighbourEdge = new Int32Array(2 * m);
  for (let e = 0; e < m; e++) {
    data.neighbourEdge[next[data.edges[2 * e]]++] = e;
    data.neighbourEdge[next[data.edges[2 * e + 1]]++] = e;
  }
}
