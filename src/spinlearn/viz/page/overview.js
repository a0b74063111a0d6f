// The charts of all points over temperature.

function overviewCharts(data, onPick) {
  const { curves, palette } = data;
  const theme = { ink: '#000000', paper: '#ffffff' };
  const dashes = [[], [6, 3], [2, 3], [8, 3, 2, 3]];
  const status = data.statuses.map(({ name, colour }, s) => ({
    name, values: curves.statusCounts[s], mark: statusMark(data, s, theme), colour, offset: s,
  }));
  const grains = curves.grains.map((values, g) => ({
    name: `${g + 1}`, values, dash: dashes[g], colour: palette.colours[[0, 4, 2, 3][g]],
  }));
  const chart = (settings) => new Chart(data, { onPick, height: 96, ...settings });
  const byStatus = chart({
    height: 150, title: 'Points by status', note: 'Number of points of each status over temperature', floor: 0, legend: true, series: status,
  });
  byStatus.node.classList.add('wide');
  return [
    byStatus,
    chart({ title: 'Energy', note: 'Mean energy ⟨E⟩', series: [{ name: 'energy', values: curves.energy }] }),
    chart({ title: 'Heat capacity', note: 'Heat capacity (⟨E²⟩ − ⟨E⟩²)/T²', floor: 0, series: [{ name: 'heat capacity', values: curves.heat }] }),
    chart({ title: 'Susceptibility', note: 'Mean size of the cluster of a point', floor: 0, series: [{ name: 'susceptibility', values: curves.susceptibility }] }),
    chart({ title: 'Largest clusters', note: 'Share of the points in the largest clusters', floor: 0, ceiling: 1, series: grains }),
  ];
}
