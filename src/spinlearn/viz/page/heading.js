// The heading: what was computed, how far to trust it.

function renderHeading(data, nSaid = 0) {
  byId('title').textContent = data.title;
  byId('facts').replaceChildren(...Object.entries(data.facts).map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value))));
  byId('phase-key').replaceChildren(...phaseKey(data), el('span', { title: data.averaged ? 'most probable temperature of the average' : 'recommended temperature' }, '┆ T*'));
  const lines = [el('p', { class: 'note', id: 'headline' }, el('b', {}, sentence(data.headline))), ...data.notes.map((note) => el('p', { class: 'note' }, sentence(note)))];
  const distrust = data.distrust[data.answerRow];
  if (distrust !== null) lines.unshift(el('p', { class: 'distrust' }, sentence(distrust)));
  byId('download-note').hidden = !nSaid;
  byId('download-note').textContent = 'calls as you said';
  if (data.nShown < data.nPoints) {
    const [shown, all] = [data.nShown, data.nPoints].map((count) => count.toLocaleString('en'));
    lines.push(el('p', { class: 'note' }, `${shown} of ${all} points are on display: a sample that keeps labelled points and small groups. Counts and curves are those of all points.`));
    byId('download-note').hidden = false;
    const elsewhere = data.labelling ? `Write answer writes all ${all}` : `labels.csv beside this page has all ${all}`;
    byId('download-note').textContent = data.allLabels === null ? `the ${shown} on display; ${elsewhere}` : `all ${all} points at T*, elsewhere the ${shown} on display`;
  }
  byId('notice').hidden = !lines.length;
  if (data.labelling && distrust === null) { // the map needs the room
    const open = Boolean(byId('notice').querySelector('details[open]'));
    byId('notice').replaceChildren(el('details', { open }, el('summary', {}, 'How this answer was found'), ...lines));
  } else byId('notice').replaceChildren(...lines);
}
