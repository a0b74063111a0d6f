// Which calls an answer has changed.

// Calls of the answer with their row numbers, ascending; new classes are not told apart.
function callsOf(data) {
  const base = data.answerRow * data.n;
  const names = new Map();
  const calls = new Array(data.n);
  for (let i = 0; i < data.n; i++) {
    const code = data.outcomes[base + i];
    if (!names.has(code)) names.set(code, code >= data.k ? 'new' : outcomeName(data, code));
    calls[i] = names.get(code);
  }
  return { rows: data.points, calls };
}

// Points on display whose call is another than before.
function changedCalls(data, before) {
  const { rows, calls } = callsOf(data);
  const changed = [];
  for (let i = 0, b = 0; i < rows.length; i++) {
    while (b < before.rows.length && before.rows[b] < rows[i]) b++;
    if (before.rows[b] === rows[i] && before.calls[b] !== calls[i]) changed.push(i);
  }
  return changed;
}
