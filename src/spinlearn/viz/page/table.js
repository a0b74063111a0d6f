// The labelled table, character for character as spinlearn's answers/table.py writes it.

function csvField(text) {
  return /[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
}

// As answers/spreadsheet.py: no spreadsheet may take a name for a formula.
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
  const errors = errorsAt(data, row);
  const nNew = isAverage(data, row) ? data.nNew : 0;
  const another = isAverage(data, row) && data.another ? ['new'] : []; // class without label
  const states = [...data.classes, ...Array.from({ length: nNew }, (_, c) => `new:${c + 1}`), ...another];
  const nBeyond = states.length - k;
  const head = ['id', 'call', 'status', 'confidence', 'second', ...states.map((c) => 'p:' + c), ...(errors ? data.classes.map((c) => 'se:' + c) : [])];
  const lines = [head.map(csvField).join(',')];
  for (let i = 0; i < n; i++) {
    const at = row * n + i;
    const fields = [safeName(data.ids[i]), safeName(outcomeName(data, data.outcomes[at])), data.statusNames[data.status[at]], stepText(data.confidence[at], stepsPerUnit), safeName(secondName(data, i, row))];
    for (let c = 0; c < k; c++) fields.push(stepText(data.probability[at * k + c], stepsPerUnit));
    for (let c = 0; c < nBeyond; c++) fields.push(stepText(data.beyond[i * nBeyond + c], stepsPerUnit));
    if (errors) for (let c = 0; c < k; c++) fields.push(stepText(data.error[at * k + c], stepsPerUnit));
    lines.push(fields.map(csvField).join(','));
  }
  return lines.join('\n') + '\n';
}

function downloadText(name, text) {
  const link = el('a', { href: URL.createObjectURL(new Blob([text], { type: 'text/csv;charset=utf-8' })), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
