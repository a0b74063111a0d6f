// The labelled table, character for character as spinlearn's answers/table.py writes it.

function csvField(text) {
  return /[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
}

// As safe_name there: no spreadsheet may take a name for a formula.
function safeName(name) {
  const formula = /^'*[\x00-\x20]*[=+\-@][\s\S]/.test(name) && !/^[\x00-\x20]*[+-](\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(name);
  return formula ? "'" + name : name;
}

function stepText(steps, unit) {
  return Math.floor(steps / unit) + '.' + String(steps % unit).padStart(String(unit).length - 1, '0');
}

function labelsCsv(data, row) {
  if (data.allLabels !== null && row === data.answerRow) return data.allLabels;
  const { n, k, stepsPerUnit } = data;
  const base = row * n;
  const average = isAverage(data, row);
  const beyond = Array.from({ length: average ? data.nNew : 0 }, (_, c) => `new:${c + 1}`);
  if (average && data.another) beyond.push('new'); // a class without label that is none of these
  const shares = (names, prefix, values, width, first) => names.map((name, c) => [prefix + name, (i) => stepText(values[(first + i) * width + c], stepsPerUnit)]);
  const columns = [
    ['id', (i) => safeName(data.ids[i])],
    ['call', (i) => safeName(outcomeName(data, data.outcomes[base + i]))],
    ['status', (i) => data.statuses[data.status[base + i]].name],
    ['confidence', (i) => stepText(data.confidence[base + i], stepsPerUnit)],
    ['second', (i) => safeName(secondName(data, i, row))],
    ...shares(data.classes, 'p:', data.probability, k, base),
    ...shares(beyond, 'p:', data.beyond, beyond.length, 0),
    ...(errorsAt(data, row) ? shares(data.classes, 'se:', data.error, k, base) : []),
  ];
  const lines = [columns.map(([name]) => csvField(name)).join(',')];
  for (let i = 0; i < n; i++) lines.push(columns.map(([, text]) => csvField(text(i))).join(','));
  return lines.join('\n') + '\n';
}

function downloadText(name, text) {
  const link = el('a', { href: URL.createObjectURL(new Blob([text], { type: 'text/csv;charset=utf-8' })), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
