// Finds a point by its id.

const MOST_MATCHES = 12;

// Exact ids come first, then those that begin with the text, then those that hold it.
function matchingPoints(data, wanted) {
  if (!wanted) return [];
  const first = [];
  const later = [];
  for (let i = 0; i < data.n && first.length < MOST_MATCHES; i++) {
    const id = data.ids[i].toLowerCase();
    if (id.startsWith(wanted)) first.push(i);
    else if (later.length < MOST_MATCHES && id.includes(wanted)) later.push(i);
  }
  const exact = data.ids.findIndex((id) => id.toLowerCase() === wanted);
  const found = [...first, ...later].filter((point) => point !== exact);
  return (exact >= 0 ? [exact, ...found] : found).slice(0, MOST_MATCHES);
}

const PAUSE = 120; // milliseconds without a further letter, before the server is asked

// What is found: { point } on display, or { row, id, call } of those that the server knows beside
// them, where there is one (`actions.find`).
function connectSearch({ data, state, actions }) {
  const box = byId('search');
  const list = byId('results');
  let matches = [];
  let active = 0;
  let asking = 0;
  let looking = false; // elsewhere, with no word yet

  const open = (shown) => {
    list.hidden = !shown;
    box.setAttribute('aria-expanded', String(shown));
  };
  const choose = (m) => {
    if (!matches[m]) return;
    open(false);
    const { point, row } = matches[m];
    if (point >= 0) actions.select(point);
    else actions.show(row);
  };
  const words = ({ point, id, call }) => (point >= 0
    ? [data.ids[point], outcomeName(data, data.outcomes[state.row * data.n + point])]
    : [id, call]);
  const nothing = () => {
    if (looking) return 'Looking for it …';
    return actions.find ? 'No point has this id' : 'No point on display has this id';
  };
  const render = () => {
    const items = matches.map((match, m) => {
      const [id, call] = words(match);
      return el('li', {
        role: 'option', id: `match-${m}`, 'aria-selected': String(m === active), onpointerdown: (event) => { event.preventDefault(); choose(m); },
      }, el('span', { class: 'name' }, id), el('span', { class: 'quiet' }, call));
    });
    list.replaceChildren(...(items.length ? items : [el('li', { class: 'quiet' }, nothing())]));
    box.setAttribute('aria-activedescendant', items.length ? `match-${active}` : '');
    if (items.length) items[active].scrollIntoView({ block: 'nearest' });
  };
  const search = () => {
    const wanted = box.value.trim().toLowerCase();
    matches = matchingPoints(data, wanted).map((point) => ({ point }));
    active = 0;
    looking = Boolean(wanted && actions.find && data.nShown < data.nPoints);
    clearTimeout(asking);
    if (looking) asking = setTimeout(() => searchElsewhere(wanted), PAUSE);
    open(wanted !== '');
    render();
  };
  const searchElsewhere = async (wanted) => {
    const found = await actions.find(wanted);
    if (box.value.trim().toLowerCase() !== wanted) return;
    looking = false;
    const chosen = matches[active];
    if (found) matches = found.map(({ point: row, id, call }) => ({ point: placeOfRow(data, row), row, id, call }));
    active = Math.max(0, matches.findIndex((match) => chosen && match.point === chosen.point && match.point >= 0));
    render();
  };
  const move = (step) => {
    active = Math.max(0, Math.min(matches.length - 1, active + step));
    open(true);
    render();
  };
  const onKey = {
    Enter: () => {
      choose(active);
      if (matches.length) byId('map').focus({ preventScroll: true });
    },
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    Escape: () => { box.value = ''; box.blur(); },
  };
  box.addEventListener('input', search);
  box.addEventListener('focus', search);
  box.addEventListener('blur', () => open(false));
  box.addEventListener('keydown', (event) => {
    event.stopPropagation(); // letters are text here, not commands
    if (!onKey[event.key]) return;
    event.preventDefault();
    onKey[event.key]();
  });
}
