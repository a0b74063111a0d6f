// The list of calls at one temperature, shown while nothing is picked.

const CONFIDENCE_MEANING = 'The probability that the call is right';

function callsList(data, state, actions) {
  const { row, theme } = state;
  const { listed, other } = data.groups[row];
  const calls = listed.map(([code, size, percent]) => {
    const level = el('span', { class: 'fill' });
    level.style.width = percent + '%';
    level.style.background = visible(rampColour(percent / 100, theme), theme);
    return el('button', { type: 'button', class: 'row', 'data-key': `call${code}`, title: 'Show its members', onclick: () => actions.pickGroup(code) },
      swatch(outcomeMark(data, code, undefined, theme, null), 16), el('span', { class: 'name' }, outcomeName(data, code)),
      el('span', { class: 'number' }, size.toLocaleString('en')),
      el('span', { class: 'rail', 'aria-hidden': 'true' }, level), el('span', { class: 'number' }, (percent / 100).toFixed(2)));
  });
  const head = el('div', { class: 'row head' },
    el('span'), el('span', {}, 'call'), el('span', { class: 'number' }, 'points'),
    el('span', { class: 'wide number', title: CONFIDENCE_MEANING }, 'mean confidence'));
  return [
    el('h2', { tabindex: -1 }, isAverage(data, row) ? 'Calls' : `Calls at T = ${temperatureText(data.temperatures[row])}`),
    el('div', { class: 'calls scroll', id: 'calls' }, head, ...calls),
    smallGroups(other),
    ...proposalsPanel(data, state, actions),
    el('p', { class: 'quiet' }, 'Pick a call to see its members, or a point on the map to see its probabilities over T.'),
  ].filter(Boolean);
}

function smallGroups(other) {
  const words = [['new', 'smaller new class', 'smaller new classes'], ['confused', 'further confused set', 'further confused sets']]
    .filter(([kind]) => other[kind][0])
    .map(([kind, one, many]) => `${other[kind][0].toLocaleString('en')} ${other[kind][0] === 1 ? one : many}: ${other[kind][1].toLocaleString('en')} points`);
  return words.length ? el('p', { class: 'quiet' }, words.join('; ') + '.') : null;
}
