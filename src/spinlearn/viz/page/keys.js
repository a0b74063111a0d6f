// What keys do, wherever the focus is.

function connectKeys({ data, state, actions }) {
  const { setRow, setColour, zoom, walk } = actions;
  const keys = {
    ArrowLeft: () => setRow(state.row - 1), ArrowDown: () => setRow(state.row - 1),
    ArrowRight: () => setRow(state.row + 1), ArrowUp: () => setRow(state.row + 1),
    Home: () => setRow(0), End: () => setRow(data.nRows - 1), t: () => setRow(data.answerRow),
    '/': () => { byId('search').focus(); byId('search').select(); },
    '+': () => zoom(1.5), '=': () => zoom(1.5), '-': () => zoom(1 / 1.5), 0: () => zoom(0),
    d: () => actions.toggleTheme(), '?': () => toggleHelp(),
    Escape: () => { if (byId('help-text').hidden) actions.clear(); else toggleHelp(false); },
  };
  COLOUR_MODES.forEach(([mode], m) => { keys[m + 1] = () => setColour(mode); });
  const withShift = {
    ArrowLeft: () => walk(-1, 0), ArrowRight: () => walk(1, 0), ArrowUp: () => walk(0, -1), ArrowDown: () => walk(0, 1),
  };
  const onMap = { Enter: () => { if (state.selected < 0) walk(0, 0); } };

  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === 'SELECT') return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const command = (event.shiftKey && withShift[key]) || keys[key] || (event.target === byId('map') && onMap[key]);
    if (!command) return;
    event.preventDefault();
    command();
  });
}
