// The card beside the map: the picked point, the picked group, or else all calls.

class Panel {
  constructor(data, node, actions) {
    Object.assign(this, { data, node, actions });
    this.chart = null;
    this.shown = '';
  }

  render(state) {
    const what = `${state.selected}/${state.group}/${state.theme.name}`;
    const focused = this.node.contains(document.activeElement) ? document.activeElement : null;
    const lists = () => [...this.node.querySelectorAll('.scroll, .members')];
    const scrolled = what === this.shown ? lists().map((list) => list.scrollTop) : [];
    if (state.selected >= 0) this.renderPoint(state, what);
    else if (state.group !== null) this.renderGroup(state);
    else {
      this.chart = null;
      this.node.replaceChildren(...callsList(this.data, state, this.actions));
    }
    this.shown = what;
    lists().forEach((list, k) => { if (scrolled[k]) list.scrollTop = scrolled[k]; });
    // Who goes by keyboard stays in the panel: at the same link, or at the heading.
    if (focused && !this.node.contains(focused)) {
      const again = [...this.node.querySelectorAll('[data-key]')].find((link) => link.dataset.key === focused.dataset.key);
      (again || this.node.querySelector('h2')).focus({ preventScroll: true });
    }
  }

  // In another width.
  repaint({ row, theme }) {
    if (!this.chart) return;
    this.chart.measure();
    this.chart.paint(theme);
    this.chart.paintNow(row, theme);
  }

  // -- one point ---------------------------------------------------------------------------------

  renderPoint(state, what) {
    const { data } = this;
    const { selected: point, row, theme } = state;
    const at = row * data.n + point;
    const code = data.outcomes[at];
    const status = data.status[at];
    const [low, high] = callRange(data, point, row);
    if (what !== this.shown || !this.chart) {
      this.chart = this.profileChart(point, theme);
      this.facts = el('div', { class: 'call', id: 'point-call' });
      this.bars = el('div', { class: 'bars', id: 'point-bars' });
      this.near = el('div', { class: 'near', id: 'point-neighbours' });
      this.node.replaceChildren(
        this.heading('Point', data.ids[point], 'point-id'),
        this.facts,
        el('h3', {}, 'Class probabilities over T', el('span', { class: 'value' }, data.kind + (data.hasErrors ? ', ± standard error' : ''))),
        this.chart.node,
        this.bars,
        this.near,
      );
      this.chart.measure();
      this.chart.paint(theme);
    }
    const mark = outcomeMark(data, code, status, theme, null);
    const second = secondName(data, point, row);
    this.facts.replaceChildren(
      el('p', { class: 'headline' }, swatch(mark, 20), el('b', { id: 'point-outcome' }, outcomeName(data, code)), el('span', { class: 'badge', id: 'point-status' }, data.statuses[status].name),
        el('span', { class: 'sure', id: 'point-confidence', title: CONFIDENCE_MEANING }, `confidence ${confidenceAt(data, point, row).toFixed(2)}`)),
      el('p', { class: 'quiet' }, data.statuses[status].meaning + (second ? `; next: ${second}` : '')),
      el('p', {}, 'Holds for ', el('b', { id: 'point-range' }, `${data.boundaries[low]} ≤ T ≤ ${data.boundaries[high + 1]}`.replaceAll('inf', '∞'))),
    );
    this.renderBars(point, row, theme);
    this.renderNeighbours(point, row, theme);
    this.chart.paintNow(row, theme);
  }

  heading(kind, name, id) {
    return el('div', { class: 'panel-head' },
      el('h2', { tabindex: -1 }, el('span', { class: 'quiet' }, kind + ' '), el('span', { id, class: 'name', title: name }, name)),
      el('button', { type: 'button', class: 'close', 'data-key': 'close', 'aria-label': 'Close (Esc)', onclick: () => this.actions.clear() }, '×'));
  }

  link(point) {
    return el('button', { type: 'button', class: 'link', 'data-key': point, onclick: () => this.actions.select(point) }, this.data.ids[point]);
  }

