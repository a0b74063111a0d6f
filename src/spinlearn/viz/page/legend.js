// The legend above the map.

function legendEntries(data, state, actions) {
  if (state.colourBy === 'confidence') return confidenceLegend(state.theme);
  if (state.colourBy === 'column') return columnLegend(state);
  if (state.colourBy === 'status') return statusLegend(data, state.theme);
  return callsLegend(data, state, actions);
}

function columnLegend({ column, theme }) {
  if (!column) return [el('span', { class: 'quiet' }, 'Type the name of a column')];
  return [el('span', { class: 'ramp' }, `${column.name} ${shortNumber(column.low)} `, rampSteps(theme), ` ${shortNumber(column.high)}`)];
}

function rampSteps(theme) {
  const steps = Array.from({ length: 24 }, (_, i) => {
    const step = el('span', { class: 'step' });
    step.style.background = rampColour(i / 23, theme);
    return step;
  });
  return el('span', { class: 'steps' }, ...steps);
}

function confidenceLegend(theme) {
  return [el('span', { class: 'ramp', title: CONFIDENCE_MEANING }, 'confidence 0 ', rampSteps(theme), ' 1')];
}

function statusLegend(data, theme) {
  return data.statuses.map(({ name, meaning }, s) => el('span', { class: 'chip plain', title: meaning }, swatch(statusMark(data, s, theme)), name));
}

function callsLegend(data, { row, group, theme }, actions) {
  const { listed, other } = data.groups[row];
  const chips = listed.map(([code, size]) => {
    const chip = el('button', {
      type: 'button', class: 'chip', 'aria-pressed': String(group === code), title: 'Show its members',
      onclick: () => actions.pickGroup(group === code ? null : code),
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
  return chips;
}

// Anew, but who goes by keyboard stays at the same call.
function renderLegend(node, data, state, actions) {
  const focused = node.contains(document.activeElement) ? document.activeElement.dataset.code : undefined;
  const entries = legendEntries(data, state, actions);
  node.replaceChildren(...entries);
  const again = focused === undefined ? null : entries.find((entry) => entry.dataset.code === focused);
  if (again) again.focus();
}
