"""Labelling is closed to others: what is refused, and that the server goes on."""

import contextlib
import http.client
import itertools
import json
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.end_to_end.labelling_client import Client, blobs, served

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning")]


@pytest.fixture(scope="module")
def labelling(tmp_path_factory):
    with served(tmp_path_factory.mktemp("attacked")) as under_way:
        under_way.answer  # noqa: B018 - waits for it
        yield under_way


def ask(labelling, path=None, *, method="GET", host=None, origin=None):
    """Status, headers and body of one request."""
    whole = urlsplit(labelling.address)
    connection = http.client.HTTPConnection(whole.hostname, whole.port, timeout=120)
    connection.putrequest(method, whole.path if path is None else path, skip_host=True)
    connection.putheader("Host", host or whole.netloc)
    if origin is not None:
        connection.putheader("Origin", origin)
    connection.endheaders()
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response.status, response.headers, body


def goes_on(labelling):
    """A label is taken as if nothing had happened."""
    with Client(labelling.address) as client:
        return client.act(do="label", points=[0], **{"class": "x"})["kind"] == "done"


def test_it_listens_on_the_loopback_address_only(labelling):
    whole = urlsplit(labelling.address)
    assert whole.hostname == "127.0.0.1"
    # Another address of the same machine, on which a server for all addresses would answer.
    with (
        pytest.raises(OSError, match=r"refused|timed out|unreachable|assign"),
        socket.create_connection(("127.0.0.2", whole.port), timeout=2),
    ):
        pass


def test_the_page_is_there_and_may_be_read_by_itself_alone(labelling):
    status, headers, body = ask(labelling)
    assert status == 200
    assert b"spinlearn" in body
    assert not [name for name in headers if name.lower().startswith("access-control")]
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cache-Control"] == "no-store"


def test_without_the_token_nothing_is_found(labelling):
    for path in ("/", "/answer", "/wrong/", "/wrong/answer", "//", "/%00/", "*"):
        status, _, body = ask(labelling, path)
        assert status in (400, 404)
        assert labelling.session.data.ids[0].encode() not in body or len(body) < 100
    path = urlsplit(labelling.address).path
    for nearly in (path[:-2] + "/", path[:-1] + "x/", path.swapcase()):
        assert ask(labelling, nearly)[0] == 404


def test_another_host_origin_or_method_is_refused(labelling):
    for host in ("evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil:80"):
        assert ask(labelling, host=host)[0] == 421
        with pytest.raises(InvalidStatus):
            Client(labelling.address, additional_headers={"Host": host})
    for origin in ("http://evil.example", "null", "https://127.0.0.1"):
        assert ask(labelling, origin=origin)[0] == 403
        with pytest.raises(InvalidStatus):
            Client(labelling.address, origin=origin)
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH"):
        assert ask(labelling, method=method)[0] == 405


def test_neither_a_gigabyte_nor_an_endless_head_is_read(labelling):
    whole = urlsplit(labelling.address)
    sent = 0
    with socket.create_connection((whole.hostname, whole.port), timeout=120) as raw:
        raw.sendall(
            f"POST {whole.path} HTTP/1.1\r\nHost: {whole.netloc}\r\n"
            f"Content-Length: {10**9}\r\n\r\n".encode()
        )
        with contextlib.suppress(OSError):
            while sent < 10**9:
                sent += raw.send(b"x" * 65536)
    assert sent < 20_000_000  # what the system's buffers take
    with socket.create_connection((whole.hostname, whole.port), timeout=120) as raw:
        raw.sendall(f"GET {whole.path} HTTP/1.1\r\n".encode())
        with contextlib.suppress(OSError):
            for k in range(200):
                raw.sendall(f"X-{k}: {'y' * 1000}\r\n".encode())
            answered = raw.recv(100)
            assert answered == b"" or answered.startswith(b"HTTP/1.1 4")
    assert goes_on(labelling)


def test_a_message_of_a_gigabyte_ends_its_own_tab_alone(labelling):
    with Client(labelling.address) as other:
        with Client(labelling.address) as client, pytest.raises(ConnectionClosed):
            client.socket.send(itertools.repeat("x" * 1_000_000, 1000))  # parts of one message
        assert other.act(do="label", points=[1], **{"class": "y"})["kind"] == "done"


def test_a_thousand_connections_do_not_shut_out_who_is_there(labelling):
    whole = urlsplit(labelling.address)
    with Client(labelling.address) as client, contextlib.ExitStack() as held:
        for _ in range(1000):
            raw = held.enter_context(socket.socket())
            raw.settimeout(5)
            with contextlib.suppress(OSError):
                raw.connect((whole.hostname, whole.port))
        assert client.act(do="label", points=[2], **{"class": "x"})["kind"] == "done"
        # Those that say nothing are dropped: a new tab comes in while the thousand still wait.
        deadline = time.monotonic() + 600
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError, TimeoutError, http.client.HTTPException):
                if ask(labelling)[0] == 200:
                    break
            time.sleep(0.3)
        else:
            pytest.fail("shut out by silent connections")
    assert goes_on(labelling)


