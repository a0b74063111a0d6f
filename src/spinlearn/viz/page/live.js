// The connection to the server: actions go out, each answered once it is kept; news come in.

const RETRY = 1000; // milliseconds

class Live {
  constructor(raw) {
    this.settings = raw.labelling;
    this.base = location.pathname;
    this.pending = new Map();
    this.ref = 0;
    this.latest = {}; // the last news of every kind
    this.listener = null;
    this.worker = new Worker(`${this.base}worker.js`);
    this.who = this.settings.who;
    this.connect();
  }

  connect() {
    this.socket = new WebSocket(`ws://${location.host}${this.base}live`);
    this.socket.addEventListener('message', (event) => this.hear(JSON.parse(event.data)));
    this.socket.addEventListener('open', () => this.tell({ kind: 'connection', open: true }));
    this.socket.addEventListener('close', () => {
      for (const { reject } of this.pending.values()) reject(new Error('the connection was lost before it was kept: do it again'));
      this.pending.clear();
      this.tell({ kind: 'connection', open: false });
      setTimeout(() => this.connect(), RETRY);
    });
  }

  hear(message) {
    if (message.kind === 'done' || message.kind === 'refused') {
      const waiting = this.pending.get(message.ref);
      this.pending.delete(message.ref);
      if (!waiting) return;
      if (message.kind === 'done') waiting.resolve(message);
      else waiting.reject(new Error(message.why));
      return;
    }
    this.latest[message.kind] = message;
    this.tell(message);
  }

  tell(message) {
    if (this.listener) this.listener(message);
    else showWaiting(this, message);
  }

  // Resolves when the server has the action in its log.
  send(action) {
    return new Promise((resolve, reject) => {
      if (this.socket.readyState !== WebSocket.OPEN) {
        reject(new Error('there is no connection: wait until it is back'));
        return;
      }
      const ref = ++this.ref;
      this.pending.set(ref, { resolve, reject });
      this.socket.send(JSON.stringify({ ...action, who: this.who, ref }));
    });
  }

  get(what) {
    return fetchJson(this.base + what);
  }

  // One at a time.
  answer() {
    return new Promise((resolve, reject) => {
      this.worker.onerror = () => reject(new Error('the answer cannot be read: load the page again'));
      this.worker.onmessage = ({ data: { data, error } }) => {
        if (error) reject(new Error(error));
        else resolve({ ...data, labelling: this.settings });
      };
      this.worker.postMessage(`${this.base}answer`);
    });
  }

  async firstAnswer() {
    const ready = () => this.latest.answer && this.latest.answer.version >= 0;
    while (!ready()) await new Promise((resolve) => { this.woken = resolve; });
    byId('waiting').hidden = true;
    return this.answer();
  }
}

// Before the first answer there is nothing on the page but how far it is.
function showWaiting(live, message) {
  if (message.kind === 'progress' && !(live.latest.answer && live.latest.answer.version >= 0)) {
    byId('waiting').hidden = false;
    byId('waiting-phase').textContent = `${message.phase} ${Math.round(100 * message.fraction)} %`;
    byId('waiting-bar').value = message.fraction;
  }
  if (message.kind === 'answer' && message.trouble) byId('waiting-phase').textContent = message.trouble;
  if (message.kind === 'connection' && !message.open) byId('waiting-phase').textContent = 'The server cannot be reached.';
  if (live.woken) live.woken();
}
