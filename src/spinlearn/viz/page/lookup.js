// Answers questions about what the page was given.

const NO_STATE = 255;

function isOutlier(data, code) {
  return code < 0 && data.confusedSets[-1 - code].length === 0;
}

function outcomeName(data, code) {
  if (isOutlier(data, code)) return 'outlier';
  if (code < 0) return 'confused:' + data.confusedSets[-1 - code].map((c) => data.classes[c]).join('|');
  if (data.accepted && data.accepted.has(code)) return data.accepted.get(code);
  return code < data.k ? data.classes[code] : 'new:' + (code - data.k + 1);
}

// Whether a point is in what is picked: a call, a group that may be a class, or everything.
function inGroup(data, point, { row, group, proposal }) {
  if (proposal) return proposal.inside[point] === 1;
  return group === null || data.outcomes[row * data.n + point] === group;
}

// First and last row around `row` over which a point keeps its outcome.
function callRange(data, point, row) {
  const code = data.outcomes[row * data.n + point];
  let low = row;
  let high = row;
  while (low > 0 && data.outcomes[(low - 1) * data.n + point] === code) low--;
  while (high < data.nRows - 1 && data.outcomes[(high + 1) * data.n + point] === code) high++;
  return [low, high];
}

// Where a row of the data is on display, or -1; rows on display ascend.
function placeOfRow(data, row) {
  let low = 0;
  let high = data.n;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (data.points[middle] < row) low = middle + 1;
    else high = middle;
  }
  return low < data.n && data.points[low] === row ? low : -1;
}

function neighboursOf(data, point, row) {
  let kept = 0;
  data.agreementRows.forEach((r, a) => {
    if (Math.abs(r - row) < Math.abs(data.agreementRows[kept] - row)) kept = a;
  });
  const m = data.weights.length;
  const found = [];
  for (let s = data.neighbourStart[point]; s < data.neighbourStart[point + 1]; s++) {
    const e = data.neighbourEdge[s];
    const other = data.edges[2 * e] === point ? data.edges[2 * e + 1] : data.edges[2 * e];
    found.push({ other, weight: data.weights[e], agreement: data.agreement[kept * m + e] / 100 });
  }
  found.sort((a, b) => b.weight - a.weight || a.other - b.other);
  return { found, row: data.agreementRows[kept] };
}

function confidenceAt(data, point, row) {
  return data.confidence[row * data.n + point] / data.stepsPerUnit;
}

function callInWords(data, point, row) {
  const at = row * data.n + point;
  return `${outcomeName(data, data.outcomes[at])} · ${data.statuses[data.status[at]].name} · confidence ${confidenceAt(data, point, row).toFixed(2)}`;
}

function temperatureText(value) {
  return value === Infinity ? '∞' : String(Number(value.toPrecision(3)));
}

function phaseName(data, row) {
  const temperature = data.temperatures[row];
  const phase = data.phases.find((p) => temperature >= p.low && temperature <= p.high);
  return (phase || data.phases[data.phases.length - 1]).name;
}

// Why the numbers at a temperature are to be doubted; empty where they are not.
function doubt(data, row) {
  if (data.distrust[row] !== null) return sentence(data.distrust[row]);
  return data.converged[row] ? '' : 'The sampling did not reach the accuracy asked for at this temperature: mind the error bars.';
}

function sentence(text) {
  return text.charAt(0).toUpperCase() + text.slice(1) + '.';
}

// One place on a linear axis for every temperature; infinity stands a little beyond the last.
function temperaturePlaces(data) {
  const finite = data.temperatures.filter((t) => t !== Infinity);
  const last = finite.length ? finite[finite.length - 1] : 1;
  const first = finite.length ? finite[0] : 0;
  const beyond = last + 0.08 * (last - first || 1);
  return { first, last: finite.length < data.nRows ? beyond : last, of: (t) => (t === Infinity ? beyond : t) };
}

// Whether a row is the answer as an average over temperatures, not that of one of them.
function isAverage(data, row) {
  return data.averaged && row === data.answerRow;
}

// Whether probabilities at a row have standard errors.
function errorsAt(data, row) {
  return data.hasErrors && !isAverage(data, row);
}

// The most probable other class; states without a name have one in an average alone.
function secondName(data, point, row) {
  const state = data.second[row * data.n + point];
  if (state === NO_STATE || (state >= data.k && !isAverage(data, row))) return '';
  return outcomeName(data, state);
}
