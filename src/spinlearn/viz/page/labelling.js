// Labelling mode: what is picked gets a class, the answer follows.

const LABELLING_KEYS = [
  ['N', 'to the point to label next'], ['W', 'to the next label that looks wrong'], ['L Enter', 'type the class of what is picked'],
  ['1 … 9', 'label with that class of the list'], ['X', 'take the label away'], ['U R', 'undo, redo'],
  ['Space', 'on the map: add the picked point to a group, or take it out'], ['G', 'pick all points with this call'], ['A', 'pick, lasso, stroke'],
];
const PATIENCE = 700; // milliseconds after which work is worth a bar
const MOST_RINGS = 1500;
const MOST_THUMBS = 12;

class Labelling {
  constructor(page, live) {
    Object.assign(this, { page, live, data: page.data, state: page.state });
    this.looks = new Looks(live, () => this.render());
    this.labels = new Map(); // row -> class, of those that were told
    this.classes = [];
    this.version = -1;
    this.advice = { next: [], wrong: [] };
    this.picked = new Set(); // points on display, if there are several
    this.changed = [];
    this.before = null; // calls before the last label
    this.showChanged = true;
    this.merging = null;
    this.advance = false;
    this.busy = 0;
    this.clicked = 0;
    this.awaited = null; // the row to go to once it is on display, and where from
    Object.assign(this.state, { tool: live.settings.strokes ? 'stroke' : 'pick', path: null, overlay: (brush) => this.paint(brush) });
    Object.assign(page.actions, { drawn: (path) => this.drawn(path), add: (point) => this.toggle(point), find: (text) => this.find(text), show: (row) => this.go(row) });
    if (this.data.picture) {
      COLOUR_MODES.unshift(['picture', 'Picture']);
      this.state.colourBy = 'picture';
    }
    if (live.settings.columns.length) COLOUR_MODES.push(['column', 'Column']);
  }

  start() {
    byId('waiting').hidden = true;
    this.connectTools();
    this.connectPanel();
    this.connectKeys();
    this.live.listener = (message) => this.hear(message);
    for (const message of Object.values(this.live.latest)) this.hear(message);
    this.render();
  }

  // -- what comes in ------------------------------------------------------------------------------

  hear(message) {
    if (message.kind === 'labels') {
      this.labels = new Map(message.labels);
      this.classes = message.classes;
      this.count = message.count;
      this.version = message.version;
      const { entry } = message;
      if (entry && entry.who !== this.live.who) this.note(`${entry.who}: ${this.inWords(entry)}`);
      this.page.actions.update('over');
      this.render();
    } else if (message.kind === 'answer') this.fetchAnswer(message);
    else if (message.kind === 'advice') {
      this.advice = message;
      this.page.actions.update('over');
      this.render();
      this.goOn();
    } else if (message.kind === 'progress') this.renderProgress(message);
    else if (message.kind === 'people') byId('people').textContent = message.count > 1 ? `${message.count} tabs are open` : '';
    else if (message.kind === 'connection') {
      this.offline = !message.open;
      this.note(message.open ? '' : 'The connection is lost: nothing can be labelled until it is back. What was kept is safe.');
    }
  }

  async fetchAnswer({ version, edition, trouble }) {
    if (trouble) this.note(trouble);
    if (version < 0 || edition === this.data.edition) return;
    if (this.fetching) { this.again = true; return; }
    this.fetching = true;
    try {
      do {
        this.again = false;
        await this.take(await this.live.answer());
      } while (this.again);
    } catch (error) {
      this.note(error.message);
    }
    this.fetching = false;
  }

