// Puts the page together: state, controls, keys. Every change goes through `update`.

const COLOUR_MODES = [['class', 'Call'], ['status', 'Status'], ['confidence', 'Confidence']];

function readTheme(name) {
  const style = getComputedStyle(document.documentElement);
  const value = (variable) => style.getPropertyValue(variable).trim();
  return {
    name, ink: value('--ink'), paper: value('--paper'), quiet: value('--quiet'), line: value('--line'),
    accent: value('--accent'), ghost: value('--ghost'), warn: value('--warn'), tint: Number(value('--tint')),
  };
}

async function start() {
  const byId = (id) => document.getElementById(id);
  if (typeof DecompressionStream === 'undefined') {
    byId('notice').hidden = false;
    byId('notice').textContent = 'This browser is too old for this page: it needs one of 2023 or later.';
    return;
  }
  const data = await loadData();
  const state = {
    row: data.answerRow, colourBy: 'class', selected: -1, hover: -1, group: null,
    hidden: data.statusNames.map(() => false), theme: null,
  };
  const prefersDark = window.matchMedia('(prefers-color-scheme: dark)');
  let chosenTheme = null;
  const map = new PointMap(data, byId('map'), byId('map-over'), byId('map-frame'));
  const actions = { setRow, select, clear, pickGroup };
  const panel = new Panel(data, byId('selection'), actions);
  const charts = makeCharts(data, setRow);
  let repaintMs = 0;

  // -- drawing ------------------------------------------------------------------------------------

  // parts: over (the pointer moved), map (what is shown changed), size (the room changed),
  // all (colours changed). A change of room repaints pictures alone: whatever is about to be
  // clicked or has the focus stays.
  function update(part) {
    const began = performance.now();
    if (part === 'size' || part === 'all') {
      map.resize();
      for (const chart of charts) chart.paint(state.theme);
      paintStrip();
    }
    if (part !== 'over') map.paint(state);
    map.paintOverlay(state);
    if (part !== 'over') for (const chart of charts) chart.paintNow(state.row, state.theme);
    if (part === 'size') panel.repaint(state);
    if (part === 'map' || part === 'all') {
      renderControls();
      panel.render(state);
    }
    repaintMs = performance.now() - began;
  }

  function makeCharts() {
    const { curves } = data;
    const theme = { ink: '#000000', paper: '#ffffff' };
    const dashes = [[], [6, 3], [2, 3], [8, 3, 2, 3]];
    const status = data.statusNames.map((name, s) => ({
      name, values: curves.statusCounts[s], mark: statusMark(data, s, theme), colour: data.palette.statusColours[s], offset: s,
    }));
    const common = { onPick: setRow, height: 96 };
    const list = [
      new Chart(data, { ...common, title: 'Energy', note: 'Mean energy ⟨E⟩', series: [{ name: 'energy', values: curves.energy }] }),
      new Chart(data, { ...common, title: 'Heat capacity', note: 'Heat capacity (⟨E²⟩ − ⟨E⟩²)/T²', floor: 0, series: [{ name: 'heat capacity', values: curves.heat }] }),
      new Chart(data, { ...common, title: 'Susceptibility', note: 'Mean size of the cluster of a point', floor: 0, series: [{ name: 'susceptibility', values: curves.susceptibility }] }),
      new Chart(data, {
        ...common, title: 'Largest clusters', note: 'Share of the points in the largest clusters', floor: 0, ceiling: 1,
        series: curves.grains.map((values, g) => ({ name: `${g + 1}`, values, dash: dashes[g], colour: data.palette.colours[[0, 4, 2, 3][g]] })),
      }),
      new Chart(data, {
        ...common, height: 150, title: 'Points by status', note: 'Number of points of each status over temperature', floor: 0, legend: true, series: status,
      }),
    ];
    list[4].node.classList.add('wide');
    byId('curves').replaceChildren(...list.map((chart) => chart.node));
    return list;
  }

  // The slider's track: phases by grid row, T*, and rows that did not converge.
  function paintStrip() {
    const canvas = byId('strip');
    const width = canvas.parentElement.clientWidth;
    const ctx = sizedCanvas(canvas, width, 56);
    const thumb = 18;
    const top = 13;
    const last = Math.max(1, data.nRows - 1);
    const x = (row) => thumb / 2 + (row / last) * (width - thumb);
    const order = ['ferromagnetic', 'super-paramagnetic', 'paramagnetic'];
    const edge = (row) => Math.max(thumb / 2, Math.min(width - thumb / 2, x(row - 0.5)));
    let from = 0;
    const phaseOf = data.temperatures.map((t, row) => rowPhase(row).name);
    ctx.font = '11px system-ui, sans-serif';
    ctx.textBaseline = 'middle';
    for (let row = 1; row <= data.nRows; row++) {
      if (row < data.nRows && phaseOf[row] === phaseOf[from]) continue;
      const which = order.indexOf(phaseOf[from]);
      const left = edge(from);
      const right = row === data.nRows ? width - thumb / 2 : edge(row);
      ctx.globalAlpha = state.theme.tint * 1.6;
      ctx.fillStyle = data.palette.phaseColours[which];
      ctx.fillRect(left, top, right - left, 15);
      ctx.globalAlpha = state.theme.tint * 2.2;
      phasePattern(ctx, which, left, right, top, top + 15, data.palette.phaseColours[which]);
      ctx.globalAlpha = 1;
      ctx.fillStyle = state.theme.ink;
      ctx.textAlign = 'center';
      const text = phaseOf[from];
      if (ctx.measureText(text).width + 8 < right - left) ctx.fillText(text, (left + right) / 2, top + 8);
      from = row;
    }
    ctx.textBaseline = 'alphabetic';
    let reached = -Infinity;
    for (let row = 0; row < data.nRows; row++) {
      const at = x(row);
      ctx.fillStyle = data.converged[row] ? state.theme.quiet : state.theme.warn;
      ctx.fillRect(at - 0.5, top + 15, 1, data.converged[row] ? 4 : 7);
      const text = temperatureText(data.temperatures[row]);
      const half = ctx.measureText(text).width / 2;
      if (at - half > reached + 10 && at + half <= width) {
        ctx.fillStyle = state.theme.quiet;
        ctx.fillText(text, Math.max(half, at), top + 42);
        reached = at + half;
      }
    }
    const star = x(data.answerRow);
    ctx.fillStyle = state.theme.ink;
    ctx.beginPath(); ctx.moveTo(star - 5, 4); ctx.lineTo(star + 5, 4); ctx.lineTo(star, top); ctx.fill();
    ctx.font = '600 11px system-ui, sans-serif';
    ctx.textAlign = star > width - 40 ? 'right' : 'left';
    ctx.fillText('T*', star + (star > width - 40 ? -8 : 8), 11);
  }

  function rowPhase(row) { return phaseAt(data, data.temperatures[row]); }

  // -- controls -----------------------------------------------------------------------------------

  function renderControls() {
    const { row, theme } = state;
    const t = temperatureText(data.temperatures[row]);
    byId('slider').value = row;
    byId('slider').setAttribute('aria-valuetext', `T = ${t}, ${rowPhase(row).name}`);
    byId('now').textContent = `T = ${t}`;
    byId('phase-now').textContent = rowPhase(row).name;
    byId('go-answer').setAttribute('aria-disabled', String(row === data.answerRow));
    byId('go-answer').textContent = `T* = ${temperatureText(data.temperatures[data.answerRow])}`;
    byId('warning').hidden = data.converged[row];
    byId('warning').textContent = data.converged[row] ? '' : 'The sampling did not reach the accuracy asked for at this temperature: mind the error bars.';
    byId('download').title = `labels at T = ${t}, as in labels.csv`;
    renderLegend(theme);
    const counts = data.curves.statusCounts.map((c) => c[row]);
    byId('filters').querySelectorAll('button').forEach((button, s) => {
      button.setAttribute('aria-pressed', String(!state.hidden[s]));
      button.querySelector('b').textContent = counts[s].toLocaleString('en');
    });
    byId('map').setAttribute('aria-label', `Map of ${data.n} points at T = ${t}: ` + data.statusNames.map((name, s) => `${counts[s]} ${name}`).join(', ') + '. Enter picks a point, Shift with an arrow the next one that way');
  }

  function renderLegend(theme) {
    const legend = byId('legend');
    if (state.colourBy === 'confidence') {
      const steps = Array.from({ length: 24 }, (_, i) => {
        const step = el('span', { class: 'step' });
        step.style.background = rampColour(i / 23, theme);
        return step;
      });
      legend.replaceChildren(el('span', { class: 'ramp' }, 'p₁ − p₂  0 ', el('span', { class: 'steps' }, ...steps), ' 1'));
      return;
    }
    if (state.colourBy === 'status') {
      legend.replaceChildren(...data.statusNames.map((name, s) => el('span', { class: 'chip plain', title: STATUS_MEANING[s] }, swatch(statusMark(data, s, theme)), name)));
      return;
    }
    const { listed, other } = data.groups[state.row];
    const focused = legend.contains(document.activeElement) ? document.activeElement.dataset.code : null;
    const chips = listed.map(([code, size]) => {
      const chip = el('button', {
        type: 'button', class: 'chip', 'aria-pressed': String(state.group === code), title: 'Show its members',
        onclick: () => pickGroup(state.group === code ? null : code),
      }, swatch(outcomeMark(data, code, undefined, theme, null)), el('span', { class: 'name' }, outcomeName(data, code)), el('b', {}, size.toLocaleString('en')));
      chip.dataset.code = code;
      return chip;
    });
    const [newCount, newPoints] = other.new;
    if (newCount) {
      const small = { shape: 'circle', fill: 'open', colour: data.palette.neutral, ink: theme.ink, paper: theme.paper };
      chips.push(el('span', { class: 'chip plain' }, swatch(small), `${newCount.toLocaleString('en')} small new`, el('b', {}, newPoints.toLocaleString('en'))));
    }
    if (other.confused[0]) chips.push(el('span', { class: 'chip plain' }, `${other.confused[0]} further confused sets`, el('b', {}, other.confused[1].toLocaleString('en'))));
    legend.replaceChildren(...chips);
    if (focused !== null) {
      const again = chips.find((chip) => chip.dataset.code === focused);
      if (again) again.focus();
    }
  }

  function setRow(row) {
    const wanted = Math.max(0, Math.min(data.nRows - 1, row));
    if (wanted === state.row) return;
    state.row = wanted;
    update('map');
    announce();
  }

  let announcement = 0;
  function announce() {
    clearTimeout(announcement);
    announcement = setTimeout(() => {
      const { selected: point, row } = state;
      const at = row * data.n + point;
      byId('spoken').textContent = point < 0
        ? byId('map').getAttribute('aria-label')
        : `${data.ids[point]}: ${outcomeName(data, data.outcomes[at])}, ${data.statusNames[data.status[at]]} at T = ${temperatureText(data.temperatures[row])}`;
    }, 600);
  }

  function select(point) {
    state.selected = point;
    if (point >= 0) state.group = null;
    map.reveal(point);
    update('map');
    announce();
  }

  // To the nearest point in a direction from the selected one; without one, to that in the middle.
  function walk(dx, dy) {
    const point = state.selected >= 0 ? map.beyond(state.selected, dx, dy, state) : map.nearest(map.width / 2, map.height / 2, state);
    if (point >= 0) select(point);
  }

  function pickGroup(code) {
    state.group = code;
    state.selected = -1;
    update('map');
  }

  function clear() {
    state.selected = -1;
    state.group = null;
    update('map');
  }

  function setTheme(name) {
    document.documentElement.dataset.theme = name;
    state.theme = readTheme(name);
    byId('theme').textContent = name === 'dark' ? '☀' : '☾';
    byId('theme').title = name === 'dark' ? 'Light' : 'Dark';
    update('all');
  }

  function setColour(mode) {
    state.colourBy = mode;
    byId('colour-by').querySelectorAll('button').forEach((button) => {
      const on = button.dataset.mode === mode;
      button.setAttribute('aria-checked', String(on));
      button.tabIndex = on ? 0 : -1;
    });
    update('map');
  }

  // -- the heading --------------------------------------------------------------------------------

  function renderHeading() {
    byId('title').textContent = data.title;
    byId('facts').replaceChildren(...Object.entries(data.facts).map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value))));
    if (data.nShown < data.nPoints) {
      byId('notice').hidden = false;
      const [shown, all] = [data.nShown, data.nPoints].map((count) => count.toLocaleString('en'));
      byId('notice').textContent = `${shown} of ${all} points are on display: a sample that keeps labelled points and small groups. ` +
        'Counts and curves are those of all points.';
      byId('download-note').hidden = false;
      byId('download-note').textContent = `all ${all} points at T*, elsewhere the ${shown} on display`;
    }
    const key = [['ferromagnetic', 'all act as one'], ['super-paramagnetic', 'clusters show'], ['paramagnetic', 'no order']];
    byId('phase-key').replaceChildren(...key.map(([name, meaning], which) => {
      const canvas = el('canvas', { 'aria-hidden': 'true' });
      const ctx = sizedCanvas(canvas, 18, 11);
      ctx.fillStyle = data.palette.phaseColours[which];
      ctx.globalAlpha = 0.25;
      ctx.fillRect(0, 0, 18, 11);
      ctx.globalAlpha = 0.6;
      phasePattern(ctx, which, 0, 18, 0, 11, data.palette.phaseColours[which]);
      return el('span', { title: meaning }, canvas, name);
    }), el('span', { title: 'recommended temperature' }, '┆ T*'));
    const lines = [
      ['← →', 'lower or raise the temperature'], ['Home End', 'lowest, highest temperature'], ['T', 'back to T*'],
      ['Enter', 'on the map: pick the point in its middle'], ['Shift ← → ↑ ↓', 'from the picked point to the next one that way'],
      ['/', 'find a point by id'], ['1 2 3', 'colour by call, status, confidence'], ['+ − 0', 'zoom in, out, show all'],
      ['D', 'light or dark'], ['Esc', 'close, deselect'],
    ];
    const theme = { ink: '#444444', paper: '#ffffff' };
    byId('help-text').replaceChildren(
      el('h2', {}, 'Keys'), el('table', {}, el('tbody', {}, ...lines.map(([k, v]) => el('tr', {}, el('td', {}, el('kbd', {}, k)), el('td', {}, v))))),
      el('h2', {}, 'Signs'), el('table', {}, el('tbody', {}, ...data.statusNames.map((name, s) => {
        const mark = s === CONFUSED ? { ...statusMark(data, s, theme), colour: '#0072B2', second: '#E69F00' } : { shape: 'circle', colour: '#0072B2', fill: STATUS_FILL[s], ...theme };
        return el('tr', {}, el('td', {}, swatch(mark, 18)), el('td', {}, el('b', {}, name), ': ' + STATUS_MEANING[s]));
      }))),
      el('p', { class: 'quiet' }, `Drag to move the map, wheel to zoom. Made by spinlearn ${data.version}; this file works offline and sends nothing.`),
    );
  }

  function toggleHelp(show) {
    const help = byId('help-text');
    help.hidden = show === undefined ? !help.hidden : !show;
    byId('help').setAttribute('aria-expanded', String(!help.hidden));
  }

  // -- search -------------------------------------------------------------------------------------

  let matches = [];
  let active = 0;
  function search(text) {
    const wanted = text.trim().toLowerCase();
    const first = [];
    const later = [];
    for (let i = 0; wanted && i < data.n && first.length < 12; i++) {
      const id = data.ids[i].toLowerCase();
      if (id === wanted) first.unshift(i);
      else if (id.startsWith(wanted)) first.push(i);
      else if (later.length < 12 && id.includes(wanted)) later.push(i);
    }
    const exact = wanted ? data.ids.findIndex((id) => id.toLowerCase() === wanted) : -1;
    if (exact >= 0 && !first.includes(exact)) first.unshift(exact);
    matches = [...first, ...later].slice(0, 12);
    active = 0;
    renderMatches(wanted);
  }

  function renderMatches(wanted) {
    const list = byId('results');
    list.hidden = !wanted;
    byId('search').setAttribute('aria-expanded', String(!list.hidden));
    const items = matches.map((point, m) => el('li', {
      role: 'option', id: `match-${m}`, 'aria-selected': String(m === active), onpointerdown: (event) => { event.preventDefault(); choose(m); },
    }, el('span', { class: 'name' }, data.ids[point]), el('span', { class: 'quiet' }, outcomeName(data, data.outcomes[state.row * data.n + point]))));
    list.replaceChildren(...(items.length ? items : [el('li', { class: 'quiet' }, 'No point on display has this id')]));
    byId('search').setAttribute('aria-activedescendant', items.length ? `match-${active}` : '');
    if (items.length) items[active].scrollIntoView({ block: 'nearest' });
  }

  function choose(m) {
    if (matches[m] === undefined) return;
    byId('results').hidden = true;
    byId('search').setAttribute('aria-expanded', 'false');
    select(matches[m]);
  }

  // -- events -------------------------------------------------------------------------------------

  let playing = 0;
  function play(on) {
    clearInterval(playing);
    playing = on ? setInterval(() => setRow(state.row >= data.nRows - 1 ? 0 : state.row + 1), 450) : 0;
    byId('play').textContent = on ? '❚❚' : '▶';
    byId('play').setAttribute('aria-pressed', String(Boolean(on)));
  }

  function connect() {
    const slider = byId('slider');
    slider.max = data.nRows - 1;
    slider.addEventListener('input', () => setRow(Number(slider.value)));
    byId('go-answer').addEventListener('click', () => setRow(data.answerRow));
    byId('play').addEventListener('click', () => play(!playing));
    byId('download').addEventListener('click', () => {
      const name = state.row === data.answerRow ? 'labels.csv' : `labels_T${temperatureText(data.temperatures[state.row])}.csv`;
      downloadText(name, labelsCsv(data, state.row));
    });
    byId('theme').addEventListener('click', () => {
      chosenTheme = state.theme.name === 'dark' ? 'light' : 'dark';
      setTheme(chosenTheme);
    });
    prefersDark.addEventListener('change', () => { if (!chosenTheme) setTheme(prefersDark.matches ? 'dark' : 'light'); });
    byId('help').addEventListener('click', () => toggleHelp());
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
    byId('filters').replaceChildren(el('span', { class: 'quiet' }, 'Show'), ...data.statusNames.map((name, s) => el('button', {
      type: 'button', class: 'chip', title: STATUS_MEANING[s], onclick: () => { state.hidden[s] = !state.hidden[s]; update('map'); },
    }, name, el('b'))));
    byId('layout').replaceChildren(...data.layouts.map((layout, l) => el('option', { value: l }, layout.name)));
    byId('layout-choice').hidden = data.layouts.length < 2;
    byId('layout').addEventListener('change', (event) => {
      map.layout = Number(event.target.value);
      map.resetView();
      map.sprites.clear();
      update('map');
    });
    connectMap();
    connectSearch();
    document.addEventListener('keydown', onKey);
    let pending = 0;
    const repaint = () => {
      cancelAnimationFrame(pending);
      pending = requestAnimationFrame(() => {
        update('size');
        document.documentElement.dataset.ready = 'true';
      });
    };
    window.addEventListener('resize', repaint);
    // A longer legend or a warning leaves less room for the map, a scrollbar less for the curves.
    // The first call comes by itself.
    const room = new ResizeObserver(repaint);
    for (const id of ['map-frame', 'curves']) room.observe(byId(id));
  }

  function connectMap() {
    const frame = byId('map-frame');
    let drag = null; // one pointer moves the map
    let pinch = null; // two zoom it
    const down = new Map();
    const place = (event) => {
      const box = frame.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    let waiting = false;
    const later = (part) => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => { waiting = false; if (part === 'view') { map.paint(state); map.paintOverlay(state); } else update(part); });
    };
    const between = () => {
      const [[x, y], [u, v]] = [...down.values()];
      return { x: (x + u) / 2, y: (y + v) / 2, apart: Math.max(1, Math.hypot(x - u, y - v)) };
    };
    const release = (event) => {
      down.delete(event.pointerId);
      drag = pinch = null;
    };
    frame.addEventListener('pointerdown', (event) => {
      if (event.button !== 0) return;
      const [x, y] = place(event);
      down.set(event.pointerId, [x, y]);
      drag = down.size === 1 ? { x, y, moved: false, from: { ...map.view } } : null;
      pinch = down.size === 2 ? between() : null;
      frame.setPointerCapture(event.pointerId);
    });
    frame.addEventListener('pointermove', (event) => {
      const [x, y] = place(event);
      if (down.has(event.pointerId)) down.set(event.pointerId, [x, y]);
      if (pinch) {
        const now = between();
        map.view.x += now.x - pinch.x;
        map.view.y += now.y - pinch.y;
        map.zoomAt(now.x, now.y, now.apart / pinch.apart);
        pinch = now;
        later('view');
        return;
      }
      if (drag) {
        if (Math.hypot(x - drag.x, y - drag.y) > 4) drag.moved = true;
        if (drag.moved) {
          map.view.x = drag.from.x + x - drag.x;
          map.view.y = drag.from.y + y - drag.y;
          later('view');
        }
        return;
      }
      const hover = map.pick(x, y, state);
      showTip(hover, x, y);
      if (hover !== state.hover) { state.hover = hover; later('over'); }
    });
    frame.addEventListener('pointerup', (event) => {
      const [x, y] = place(event);
      if (drag && !drag.moved) {
        byId('map').focus({ preventScroll: true });
        const point = map.pick(x, y, state);
        if (point >= 0) select(point);
        else clear();
      }
      release(event);
    });
    frame.addEventListener('pointercancel', release);
    frame.addEventListener('pointerleave', () => { state.hover = -1; byId('tip').hidden = true; later('over'); });
    frame.addEventListener('wheel', (event) => {
      event.preventDefault();
      const [x, y] = place(event);
      map.zoomAt(x, y, Math.exp(-event.deltaY * 0.0015));
      later('view');
    }, { passive: false });
    frame.addEventListener('dblclick', () => zoom(0));
    byId('zoom-in').addEventListener('click', () => zoom(1.5));
    byId('zoom-out').addEventListener('click', () => zoom(1 / 1.5));
    byId('zoom-fit').addEventListener('click', () => zoom(0));
  }

  function zoom(factor) {
    if (factor) map.zoomAt(map.width / 2, map.height / 2, factor);
    else map.resetView();
    update('map');
  }

  function showTip(point, x, y) {
    const tip = byId('tip');
    tip.hidden = point < 0;
    if (point < 0) return;
    const at = state.row * data.n + point;
    tip.replaceChildren(el('b', {}, data.ids[point]), outcomeName(data, data.outcomes[at]) + ' · ' + data.statusNames[data.status[at]]);
    const right = x > map.width * 0.65;
    tip.style.left = right ? '' : x + 14 + 'px';
    tip.style.right = right ? map.width - x + 14 + 'px' : '';
    tip.style.top = Math.min(y + 12, map.height - 50) + 'px';
  }

  function connectSearch() {
    const box = byId('search');
    box.addEventListener('input', () => search(box.value));
    box.addEventListener('focus', () => search(box.value));
    box.addEventListener('blur', () => { byId('results').hidden = true; box.setAttribute('aria-expanded', 'false'); });
    box.addEventListener('keydown', (event) => {
      if (event.key === 'Enter') { choose(active); if (matches.length) byId('map').focus({ preventScroll: true }); } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
        event.preventDefault();
        const step = event.key === 'ArrowDown' ? 1 : -1;
        active = Math.max(0, Math.min(matches.length - 1, active + step));
        renderMatches(true);
      } else if (event.key === 'Escape') { box.value = ''; box.blur(); }
      event.stopPropagation();
    });
  }

  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const tag = event.target.tagName;
    if (tag === 'SELECT') return;
    const keys = {
      ArrowLeft: () => setRow(state.row - 1), ArrowDown: () => setRow(state.row - 1),
      ArrowRight: () => setRow(state.row + 1), ArrowUp: () => setRow(state.row + 1),
      Home: () => setRow(0), End: () => setRow(data.nRows - 1),
      t: () => setRow(data.answerRow), '/': () => { byId('search').focus(); byId('search').select(); },
      1: () => setColour('class'), 2: () => setColour('status'), 3: () => setColour('confidence'),
      '+': () => zoom(1.5), '=': () => zoom(1.5), '-': () => zoom(1 / 1.5), 0: () => zoom(0),
      d: () => byId('theme').click(), '?': () => toggleHelp(),
      Escape: () => { if (!byId('help-text').hidden) toggleHelp(false); else clear(); },
    };
    if (event.target === byId('map')) keys.Enter = () => { if (state.selected < 0) walk(0, 0); };
    if (event.shiftKey) {
      Object.assign(keys, {
        ArrowLeft: () => walk(-1, 0), ArrowRight: () => walk(1, 0), ArrowUp: () => walk(0, -1), ArrowDown: () => walk(0, 1),
      });
    }
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (!keys[key]) return;
    event.preventDefault();
    keys[key]();
  }

  renderHeading();
  connect();
  setTheme(prefersDark.matches ? 'dark' : 'light');
  setColour('class');
  // For tests and the curious: what is on the screen.
  window.spinlearnExplorer = {
    data, state, map, labelsCsv: () => labelsCsv(data, state.row), repaintMs: () => repaintMs,
    placeOf: (point) => { const { a, bx, by, layout } = map.transform(); return [a * layout.x[point] + bx, a * layout.y[point] + by]; },
  };
}

start();