  profileChart(point, theme) {
    const { data } = this;
    const { n, k, nRows, stepsPerUnit } = data;
    const series = [];
    for (let c = 0; c < k; c++) {
      const values = [];
      const error = [];
      for (let row = 0; row < nRows; row++) {
        const at = (row * n + point) * k + c;
        // The curve is that of the phase; the average is in the bars.
        values.push((isAverage(data, row) ? data.phase[point * k + c] : data.probability[at]) / stepsPerUnit);
        error.push(data.hasErrors ? data.error[at] / stepsPerUnit : 0);
      }
      const mark = { shape: classShape(data, c), colour: classColour(data, c), fill: 'solid' };
      const faint = k > 4 && Math.max(...values) < Math.max(0.15, 1.5 / k);
      series.push({ name: data.classes[c], values, error, mark, colour: mark.colour, faint, offset: c });
    }
    const ribbon = (ctx, chart, top, high) => this.paintRibbon(ctx, chart, point, top, high, theme);
    return new Chart(data, {
      note: 'Class probabilities of the point over temperature; the ribbon below shows its call.',
      series, height: 190, floor: 0, ceiling: 1, ribbon, onPick: (row) => this.actions.setRow(row),
    });
  }

  paintRibbon(ctx, chart, point, top, high, theme) {
    const { data } = this;
    const { temperatures } = data;
    const edge = (i) => {
      if (i <= 0) return chart.x(temperatures[0]);
      if (i >= data.nRows) return chart.x(temperatures[data.nRows - 1]);
      return (chart.x(temperatures[i - 1]) + chart.x(temperatures[i])) / 2;
    };
    let from = 0;
    for (let row = 1; row <= data.nRows; row++) {
      const code = data.outcomes[from * data.n + point];
      if (row < data.nRows && data.outcomes[row * data.n + point] === code) continue;
      const mark = outcomeMark(data, code, undefined, theme, null);
      const left = edge(from);
      const width = Math.max(1, edge(row) - left);
      ctx.fillStyle = mark.fill === 'solid' ? mark.colour : mix(mark.colour, theme.paper, 0.6);
      ctx.fillRect(left, top, width, high);
      if (width >= 11) drawMark(ctx, left + width / 2, top + high / 2, 3.6, mark.fill === 'solid' ? { ...mark, colour: '#ffffff' } : mark);
      ctx.strokeStyle = theme.paper;
      ctx.lineWidth = 1;
      ctx.strokeRect(left, top, width, high);
      from = row;
    }
  }

  renderBars(point, row, theme) {
    const { data } = this;
    const { k, stepsPerUnit } = data;
    const classes = Array.from({ length: k }, (_, c) => c);
    const value = (c) => data.probability[(row * data.n + point) * k + c];
    classes.sort((a, b) => value(b) - value(a) || a - b);
    const rows = classes.slice(0, 6).map((c) => {
      const p = value(c) / stepsPerUnit;
      const spread = errorsAt(data, row) ? data.error[(row * data.n + point) * k + c] / stepsPerUnit : 0;
      const bar = el('span', { class: 'fill' });
      bar.style.width = 100 * p + '%';
      bar.style.background = classColour(data, c);
      bar.style.boxShadow = `inset 0 0 0 1px ${visible(classColour(data, c), theme)}`;
      const whisker = spread > 0 ? el('span', { class: 'whisker' }) : null;
      if (whisker) {
        whisker.style.left = 100 * Math.max(0, p - spread) + '%';
        whisker.style.width = 100 * (Math.min(1, p + spread) - Math.max(0, p - spread)) + '%';
      }
      return el('div', { class: 'bar-row' },
        swatch(outcomeMark(data, c, CONFIDENT, theme, null), 14), el('span', { class: 'name' }, data.classes[c]),
        el('span', { class: 'rail' }, bar, whisker),
        el('span', { class: 'number' }, p.toFixed(3) + (errorsAt(data, row) ? ' ± ' + spread.toFixed(3) : '')));
    });
    const rest = classes.slice(6).reduce((sum, c) => sum + value(c), 0) / stepsPerUnit;
    if (classes.length > 6) rows.push(el('p', { class: 'quiet' }, `${classes.length - 6} further classes share ${rest.toFixed(3)}`));
    if (!k) rows.push(el('p', { class: 'quiet' }, 'No label was given, so there are clusters but no class probabilities.'));
    this.bars.replaceChildren(...rows);
  }