  async take(fresh) {
    const { data } = this;
    const newer = fresh.labelVersion > data.labelVersion;
    if (newer || !this.before) this.before = callsOf(data);
    const kept = [...this.picked].map((point) => data.points[point]);
    const whole = this.page.actions.replaceData(fresh, () => {
      this.picked = new Set(kept.map((row) => placeOfRow(data, row)).filter((point) => point >= 0));
      this.changed = changedCalls(data, this.before);
    });
    if (this.state.colourBy === 'column' && this.state.column) this.setColumn(this.state.column.name);
    if (this.clicked) { // for benchmarks: from the click to the picture
      const began = this.clicked;
      this.clicked = 0;
      requestAnimationFrame(() => setTimeout(() => this.times.push(performance.now() - began), 0));
    }
    await whole;
    if (this.awaited && this.awaited.from !== this.selectedRow()) this.awaited = null; // gone elsewhere
    if (this.awaited && placeOfRow(data, this.awaited.row) >= 0) this.go(this.awaited.row);
    document.documentElement.dataset.answer = `${fresh.labelVersion}:${fresh.how}`;
  }

  inWords({ do: what, size, class: name, to, of }) {
    const points = size === 1 ? 'one point' : `${size} points`;
    return {
      label: `labelled ${points} ${name}`, name: `named a new class ${name}`, reject: `said that a group is part of ${name}`, clear: `took ${points} out`,
      rename: `renamed ${name} to ${to}`, merge: `merged ${name} into ${to}`, undo: `undid action ${of}`, redo: `did action ${of} again`,
    }[what];
  }

  // -- what is done -------------------------------------------------------------------------------

  async act(action) {
    this.note('');
    const began = performance.now();
    try {
      const done = await this.live.send(action);
      if (done.n) this.clicked = this.clicked || began;
      document.documentElement.dataset.kept = String(done.n || '');
      return done;
    } catch (error) {
      this.note(sentence(error.message));
      return null;
    }
  }

  targets() {
    if (this.picked.size) return [...this.picked];
    return this.state.selected >= 0 ? [this.state.selected] : [];
  }

  async label(name) {
    const points = this.targets().map((point) => this.data.points[point]);
    if (!points.length) { this.note('Pick a point first: on the map, from the lists, or with N.'); return; }
    if (!name.trim()) { byId('class-name').focus(); return; }
    const followed = this.advice.next.some(({ point }) => point === points[0]);
    if (!await this.act({ do: 'label', points, class: name })) return;
    byId('class-name').value = '';
    this.picked.clear();
    this.advance = followed; // from one suggestion to the next
    this.render();
  }

  async remove() {
    const points = this.targets().map((point) => this.data.points[point]);
    if (points.length) await this.act({ do: 'clear', points });
  }

  async join(name, to) {
    this.merging = null;
    await this.act({ do: 'rename', class: name, to });
    this.render();
  }

  // To the row of a list; one that is not on display is put there.
  go(row) {
    this.advance = false;
    const point = placeOfRow(this.data, row);
    this.picked.clear();
    this.awaited = point >= 0 ? null : { row, from: this.selectedRow() };
    if (point >= 0) this.page.actions.select(point);
    else this.act({ do: 'show', point: row });
  }

  selectedRow() {
    return this.state.selected >= 0 ? this.data.points[this.state.selected] : -1;
  }

  async find(text) {
    try {
      return await this.live.get(`find?text=${encodeURIComponent(text)}`);
    } catch {
      return null; // the connection is told of elsewhere
    }
  }

  goNext(list) {
    if (!list.length) return;
    const row = this.selectedRow();
    const at = list.findIndex(({ point }) => point === row);
    this.go(list[(at + 1) % list.length].point);
  }

  goOn() {
    if (!this.advance || !this.advice.next.length) return;
    if (document.activeElement !== byId('class-name') || !byId('class-name').value) this.go(this.advice.next[0].point);
  }

  toggle(point) {
    if (!this.picked.size && this.state.selected >= 0) this.picked.add(this.state.selected);
    if (!this.picked.delete(point)) this.picked.add(point);
    this.page.actions.update('map');
  }

  drawn(path) {
    const tool = this.state.tool === 'stroke' ? 'stroke' : 'lasso';
    const found = pointsOf(path, tool, this.page.map, this.state);
    if (tool === 'lasso') this.picked = new Set(found);
    else for (const point of found) this.picked.add(point);
    this.page.actions.update('map');
    if (tool === 'stroke' && found.length && this.armed) this.label(this.armed);
  }

