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

function connectSearch({ data, state, actions }) {
  const box = byId('search');
  const list = byId('results');
  let matches = [];
  let active = 0;

  const open = (shown) => {
    list.hidden = !shown;
    box.setAttribute('aria-expanded', String(shown));
  };
  const choose = (m) => {
    if (matches[m] === undefined) return;
    open(false);
    actions.select(matches[m]);
  };
  const render = () => {
    const items = matches.map((point, m) => el('li', {
      role: 'option', id: `match-${m}`, 'aria-selected': String(m === active), onpointerdown: (event) => { event.preventDefault(); choose(m); },
    }, el('span', { class: 'name' }, data.ids[point]), el('span', { class: 'quiet' }, outcomeName(data, data.outcomes[state.row * data.n + point]))));
    list.replaceChildren(...(items.length ? items : [el('li', { class: 'quiet' }, 'No point on display has this id')]));
    box.setAttribute('aria-activedescendant', items.length ? `match-${active}` : '');
    if (items.length) items[active].scrollIntoView({ block: 'nearest' });
  };
  const search = () => {
    const wanted = box.value.trim().toLowerCase();
    matches = matchingPoints(data, wanted);
    active = 0;
    open(wanted !== '');
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
