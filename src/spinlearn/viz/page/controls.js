// The controls around the map.

const COLOUR_MODES = [['class', 'Call'], ['confidence', 'Confidence'], ['status', 'Status']];

function renderTemperature({ data, state: { row } }) {
  const t = temperatureText(data.temperatures[row]);
  const phase = phaseName(data, row);
  byId('slider').value = row;
  byId('slider').setAttribute('aria-valuetext', `T = ${t}, ${phase}`);
  byId('now').textContent = isAverage(data, row) ? 'The answer' : `T = ${t}`;
  byId('phase-now').textContent = isAverage(data, row) ? `average, most probable T = ${t}` : phase;
  byId('go-answer').setAttribute('aria-disabled', String(row === data.answerRow));
}

function renderControls(page) {
  const { data, state, actions } = page;
  const { row } = state;
  const t = temperatureText(data.temperatures[row]);
  renderTemperature(page);
  byId('warning').textContent = doubt(data, row);
  byId('warning').hidden = !byId('warning').textContent;
  byId('download').title = `labels at T = ${t}, as in labels.csv`;
  renderLegend(byId('legend'), data, state, actions);
  byId('colour-by').querySelectorAll('button').forEach((button) => {
    const on = button.dataset.mode === state.colourBy;
    button.setAttribute('aria-checked', String(on));
    button.tabIndex = on ? 0 : -1;
  });
  const counts = data.curves.statusCounts.map((c) => c[row]);
  byId('filters').querySelectorAll('button').forEach((button, s) => {
    button.setAttribute('aria-pressed', String(!state.hidden[s]));
    button.querySelector('b').textContent = counts[s].toLocaleString('en');
  });
  byId('map').setAttribute('aria-label', `Map of ${data.n} points at T = ${t}: ` + data.statuses.map(({ name }, s) => `${counts[s]} ${name}`).join(', ') + '. Enter picks a point, Shift with an arrow the next one that way');
}

// How far the slider reaches, and where it begins.
function renderExtent(data) {
  byId('slider').max = data.nRows - 1;
  byId('go-answer').textContent = data.averaged ? 'Answer' : `T* = ${temperatureText(data.temperatures[data.answerRow])}`;
}

function connectControls({ data, state, map, actions }) {
  const { setRow, setColour, zoom, update } = actions;
  const slider = byId('slider');
  renderExtent(data);
  slider.addEventListener('input', () => setRow(Number(slider.value)));
  byId('go-answer').addEventListener('click', () => setRow(data.answerRow));
  let playing = 0;
  byId('play').addEventListener('click', () => {
    clearInterval(playing);
    playing = playing ? 0 : setInterval(() => setRow(state.row >= data.nRows - 1 ? 0 : state.row + 1), 450);
    byId('play').textContent = playing ? '❚❚' : '▶';
    byId('play').setAttribute('aria-pressed', String(Boolean(playing)));
  });
  byId('download').addEventListener('click', () => {
    const name = state.row === data.answerRow ? 'labels.csv' : `labels_T${temperatureText(data.temperatures[state.row])}.csv`;
    downloadText(name, labelsCsv(data, state.row));
  });
  byId('theme').addEventListener('click', actions.toggleTheme);
  byId('help').addEventListener('click', () => toggleHelp());
  connectColours(state, setColour);
  byId('filters').replaceChildren(el('span', { class: 'quiet' }, 'Show'), ...data.statuses.map(({ name, meaning }, s) => el('button', {
    type: 'button', class: 'chip', title: meaning, onclick: () => { state.hidden[s] = !state.hidden[s]; update('map'); },
  }, name, el('b'))));
  byId('layout').replaceChildren(...data.layouts.map((layout, l) => el('option', { value: l }, layout.name)));
  byId('layout-choice').hidden = data.layouts.length < 2;
  byId('layout').addEventListener('change', (event) => {
    map.layout = Number(event.target.value);
    map.resetView();
    map.sprites.clear();
    update('map');
  });
  byId('zoom-in').addEventListener('click', () => zoom(1.5));
  byId('zoom-out').addEventListener('click', () => zoom(1 / 1.5));
  byId('zoom-fit').addEventListener('click', () => zoom(0));
}

function connectColours(state, setColour) {
  const modes = COLOUR_MODES.map(([mode, name]) => {
    const button = el('button', { type: 'button', role: 'radio', onclick: () => setColour(mode) }, name);
    button.dataset.mode = mode;
    return button;
  });
  byId('colour-by').replaceChildren(el('span', { class: 'quiet' }, 'Colour by'), ...modes);
  byId('colour-by').addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    const at = COLOUR_MODES.findIndex(([mode]) => mode === state.colourBy);
    const next = (at + step + COLOUR_MODES.length) % COLOUR_MODES.length;
    setColour(COLOUR_MODES[next][0]);
    modes[next].focus();
  });
}