  pickCall() {
    const { data, state } = this;
    if (state.selected < 0) return;
    const base = state.row * data.n;
    const code = data.outcomes[base + state.selected];
    this.picked = new Set();
    for (let i = 0; i < data.n; i++) if (data.outcomes[base + i] === code) this.picked.add(i);
    this.page.actions.update('map');
  }

  setTool(tool) {
    this.state.tool = tool;
    byId('tools').querySelectorAll('button').forEach((button) => button.setAttribute('aria-checked', String(button.dataset.tool === tool)));
  }

  async setColumn(name) {
    try {
      const found = await this.live.get(`colour?column=${encodeURIComponent(name)}`);
      const [rows, shares] = [await unpack(found.points), await unpack(found.shares)];
      const share = new Map([...rows].map((row, i) => [row, shares[i]]));
      const levels = Uint8Array.from(this.data.points, (row) => Math.round((31 * (share.get(row) || 0)) / 65535));
      this.state.column = { name, low: found.low, high: found.high, levels };
      this.page.actions.setColour('column');
    } catch (error) {
      this.note(sentence(error.message));
    }
  }

  note(text) {
    byId('label-note').textContent = text;
    byId('label-note').hidden = !text;
  }

  // -- the controls -------------------------------------------------------------------------------

  connectTools() {
    const bar = document.querySelector('.bar');
    const buttons = TOOLS.map(([tool, name]) => {
      const button = el('button', { type: 'button', role: 'radio', onclick: () => this.setTool(tool) }, name);
      button.dataset.tool = tool;
      return button;
    });
    bar.prepend(el('div', { class: 'choice', id: 'tools', role: 'radiogroup', 'aria-label': 'Tool' }, el('span', { class: 'quiet' }, 'Tool'), ...buttons));
    this.setTool(this.state.tool);
    const { columns } = this.live.settings;
    if (!columns.length) return;
    const list = el('datalist', { id: 'columns' }, ...columns.slice(0, 5000).map((name) => el('option', { value: name })));
    const box = el('input', { id: 'column', type: 'text', list: 'columns', placeholder: 'Column or gene', 'aria-label': 'Column or gene to colour by', autocomplete: 'off' });
    box.addEventListener('change', () => { if (box.value.trim()) this.setColumn(box.value.trim()); });
    box.addEventListener('keydown', (event) => {
      event.stopPropagation(); // letters are text here; Enter goes back to where they are commands
      if (event.key === 'Enter' || event.key === 'Escape') byId('map').focus({ preventScroll: true });
    });
    byId('colour-by').after(box, list);
  }

  connectPanel() {
    const box = byId('class-name');
    box.addEventListener('keydown', (event) => {
      event.stopPropagation(); // letters are text here, not commands
      if (event.key === 'Enter') { event.preventDefault(); this.label(box.value); byId('map').focus({ preventScroll: true }); }
      if (event.key === 'Escape') { box.value = ''; byId('map').focus({ preventScroll: true }); }
    });
    box.addEventListener('input', () => this.renderUnnamed());
    byId('label-button').addEventListener('click', () => this.label(box.value || this.armed || ''));
    byId('clear-label').addEventListener('click', () => this.remove());
    byId('undo').addEventListener('click', () => this.act({ do: 'undo' }));
    byId('redo').addEventListener('click', () => this.act({ do: 'redo' }));
    byId('stop').addEventListener('click', () => this.act({ do: this.stopped ? 'go' : 'stop' }));
    byId('export').addEventListener('click', async () => {
      this.note('The answer is being written …');
      const done = await this.act({ do: 'export' });
      if (done) this.note(`Written to ${done.folder}.`);
    });
    const who = byId('who');
    who.value = this.live.who;
    who.addEventListener('keydown', (event) => event.stopPropagation());
    who.addEventListener('change', () => { this.live.who = who.value.trim() || this.live.settings.who; who.value = this.live.who; });
  }

