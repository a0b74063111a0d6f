// Puts the page together: every change goes through `update`, what can come fast through `later`.

const PARTS = ['', 'over', 'view', 'size', 'row', 'map', 'all']; // each has in it what the one before makes known

function readTheme(name) {
  const style = getComputedStyle(document.documentElement);
  const value = (variable) => style.getPropertyValue(variable).trim();
  return {
    name, ink: value('--ink'), paper: value('--paper'), quiet: value('--quiet'), line: value('--line'),
    accent: value('--accent'), ghost: value('--ghost'), warn: value('--warn'), tint: Number(value('--tint')),
  };
}

const REST = 40; // milliseconds without a step of the slider
const LONGEST_LAG = 300; // milliseconds that lists may be behind it

// Frames are not painted while nobody looks.
function nextFrame() {
  return new Promise((resolve) => { if (document.hidden) setTimeout(resolve, 0); else requestAnimationFrame(resolve); });
}

async function start() {
  if (typeof DecompressionStream === 'undefined') {
    byId('notice').hidden = false;
    byId('notice').textContent = 'This browser is too old for this page: it needs one of 2023 or later.';
    return;
  }
  const raw = JSON.parse(byId('data').textContent);
  const live = raw.labelling ? new Live(raw) : null; // in labelling mode a server sends the answers
  const data = live ? await live.firstAnswer() : await unpackData(raw);
  const state = {
    row: data.answerRow, colourBy: COLOUR_MODES[0][0], selected: -1, hover: -1, group: null, proposal: null, said: [], naming: null, draft: '',
    hidden: data.statuses.map(() => false), theme: null,
  };
  const map = new PointMap(data, byId('map'), byId('map-over'), byId('map-frame'));
  const actions = { update, later, setRow, setColour, select, walk, pickGroup, showGroup, showProposal, askName, say, unsay, clear, zoom, toggleTheme, replaceData };
  const page = { data, state, map, actions };
  const panel = new Panel(data, byId('selection'), actions);
  let charts = overviewCharts(data, setRow);

  // parts: over (the pointer moved), view (the map moved), row (the temperature changed), map (what
  // is shown changed), size (the room changed), all (colours changed). A change of room repaints
  // pictures alone: whatever is about to be clicked or has the focus stays.
  function update(part) {
    if (PARTS.indexOf(part) >= PARTS.indexOf(due)) due = '';
    if (part === 'size' || part === 'all') {
      map.resize();
      paintCurves();
    }
    if (part !== 'over') map.paint(state);
    map.paintOverlay(state);
    if (part === 'over' || part === 'view') return;
    if (part === 'row') {
      renderTemperature(page);
      listsLater();
    } else if (part === 'size') panel.repaint(state);
    else renderLists();
    if (page.labelling && part !== 'row') page.labelling.render();
    for (const chart of charts) chart.paintNow(state.row, state.theme);
  }

  // What is told in words about the temperature. While it moves, the picture goes first: the lists
  // follow when it rests, or now and then.
  let resting = 0;
  let listed = 0; // when
  function renderLists() {
    clearTimeout(resting);
    resting = 0;
    panel.render(state); // first: it asks where lists are scrolled to, of a page that is laid out
    renderControls(page);
    if (page.labelling) page.labelling.renderLook();
    listed = performance.now();
  }

  function listsLater() {
    clearTimeout(resting);
    resting = setTimeout(renderLists, performance.now() - listed > LONGEST_LAG ? 0 : REST);
  }

  function paintCurves() {
    for (const chart of charts) chart.measure();
    for (const chart of charts) chart.paint(state.theme);
    paintStrip(data, byId('strip'), state.theme);
  }

  // Input can come faster than pictures are painted. What comes in until the next frame is painted
  // in it once, as it stands then; nothing queues up.
  let due = '';
  function later(part) {
    if (!due) requestAnimationFrame(() => { if (due) update(due); });
    if (PARTS.indexOf(part) > PARTS.indexOf(due)) due = part;
  }

  // -- what can be done ---------------------------------------------------------------------------

  function setRow(row) {
    const wanted = Math.max(0, Math.min(data.nRows - 1, row));
    if (wanted === state.row) return;
    state.row = wanted;
    later('row');
    announce();
  }

  let announcement = 0;
  function announce() {
    clearTimeout(announcement);
    announcement = setTimeout(() => {
      const { selected: point, row } = state;
      byId('spoken').textContent = point < 0
        ? byId('map').getAttribute('aria-label')
        : `${data.ids[point]}: ${callInWords(data, point, row)} at T = ${temperatureText(data.temperatures[row])}`;
    }, 600);
  }

  function select(point, paint = update) {
    state.selected = point;
    state.group = state.proposal = null;
    map.reveal(point);
    paint('map');
    announce();
  }

  // To the nearest point in a direction from the selected one; without one, to that in the middle.
  function walk(dx, dy) {
    const point = state.selected >= 0 ? map.beyond(state.selected, dx, dy, state) : map.nearest(map.width / 2, map.height / 2, state);
    if (point >= 0) select(point, later);
  }

  function pickGroup(code) {
    state.group = code;
    state.proposal = null;
    state.selected = -1;
    update('map');
  }

  // A group that may be a class: its members alone, as the answer calls them.
  function showProposal(one) {
    state.row = data.answerRow;
    state.group = state.naming = null;
    state.selected = -1;
    const inside = new Uint8Array(data.n);
    if (one) for (const point of one.shown) inside[point] = 1;
    state.proposal = one && { name: one.name, inside };
    update('map');
    announce();
  }

  function askName(group) {
    state.naming = group;
    state.draft = '';
    update('map');
    if (group) byId('proposal-name').focus();
  }

  // What is said about a group: its name, or null where it is no class.
  function say(group, name) {
    state.said = [...state.said.filter((one) => one.group !== group), { group, name }];
    follow(group);
  }

  function unsay(group) {
    state.said = state.said.filter((one) => one.group !== group);
    follow(group);
  }

  function follow(group) {
    state.naming = null;
    state.row = data.answerRow;
    applySaid(data, state.said);
    map.sprites.clear();
    update('map');
    renderHeading(data, state.said.length);
    byId('selection').querySelector(`[data-key="see${group}"]`).focus({ preventScroll: true }); // its button is gone
  }

  function showGroup(row, code) {
    state.row = row;
    pickGroup(code);
    announce();
  }

  function clear() {
    pickGroup(null);
  }

  function setColour(mode) {
    state.colourBy = mode;
    update('map');
  }

  function zoom(factor) {
    if (factor) map.zoomAt(map.width / 2, map.height / 2, factor);
    else map.resetView();
    later('view');
  }

  // Another answer about the same points: what is picked stays, and so does the temperature.
  // `adjust` is told before anything is painted. The map and what names its points comes first, the
  // rest in frames of its own, which is when this is over: no input waits for all of it.
  async function replaceData(fresh, adjust) {
    const atAnswer = state.row === data.answerRow;
    const temperature = data.temperatures[state.row];
    const selected = state.selected >= 0 ? data.points[state.selected] : -1;
    const group = state.group === null ? null : outcomeName(data, state.group);
    for (const name of Object.keys(data)) if (!(name in fresh)) delete data[name];
    Object.assign(data, fresh);
    const far = data.temperatures.map((t) => Math.abs(t - temperature));
    state.row = atAnswer ? data.answerRow : far.indexOf(Math.min(...far));
    state.selected = selected < 0 ? -1 : placeOfRow(data, selected);
    const kept = data.groups[state.row].listed.find(([code]) => outcomeName(data, code) === group);
    state.group = kept ? kept[0] : null;
    state.proposal = null;
    state.hover = -1;
    map.adopt();
    panel.shown = '';
    adjust();
    renderExtent(data);
    map.paint(state);
    map.paintOverlay(state);
    renderLists();
    await nextFrame();
    page.labelling.render();
    renderHeading(data);
    await nextFrame();
    charts = overviewCharts(data, setRow);
    byId('curves').replaceChildren(...charts.map((chart) => chart.node));
    paintCurves();
    for (const chart of charts) chart.paintNow(state.row, state.theme);
  }

  // Once all that was asked for is on the screen.
  function settled() {
    return new Promise((resolve) => {
      const look = () => { if (due || resting) setTimeout(look, 5); else resolve(); };
      requestAnimationFrame(() => setTimeout(look, 0));
    });
  }

  // The system's preference holds until one is chosen here.
  const prefersDark = window.matchMedia('(prefers-color-scheme: dark)');
  let chosenTheme = null;
  function applyTheme() {
    const name = chosenTheme || (prefersDark.matches ? 'dark' : 'light');
    document.documentElement.dataset.theme = name;
    state.theme = readTheme(name);
    byId('theme').textContent = name === 'dark' ? '☀' : '☾';
    byId('theme').title = name === 'dark' ? 'Light' : 'Dark';
    update('all');
  }

  function toggleTheme() {
    chosenTheme = state.theme.name === 'dark' ? 'light' : 'dark';
    applyTheme();
  }

  // A longer legend or a warning leaves less room for the map, a scrollbar less for the curves.
  function watchRoom() {
    let pending = 0;
    const repaint = () => {
      cancelAnimationFrame(pending);
      pending = requestAnimationFrame(() => {
        update('size');
        document.documentElement.dataset.ready = 'true';
      });
    };
    window.addEventListener('resize', repaint);
    const room = new ResizeObserver(repaint); // the first call comes by itself
    for (const id of ['map-frame', 'curves']) room.observe(byId(id));
  }

  byId('curves').replaceChildren(...charts.map((chart) => chart.node));
  renderHeading(data);
  if (live) page.labelling = new Labelling(page, live);
  renderHelp(data);
  connectControls(page);
  connectPointer(page);
  connectSearch(page);
  connectKeys(page);
  prefersDark.addEventListener('change', applyTheme);
  applyTheme();
  watchRoom();
  if (live) page.labelling.start();
  // For tests and the curious: what is on the screen.
  window.spinlearnExplorer = {
    data, state, map, settled, labelling: page.labelling, labelsCsv: () => labelsCsv(data, state.row),
    placeOf: (point) => { const { a, bx, by, layout } = map.transform(); return [a * layout.x[point] + bx, a * layout.y[point] + by]; },
  };
}

start();