def labelled(points, name):
    return json.dumps({"do": "label", "points": points, "class": name})


@pytest.mark.parametrize(
    "text",
    ["", "[]", "nonsense", "{}", '{"do": "label"}', labelled([1e9], "x"), labelled(["0"], "x"),
     labelled([-1], "x"), labelled([True], "x"), labelled([0], 7), labelled([0], "new:1"),
     labelled([0], "=cmd|calc"), '{"do": "__class__"}', '{"do": "redo"}', "[" * 100_000,
     '{"do": "rename", "class": "nobody", "to": "x"}', '{"do": "show", "id": "../../etc/passwd"}',
     *(f'{{"do": "show", "point": {bad}}}' for bad in ("60", "-1", "null", '"3"', "true", "[3]"))],
)  # fmt: skip
def test_nonsense_is_refused_with_a_reason(labelling, text):
    before = len(labelling.session.log.entries)
    with Client(labelling.address, who="eve") as client:
        client.socket.send(text)
        refused = client.until(lambda m: m["kind"] == "refused")
    assert refused["why"]
    assert len(labelling.session.log.entries) == before


def test_odd_questions_have_no_answer(labelling):
    path = urlsplit(labelling.address).path
    many = ",".join(["1"] * 65)
    for query in (
        *("look", *(f"look?points={points}" for points in ("", "x", "-1", "60", many))),
        *("image?point=0", "image?point=../../etc/passwd"),
        *("colour?column=", "colour?column=__class__"),
    ):
        assert ask(labelling, path + query)[0] in (400, 404)


def test_only_the_folder_that_was_named_is_served(tmp_path):
    (tmp_path / "secret.png").write_bytes(b"secret")
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    (pictures / "0.png").write_bytes(b"\x89PNG")
    (pictures / "1.svg").write_text("<svg onload='alert(1)'/>")
    ids = [str(k) for k in range(60)]
    ids[5] = "../secret"
    with served(tmp_path, blobs()[0], ids=ids, images=pictures) as under_way:
        path = urlsplit(under_way.address).path
        status, headers, body = ask(under_way, path + "image?point=0")
        assert (status, headers["Content-Type"], body) == (200, "image/png", b"\x89PNG")
        for row in (1, 5):
            assert ask(under_way, f"{path}image?point={row}")[0] == 404


PAGE = b"""<!doctype html><title>evil</title><script>
const address = decodeURIComponent(location.hash.slice(1));
const results = {};
const attempts = {
  fetch: () => fetch(address + 'answer').then((r) => r.text()),
  blind: () => fetch(address + 'answer', { mode: 'no-cors' }).then((r) => r.text()).then((t) => { if (!t) throw 0; }),
  post: () => fetch(address, { method: 'POST', body: 'x', mode: 'no-cors' }).then((r) => { if (!r.ok) throw 0; }),
  socket: () => new Promise((yes, no) => { const s = new WebSocket(address.replace('http', 'ws') + 'live'); s.onmessage = yes; s.onerror = no; s.onclose = no; }),
  script: () => new Promise((yes, no) => { const s = document.createElement('script'); s.src = address + 'answer'; s.onload = yes; s.onerror = no; document.head.append(s); }),
  image: () => new Promise((yes, no) => { const s = new Image(); s.src = address + 'image?point=0'; s.onload = yes; s.onerror = no; }),
};
window.run = () => Promise.all(Object.entries(attempts).map(([name, attempt]) => attempt().then(() => { results[name] = 'got in'; }, () => { results[name] = 'refused'; }))).then(() => results);
</script>"""  # noqa: E501


def test_a_page_of_another_origin_gets_nothing_even_with_the_token(labelling, driver):
    class Evil(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(PAGE)

        def log_message(self, *_):
            pass

    # Chromium may hold a second connection open, on which one thread alone would wait for ever.
    other = ThreadingHTTPServer(("127.0.0.1", 0), Evil)
    thread = threading.Thread(target=other.serve_forever, daemon=True)
    thread.start()
    try:
        driver.get(f"http://127.0.0.1:{other.server_port}/#{labelling.address}")
        found = driver.execute_async_script(
            "const done = arguments[0]; window.run().then(done, (e) => done(String(e)));"
        )
    finally:
        other.shutdown()
        other.server_close()
        thread.join()
    assert set(found.values()) == {"refused"}
    assert len(found) == 6
    assert goes_on(labelling)
