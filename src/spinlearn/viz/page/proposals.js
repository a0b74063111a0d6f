// Groups that may be a class of their own: what is told of each, what somebody says to it.

const ACCEPTED = 1000; // times colours times shapes: where codes of accepted groups begin, so that colours stay

function percentText(share) {
  if (share > 0 && share < 0.01) return 'under 1 %';
  return share < 1 && share > 0.99 ? 'over 99 %' : `${Math.round(100 * share)} %`;
}

// Called new classes come first; a group that is not called has the mark of a small one.
function proposalMark(data, one, theme) {
  const code = data.k + data.proposals.indexOf(one);
  const listed = data.groups[data.answerRow].listed.map(([c]) => c);
  return outcomeMark(data, listed.includes(code + acceptedFrom(data)) ? code + acceptedFrom(data) : code, undefined, theme, new Set(listed));
}

function acceptedFrom({ palette }) {
  return ACCEPTED * palette.colours.length * palette.shapes.length;
}

// One entry: a line to click, and of the open one all that is known, with what can be done below.
function proposalEntry(data, state, one, actions, ...below) {
  const open = (state.proposal || data.proposals[0]).name === one.name;
  const chosen = state.proposal !== null && open;
  const said = state.said.find(({ group }) => group === one.name);
  const words = !said ? `, otherwise part of ${one.beside}` : said.name === null ? ': not a class' : `: ${said.name}`;
  const head = el('button', { type: 'button', class: 'proposal-head', 'data-key': `see${one.name}`, 'aria-expanded': String(open), 'aria-pressed': String(chosen), title: 'Show its members', onclick: () => actions.showProposal(chosen ? null : one) },
    swatch(proposalMark(data, one, state.theme), 16), el('span', { class: 'name' }, el('b', {}, one.name), ` ${one.size.toLocaleString('en')} points`, el('span', { class: 'quiet' }, words)),
    el('span', { class: 'number', title: 'The probability that it is a class without label' }, percentText(one.probability)));
  if (!open) return el('div', { class: 'proposal' }, head);
  const typical = one.typical.map((id) => el('button', { type: 'button', class: 'link', 'data-key': `typical${id}`, onclick: () => {
    const point = data.ids.indexOf(id);
    if (point >= 0) actions.select(point);
  } }, id));
  return el('div', { class: 'proposal open' }, head,
    el('p', {}, sentence(one.apart)),
    one.features ? el('p', {}, `Differs most by ${one.features}.`) : null,
    el('p', { class: 'typical' }, 'Most typical: ', ...typical),
    ...below);
}

// The panel of a page that no server stands behind.
function proposalsPanel(data, state, actions) {
  if (data.labelling || !data.proposals.length) return [];
  const entries = data.proposals.map((one) => proposalEntry(data, state, one, actions, ...whatIsSaid(state, one, actions)));
  const several = state.said.length > 1 ? el('p', { class: 'quiet' }, 'Each command makes an answer of its own, in which groups may have other names: look at its page before the next one.') : null;
  return [el('h3', {}, 'Groups that may be a class of their own', el('span', { class: 'value' }, 'probability')), el('div', { class: 'proposals', id: 'proposals' }, ...entries), several];
}

// Buttons; or the words that were said, with the command that makes them last.
function whatIsSaid(state, one, actions) {
  const said = state.said.find(({ group }) => group === one.name);
  const button = (key, text, onclick) => el('button', { type: 'button', class: 'small', 'data-key': key + one.name, onclick }, text);
  if (said) {
    const command = commandOf(said);
    return [
      el('p', { class: 'said' }, said.name === null ? 'Not a class: its points have their most probable named class. ' : `A class: ${said.name}. `, button('undo', 'Undo', () => actions.unsay(one.name))),
      el('p', { class: 'quiet' }, 'On this page only. To have it computed and kept:'),
      el('p', { class: 'command' }, el('code', {}, command), navigator.clipboard ? button('copy', 'Copy', () => navigator.clipboard.writeText(command)) : null),
    ];
  }
  if (state.naming === one.name) {
    const box = el('input', { id: 'proposal-name', type: 'text', maxlength: 200, placeholder: 'Its name', 'aria-label': `Name of ${one.name}`, 'data-key': 'proposal-name', autocomplete: 'off', spellcheck: 'false' });
    const accept = () => { if (box.value.trim()) actions.say(one.name, box.value.trim()); };
    box.value = state.draft;
    box.addEventListener('input', () => { state.draft = box.value; });
    box.addEventListener('keydown', (event) => {
      event.stopPropagation(); // letters are text here, not commands
      if (event.key === 'Enter') { event.preventDefault(); accept(); } // or it presses what has the focus next
      if (event.key === 'Escape') actions.askName(null);
    });
    return [el('p', { class: 'answers' }, box, button('accept', 'It is a class', accept), button('cancel', 'Cancel', () => actions.askName(null)))];
  }
  return [el('p', { class: 'answers' }, button('ask', 'It is a class…', () => actions.askName(one.name)), button('reject', 'It is not', () => actions.say(one.name, null)))];
}

