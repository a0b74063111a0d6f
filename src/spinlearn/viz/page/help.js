// The help: what keys do, what signs mean.

function renderHelp(data) {
  const modes = COLOUR_MODES.map(([, name]) => name.toLowerCase());
  const keys = [
    ['← →', 'lower or raise the temperature'], ['Home End', 'lowest, highest temperature'], ['T', 'back to T*'],
    ['Enter', 'on the map: pick the point in its middle'], ['Shift ← → ↑ ↓', 'from the picked point to the next one that way'],
    ['/', 'find a point by id'], [modes.map((_, m) => m + 1).join(' '), `colour by ${modes.join(', ')}`], ['+ − 0', 'zoom in, out, show all'],
    ['D', 'light or dark'], ['Esc', 'close, deselect'],
  ];
  if (data.labelling) keys.unshift(...LABELLING_KEYS);
  const theme = { ink: '#444444', paper: '#ffffff' };
  const signs = data.statuses.map(({ name, fill, meaning }, s) => {
    const mark = { shape: 'circle', colour: '#0072B2', fill, ...theme };
    if (s === CONFUSED) mark.second = '#E69F00';
    if (s === OUTLIER) mark.colour = data.palette.neutral;
    return [swatch(mark, 18), el('b', {}, name), ': ' + meaning];
  });
  const table = (rows) => el('table', {}, el('tbody', {}, ...rows.map(([first, ...rest]) => el('tr', {}, el('td', {}, first), el('td', {}, ...rest)))));
  byId('help-text').replaceChildren(
    el('h2', {}, 'Keys'), table(keys.map(([key, meaning]) => [el('kbd', {}, key), meaning])),
    el('h2', {}, 'Signs'), table(signs),
    el('h2', {}, 'Confidence'), el('p', {}, CONFIDENCE_MEANING + '. At T = 0, where a probability of 0 or 1 says nothing, its mean over all temperatures up to melting.'),
    el('p', { class: 'quiet' }, `Drag to move the map, wheel to zoom. Made by spinlearn ${data.version}; ${data.labelling ? 'nothing leaves this machine' : 'this file works offline and sends nothing'}.`),
  );
}

function toggleHelp(show) {
  const help = byId('help-text');
  help.hidden = show === undefined ? !help.hidden : !show;
  byId('help').setAttribute('aria-expanded', String(!help.hidden));
}
