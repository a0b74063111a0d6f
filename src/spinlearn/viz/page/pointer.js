// What mouse or fingers do on the map.

function connectPointer({ data, state, map, actions }) {
  const frame = byId('map-frame');
  let drag = null; // one pointer moves the map
  let pinch = null; // two zoom it
  const down = new Map();
  const place = (event) => {
    const box = frame.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const { later } = actions;
  const between = () => {
    const [[x, y], [u, v]] = [...down.values()];
    return { x: (x + u) / 2, y: (y + v) / 2, apart: Math.max(1, Math.hypot(x - u, y - v)) };
  };
  const release = (event) => {
    down.delete(event.pointerId);
    state.path = null;
    drag = pinch = null;
  };
  frame.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    const [x, y] = place(event);
    down.set(event.pointerId, [x, y]);
    // With a tool, or with Shift where points can be labelled, a path is drawn instead.
    const path = actions.drawn && (state.tool !== 'pick' || event.shiftKey) ? [[x, y]] : null;
    drag = down.size === 1 ? { x, y, moved: false, from: { ...map.view }, path } : null;
    pinch = down.size === 2 ? between() : null;
    frame.setPointerCapture(event.pointerId);
  });
  frame.addEventListener('pointermove', (event) => {
    const [x, y] = place(event);
    if (down.has(event.pointerId)) down.set(event.pointerId, [x, y]);
    if (pinch) {
      const now = between();
      map.view.x += now.x - pinch.x;
      map.view.y += now.y - pinch.y;
      map.zoomAt(now.x, now.y, now.apart / pinch.apart);
      pinch = now;
      later('view');
      return;
    }
    if (drag) {
      if (Math.hypot(x - drag.x, y - drag.y) > 4) drag.moved = true;
      if (drag.moved && drag.path) {
        drag.path.push([x, y]);
        state.path = drag.path;
        later('over');
      } else if (drag.moved) {
        map.view.x = drag.from.x + x - drag.x;
        map.view.y = drag.from.y + y - drag.y;
        later('view');
      }
      return;
    }
    const hover = map.pick(x, y, state);
    showTip(hover, x, y);
    if (hover !== state.hover) { state.hover = hover; later('over'); }
  });
  frame.addEventListener('pointerup', (event) => {
    const [x, y] = place(event);
    if (drag && drag.moved && drag.path) {
      state.path = null;
      actions.drawn(drag.path);
    } else if (drag && !drag.moved) {
      byId('map').focus({ preventScroll: true });
      const point = map.pick(x, y, state);
      if (point >= 0 && event.shiftKey && actions.add) actions.add(point);
      else if (point >= 0) actions.select(point);
      else actions.clear();
    }
    release(event);
  });
  frame.addEventListener('pointercancel', release);
  frame.addEventListener('pointerleave', () => { state.hover = -1; byId('tip').hidden = true; later('over'); });
  frame.addEventListener('wheel', (event) => {
    event.preventDefault();
    const [x, y] = place(event);
    map.zoomAt(x, y, Math.exp(-event.deltaY * 0.0015));
    later('view');
  }, { passive: false });
  frame.addEventListener('dblclick', () => actions.zoom(0));

  function showTip(point, x, y) {
    const tip = byId('tip');
    tip.hidden = point < 0;
    if (point < 0) return;
    tip.replaceChildren(el('b', {}, data.ids[point]), callInWords(data, point, state.row));
    const right = x > map.width * 0.65;
    tip.style.left = right ? '' : x + 14 + 'px';
    tip.style.right = right ? map.width - x + 14 + 'px' : '';
    tip.style.top = Math.min(y + 12, map.height - 50) + 'px';
  }
}