// The page does not know in which folder it is.
function commandOf({ group, name }) {
  if (name === null) return `spinlearn reject ANSWER ${group} --out ANSWER2`;
  const quoted = /["$`\\!]/.test(name) ? `'${name.replaceAll("'", "'\\''")}'` : `"${name}"`;
  return `spinlearn accept ANSWER ${group} ${quoted} --out ANSWER2`;
}

// Calls of the answer with what was said: groups get their names, or points their most probable
// named class. Nothing is computed anew.
function applySaid(data, said) {
  const { n, k, answerRow: row, proposals, groups, stepsPerUnit: unit } = data;
  const base = row * n;
  const parts = ['outcomes', 'status', 'confidence'];
  if (!data.answered) data.answered = { arrays: parts.map((part) => data[part].slice(base, base + n)), groups: structuredClone(groups[row]), counts: data.curves.statusCounts.map((count) => count[row]) };
  parts.forEach((part, p) => data[part].set(data.answered.arrays[p], base));
  groups[row] = structuredClone(data.answered.groups);
  data.curves.statusCounts.forEach((count, s) => { count[row] = data.answered.counts[s]; });
  data.accepted = new Map();
  for (const { group, name } of said) {
    const number = proposals.findIndex((one) => one.name === group);
    const one = proposals[number];
    const own = k + number;
    const called = number < data.nNew;
    const known = data.classes.indexOf(name);
    const fresh = acceptedFrom(data) + own;
    if (name !== null && known < 0) data.accepted.set(fresh, name);
    const moved = new Tally(one.shown.length ? one.size / one.shown.length : 1);
    for (const i of called ? data.outcomes.subarray(base, base + n).keys() : name === null ? [] : one.shown) {
      const at = base + i;
      if (called && data.outcomes[at] !== own) continue;
      const p = data.probability.subarray(at * k, (at + 1) * k);
      const best = p.indexOf(Math.max(...p));
      const code = name === null ? best : known < 0 ? fresh : known;
      const status = code < k ? GROWN : NEW;
      moved.add(data.outcomes[at], code, data.status[at], status);
      if (name === null) data.confidence[at] = Math.round((unit * p[best]) / Math.max(1, p.reduce((sum, v) => sum + v, 0)));
      else if (!called) data.confidence[at] = Math.round(unit * one.probability);
      data.outcomes[at] = code;
      data.status[at] = status;
    }
    moved.enter(data, row);
  }
}

// How many points went where, in all for those on display.
class Tally {
  constructor(each) {
    this.each = each;
    this.codes = new Map();
    this.status = new Map();
  }

  add(from, to, before, after) {
    for (const [counts, less, more] of [[this.codes, from, to], [this.status, before, after]]) {
      counts.set(less, (counts.get(less) || 0) - 1);
      counts.set(more, (counts.get(more) || 0) + 1);
    }
  }

  enter(data, row) {
    for (const [s, count] of this.status) data.curves.statusCounts[s][row] += Math.round(count * this.each);
    const { listed, other } = data.groups[row];
    for (const [code, count] of this.codes) {
      const change = Math.round(count * this.each);
      const found = listed.find((entry) => entry[0] === code);
      const percent = meanPercent(data, row, code);
      if (found) [found[1], found[2]] = [found[1] + change, percent];
      else if (change > 0) listed.push([code, change, percent]);
      else other.new = [Math.max(0, other.new[0] - 1), Math.max(0, other.new[1] + change)]; // too small to be listed
    }
    data.groups[row].listed = listed.filter(([, size]) => size > 0);
  }
}

// Mean confidence of the calls of a class, in per cent; given labels are certain.
function meanPercent(data, row, code) {
  let [sum, count] = [0, 0];
  for (let at = row * data.n; at < (row + 1) * data.n; at++) {
    if (data.outcomes[at] !== code || data.status[at] === LABELLED) continue;
    sum += data.confidence[at];
    count++;
  }
  return count ? Math.round((100 * sum) / count / data.stepsPerUnit) : 100;
}