  connectKeys() {
    const keys = {
      n: () => this.goNext(this.advice.next), w: () => this.goNext(this.advice.wrong), l: () => byId('class-name').focus(),
      x: () => this.remove(), u: () => this.act({ do: 'undo' }), r: () => this.act({ do: 'redo' }), g: () => this.pickCall(),
      a: () => this.setTool(TOOLS[(TOOLS.findIndex(([tool]) => tool === this.state.tool) + 1) % TOOLS.length][0]),
    };
    for (let k = 1; k <= 9; k++) keys[k] = () => (this.targets().length && this.classes[k - 1] ? this.label(this.classes[k - 1][0]) : false);
    const onMap = {
      ' ': () => { if (this.state.selected >= 0) this.toggle(this.state.selected); },
      Enter: () => (this.targets().length ? byId('class-name').focus() : false),
    };
    // Before the explorer's own keys, which have some of these too.
    document.addEventListener('keydown', (event) => {
      if (event.altKey || ['INPUT', 'SELECT'].includes(event.target.tagName) && event.target.type !== 'range') return;
      const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
      let command = keys[key] || (event.target === byId('map') && onMap[key]);
      if (event.ctrlKey || event.metaKey) command = { z: event.shiftKey ? keys.r : keys.u, y: keys.r }[key];
      if (key === 'Escape' && (this.picked.size || this.merging)) command = () => { this.picked.clear(); this.merging = null; this.page.actions.update('map'); };
      if (!command || command() === false) return;
      event.preventDefault();
      event.stopImmediatePropagation();
    }, { capture: true });
  }

  // -- what is shown ------------------------------------------------------------------------------

  render() {
    if (!this.state.theme || !this.count && this.count !== 0) return;
    const { data } = this;
    byId('label-count').textContent = `${this.count} of ${data.nPoints.toLocaleString('en')} points`;
    const stale = data.labelVersion < this.version;
    byId('answer-state').textContent = stale ? 'the answer follows …' : {
      quick: 'quick answer, the thorough one follows', clusters: 'clusters: name two classes for an answer', fit: 'the answer of spinlearn fit',
    }[data.how];
    this.renderLook();
    this.renderClasses();
    this.renderUnnamed();
    this.renderAdvice();
    this.renderChanged();
  }

  renderLook() {
    const { data, state } = this;
    const points = this.targets();
    if (!points.length) {
      byId('look').replaceChildren(el('p', { class: 'quiet about' }, 'Pick a point on the map or below; N takes you to the one worth most.'));
      return;
    }
    if (points.length > 1) {
      const thumbs = points.slice(0, MOST_THUMBS).map((point) => this.looks.thumb(data.points[point], 40));
      byId('look').replaceChildren(el('p', { class: 'about' }, el('b', {}, `${points.length} points`), ' are picked'), ...thumbs.filter(Boolean));
      return;
    }
    const [point] = points;
    const row = data.points[point];
    const own = this.labels.get(row);
    const thumb = this.looks.thumb(row, 104);
    byId('look').replaceChildren(...[thumb, el('div', { class: 'about' },
      el('b', { id: 'look-id' }, data.ids[point]),
      el('div', { class: 'quiet' }, own === undefined ? `called ${callInWords(data, point, state.row)}` : `labelled ${own}`),
      this.looks.values(row))].filter(Boolean));
  }

  swatchOf(name) {
    const { data, state } = this;
    const code = data.classes.indexOf(name);
    const mark = code >= 0 ? outcomeMark(data, code, undefined, state.theme, null) : { shape: 'circle', fill: 'open', colour: data.palette.neutral, ink: state.theme.ink, paper: state.theme.paper };
    return swatch(mark, 16);
  }