  renderNeighbours(point, row, theme) {
    const { data } = this;
    const { found, row: keptRow } = neighboursOf(data, point, row);
    const hidden = data.degree[point] - found.length;
    const title = el('h3', {}, 'Neighbours', el('span', { class: 'value' },
      `${data.degree[point]}${hidden > 0 ? `, ${found.length} of them shown` : ''}` +
      (keptRow !== row ? ` · C at T = ${temperatureText(data.temperatures[keptRow])}` : '')));
    const body = found.slice(0, 60).map(({ other, weight, agreement }) => {
      const at = row * data.n + other;
      const mark = outcomeMark(data, data.outcomes[at], data.status[at], theme, null);
      return el('tr', {},
        el('td', {}, this.link(other)),
        el('td', { class: 'number' }, shortNumber(weight)),
        el('td', { class: 'number' }, agreement.toFixed(2)),
        el('td', {}, el('span', { class: 'inline' }, swatch(mark, 14), outcomeName(data, data.outcomes[at]))));
    });
    const head = el('tr', {}, ...['id', 'weight', 'C', 'call at this T'].map((t) => el('th', { scope: 'col' }, t)));
    this.near.replaceChildren(title, el('div', { class: 'scroll' }, el('table', {}, el('thead', {}, head), el('tbody', {}, ...body))));
  }

  // -- a class and its members -------------------------------------------------------------------

  renderGroup(state) {
    const { data } = this;
    const { group, row, theme } = state;
    const members = [];
    for (let i = 0; i < data.n; i++) if (data.outcomes[row * data.n + i] === group) members.push(i);
    const outlier = isOutlier(data, group);
    const kind = outlier ? 'Outlier' : group < 0 ? 'Confused' : group >= data.k ? 'New class' : 'Class';
    const listed = data.groups[row].listed.find(([code]) => code === group);
    const total = listed ? listed[1] : members.length;
    // Sizes among all points are known for larger groups; those of others are counted on display.
    const sampled = data.nShown < data.nPoints;
    const rows = data.temperatures.map((_, r) => {
      const found = data.groups[r].listed.find(([code]) => code === group);
      if (found || sampled) return found ? found[1] : null;
      let count = 0;
      for (let i = 0; i < data.n; i++) if (data.outcomes[r * data.n + i] === group) count++;
      return count;
    });
    const status = data.statuses.map(() => 0);
    for (const i of members) status[data.status[row * data.n + i]]++;
    const mix_ = data.statuses.map(({ name }, s) => (status[s] ? `${status[s].toLocaleString('en')} ${name}` : '')).filter(Boolean).join(', ');
    const mark = outcomeMark(data, group, undefined, theme, null);
    this.node.replaceChildren(
      this.heading(kind, outlier ? data.statuses[OUTLIER].meaning : outcomeName(data, group), 'group-name'),
      el('p', { class: 'headline' }, swatch(mark, 20), el('b', { id: 'group-size' }, total.toLocaleString('en')),
        ` points ${sampled && !listed ? 'on display ' : ''}at T = ${temperatureText(data.temperatures[row])}`,
        listed ? el('span', { class: 'sure', id: 'group-confidence', title: CONFIDENCE_MEANING }, `mean confidence ${(listed[2] / 100).toFixed(2)}`) : null),
      el('p', { class: 'quiet' }, mix_ || 'no members at this temperature: move the slider'),
    );
    this.chart = new Chart(data, {
      title: 'Size over T', note: 'Number of members over temperature', height: 110, floor: 0,
      series: [{ name: 'members', values: rows, colour: mark.colour }], onPick: (r) => this.actions.setRow(r),
    });
    this.node.append(this.chart.node);
    this.repaint(state);
    const shownMembers = members.slice(0, 400);
    const list = el('div', { class: 'members', id: 'group-members' }, ...shownMembers.map((i) => this.link(i)));
    const elsewhere = data.allLabels === null && sampled ? `; ${data.labelling ? 'Write answer writes them' : 'labels.csv beside this page has them'}` : data.allLabels !== null && row !== data.answerRow ? '' : '; the CSV has them';
    const more = total > shownMembers.length ? el('p', { class: 'quiet' }, `${(total - shownMembers.length).toLocaleString('en')} further members are not listed${elsewhere}.`) : null;
    this.node.append(el('h3', {}, 'Members'), list, ...(more ? [more] : []));
  }
}