  renderClasses() {
    const rows = this.classes.map(([name, size], k) => {
      const merging = this.merging !== null && this.merging !== name;
      const pick = el('button', { type: 'button', class: 'pick', 'data-key': `class${name}`, title: merging ? `Merge ${this.merging} into ${name}` : `Label what is picked ${name}`, onclick: () => {
        this.armed = name;
        if (merging) this.join(this.merging, name);
        else if (this.targets().length) this.label(name);
        else this.render();
      } }, this.swatchOf(name), k < 9 ? el('kbd', { 'aria-hidden': 'true' }, String(k + 1)) : null, el('span', { class: 'name' }, merging ? `into ${name}` : name), el('b', {}, String(size)));
      const merge = this.classes.length > 1 ? el('button', { type: 'button', class: 'small', 'data-key': `merge${name}`, title: `Merge ${name}: then pick the other class`, 'aria-label': `Merge ${name} with another class`, 'aria-pressed': String(this.merging === name), onclick: () => { this.merging = this.merging === name ? null : name; this.render(); } }, this.merging === name ? '⇄ ?' : '⇄') : null;
      const rename = el('button', { type: 'button', class: 'small', 'data-key': `rename${name}`, 'aria-label': `Rename ${name} to what is typed above`, title: `Rename ${name} to what is typed above`, onclick: () => {
        const to = byId('class-name').value;
        if (to.trim()) { byId('class-name').value = ''; this.join(name, to); } else { this.note(`Type the new name of ${name} above, then Rename again.`); byId('class-name').focus(); }
      } }, '✎');
      return el('div', { class: 'class-row', 'aria-current': String(this.armed === name) }, pick, rename, merge);
    });
    this.replace('classes', rows);
    byId('class-names').replaceChildren(...this.classes.map(([name]) => el('option', { value: name })));
  }

  freeName() {
    const known = new Set(this.classes.map(([name]) => name));
    let k = 1;
    while (known.has(`class ${k}`)) k++;
    return `class ${k}`;
  }

  renderUnnamed() {
    const { data, state } = this;
    const name = byId('class-name').value.trim() || this.freeName();
    const naming = (group, points) => el('button', { type: 'button', class: 'small name-it', 'data-key': `name${group}`, title: `Its ${points.length} most central points get this label`, onclick: async () => {
      if (await this.act({ do: 'name', points, group, class: name })) byId('class-name').value = '';
    } }, `Name it “${name}”`);
    if (data.proposals.length) {
      const entries = data.unnamed.map(({ group, points }, g) => {
        const one = data.proposals[g];
        const thumbs = points.map((row) => this.looks.thumb(row, 28)).filter(Boolean);
        const reject = el('button', { type: 'button', class: 'small', 'data-key': `reject${group}`, title: `Its ${points.length} most typical points get the label ${one.beside}, and it is not proposed again`, onclick: () => this.act({ do: 'reject', points, group }) }, 'It is not');
        return proposalEntry(data, state, one, this.page.actions, thumbs.length ? el('p', {}, ...thumbs) : null, el('p', { class: 'answers' }, naming(group, points), reject));
      });
      this.replace('unnamed', [el('h3', {}, 'Groups that may be a class of their own', el('span', { class: 'value' }, 'probability')), el('div', { class: 'proposals' }, ...entries)]);
      return;
    }
    const rows = data.unnamed.map(({ group, size, points }) => {
      const listed = data.groups[data.answerRow].listed.find(([code]) => outcomeName(data, code) === group);
      const mark = listed ? outcomeMark(data, listed[0], undefined, state.theme, null) : null;
      return el('div', { class: 'advice-row' }, mark ? swatch(mark, 16) : null,
        el('span', { class: 'thumbs' }, ...points.map((row) => this.looks.thumb(row, 28)).filter(Boolean)),
        el('button', { type: 'button', class: 'link why', 'data-key': `see${group}`, onclick: () => { if (listed) this.page.actions.showGroup(data.answerRow, listed[0]); } }, `${group}: ${size.toLocaleString('en')} points`),
        naming(group, points));
    });
    this.replace('unnamed', rows.length ? [el('h3', {}, 'Classes without a name'), ...rows] : []);
  }

  renderAdvice() {
    const { data } = this;
    const chosen = this.selectedRow();
    const entry = (key) => ({ point, why }) => el('button', { type: 'button', class: 'advice-row', 'data-key': key + point, 'aria-current': String(point === chosen), onclick: () => this.go(point) },
      this.looks.thumb(point, 36), el('span', { class: 'why' }, el('b', {}, data.ids[placeOfRow(data, point)] || ''), ' ', why));
    const next = this.advice.next.filter(({ point }) => !this.labels.has(point));
    const wrong = this.advice.wrong.filter(({ point, given }) => this.labels.get(point) === given);
    this.replace('next', [el('h3', {}, 'Label this next', el('span', { class: 'value' }, 'N')), ...(next.length ? next.map(entry('next')) : [el('p', { class: 'quiet' }, 'being looked for …')])]);
    this.replace('wrong', wrong.length ? [el('h3', {}, 'Looks wrong', el('span', { class: 'value' }, 'W')), ...wrong.map(entry('wrong'))] : []);
  }

  renderChanged() {
    const count = this.changed.length;
    const note = byId('changed-note');
    note.hidden = !count;
    note.replaceChildren(`${count.toLocaleString('en')} calls changed with the last label `, el('button', { type: 'button', class: 'small', 'data-key': 'changed', 'aria-pressed': String(this.showChanged), onclick: () => { this.showChanged = !this.showChanged; this.page.actions.update('map'); } }, this.showChanged ? 'Hide' : 'Show'));
  }

  // Anew, but who goes by keyboard stays where they were.
  replace(id, children) {
    const node = byId(id);
    const focused = node.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
    node.replaceChildren(...children.filter(Boolean));
    const again = focused === undefined ? null : [...node.querySelectorAll('[data-key]')].find((button) => button.dataset.key === focused);
    if (again) again.focus({ preventScroll: true });
  }

  renderProgress({ phase, fraction }) {
    const over = ['done', 'stopped', 'failed'].includes(phase);
    this.stopped = phase === 'stopped';
    byId('progress-bar').value = fraction;
    byId('progress-phase').textContent = this.stopped ? 'stopped: this is the quick answer' : phase;
    byId('stop').textContent = this.stopped ? 'Go on' : 'Stop';
    if (over) {
      clearTimeout(this.busy);
      this.busy = 0;
      byId('progress').hidden = !this.stopped;
    } else if (!this.busy) this.busy = setTimeout(() => { byId('progress').hidden = false; }, PATIENCE);
  }

  // Over the map: what changed, what is suggested, what is picked, labels the answer does not know.
  paint(brush) {
    const { data, state } = this;
    const { ctx, at, ring, radius } = brush;
    if (this.showChanged) {
      ctx.globalAlpha = Math.max(0.12, Math.min(0.9, 40 / this.changed.length)); // calls are to be seen under rings
      for (const point of this.changed.slice(0, MOST_RINGS)) ring(point, radius + 1, 1, state.theme.warn);
      ctx.globalAlpha = 1;
    }
    if (this.picked.size) for (const point of this.picked) ring(point, radius + 2, 2, state.theme.accent);
    ctx.font = '600 11px system-ui, sans-serif';
    ctx.textAlign = 'left';
    this.advice.next.forEach(({ point: row }, k) => {
      const point = placeOfRow(data, row);
      if (point < 0 || this.labels.has(row)) return;
      const [x, y] = at(point);
      ring(point, radius + 4, 4, state.theme.paper);
      ring(point, radius + 4, 2, state.theme.ink);
      ctx.lineWidth = 3;
      ctx.strokeStyle = state.theme.paper;
      ctx.strokeText(String(k + 1), x + radius + 6, y - 4);
      ctx.fillStyle = state.theme.ink;
      ctx.fillText(String(k + 1), x + radius + 6, y - 4);
    });
    if (data.labelVersion < this.version) {
      for (const row of this.labels.keys()) {
        const point = placeOfRow(data, row);
        if (point >= 0 && data.status[data.answerRow * data.n + point] !== LABELLED) ring(point, radius + 3, 3, state.theme.accent);
      }
    }
    paintPath(brush, state);
  }
}

Labelling.prototype.times = [];
