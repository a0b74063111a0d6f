"""`spinlearn label`, measured where a person waits: in Chromium, from the click to the picture.

    python benchmarks/labelling.py --part clicks        2,000 and 20,000 points of ten classes
    python benchmarks/labelling.py --part responsive    100,000 points: input while answers come in
    python benchmarks/labelling.py --part accuracy      20 suggested labels against 20 random ones

clicks: ten classes of blobs, two labels of each to begin with; then single labels as suggested.
Wall time from the key that labels to the frame after the new calls are painted; the quick answer
has them first. Beside it the processor time of the server for a label, all its threads together.
responsive: steps of the slider every 50 ms from a label until the quick answer, the thorough one
and the advice have followed, each timed from its event to the frame after; and the longest tasks
that Chromium saw.
accuracy: digits (a draw of 600 for every seed), from no label at all; suggestions as the page has
them, the answers those of `fit`.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits, make_blobs

from spinlearn.io.dataset import Dataset
from spinlearn.labelling.refit import Refit, next_points
from spinlearn.workflows.fitting import Fitting

PAGE = "window.spinlearnExplorer"
CLASSES = 10
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
         "--no-first-run", "--window-size=1400,900")  # fmt: skip


def blobs(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Ten classes that touch, in ten dimensions."""
    return make_blobs(n, centers=CLASSES, n_features=10, cluster_std=2.0, random_state=1)


@contextmanager
def served(points: np.ndarray, given: np.ndarray):
    """`spinlearn label` on an array, and the page in Chromium."""
    from selenium import webdriver

    folder = Path(tempfile.mkdtemp())
    np.savez(folder / "points.npz", X=points, y=given)
    command = [sys.executable, "-m", "spinlearn", "label", "points.npz", "--no-open"]
    server = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome")
    for flag in FLAGS:
        options.add_argument(flag)
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    driver.set_script_timeout(1800)
    try:
        while not (match := re.search(r"http://127\.0\.0\.1:\S+", server.stdout.readline())):
            pass
        driver.get(match[0])
        until(driver, "document.documentElement.dataset.ready === 'true'", 3600)
        yield driver, server.pid
    finally:
        driver.quit()
        server.send_signal(signal.SIGINT)
        try:
            server.wait(timeout=120)
        except subprocess.TimeoutExpired:
            server.kill()
        shutil.rmtree(folder, ignore_errors=True)


def until(driver, condition: str, seconds: float = 900) -> None:
    """Wait for something on the page."""
    deadline = time.monotonic() + seconds
    while not driver.execute_script(f"return {condition}"):
        if time.monotonic() > deadline:
            raise SystemExit(f"waited in vain for {condition}")
        time.sleep(0.02)


def settled(driver) -> None:
    """The thorough answer to all labels and the advice are on the page."""
    page = f"{PAGE}.labelling"
    until(driver, f"{PAGE}.data.labelVersion === {page}.version && {PAGE}.data.how === 'fit'")
    until(driver, f"{page}.advice.version === {page}.version")


def processor_seconds(pid: int) -> float:
    """Of a process with all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def begun(truth: np.ndarray) -> np.ndarray:
    """Two labels of every class, the rest empty."""
    given = np.full(len(truth), "", dtype="U8")
    for k in range(CLASSES):
        for point in np.flatnonzero(truth == k)[:2]:
            given[point] = f"c{k}"
    return given


CLICK = """
const done = arguments[arguments.length - 1];
const { labelling, data } = window.spinlearnExplorer;
const [row, name] = arguments;
const before = labelling.times.length;
labelling.go(row);
const began = performance.now();
labelling.label(name);
(function look() {
  if (labelling.times.length > before) done([performance.now() - began, data.how]);
  else requestAnimationFrame(look);
})();
"""


def clicks(sizes: list[int], times: int) -> None:
    """Median time from a click to new calls."""
    print("| points | clicks | median, s | 9 of 10 below | processor s, median | limit |")
    print("|---|---|---|---|---|---|")
    for n in sizes:
        points, truth = blobs(n)
        with served(points, begun(truth)) as (driver, pid):
            found, spent = [], []
            for _ in range(times):
                settled(driver)
                row = driver.execute_script(f"return {PAGE}.labelling.advice.next[0].point")
                before = processor_seconds(pid)
                wall, how = driver.execute_async_script(CLICK, row, f"c{truth[row]}")
                spent.append(processor_seconds(pid) - before)
                found.append(wall / 1000)
                print(f"  {n}: {wall / 1000:.2f} s ({how}), load {os.getloadavg()[0]:.1f}",
                      file=sys.stderr)  # fmt: skip
        limit = {2000: "1 s", 20000: "5 s"}.get(n, "")
        print(f"| {n:,} | {times} | {np.median(found):.2f} | {np.quantile(found, 0.9):.2f} | "
              f"{np.median(spent):.2f} | {limit} |", flush=True)  # fmt: skip
    print(f"\nload while measured: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


WATCH = """
const [row, name, most] = arguments;
const { labelling, data } = window.spinlearnExplorer;
const waits = [];
const tasks = [];
const answers = [];
const observer = new PerformanceObserver((list) => {
  for (const task of list.getEntries()) tasks.push(task.duration);
});
observer.observe({ type: 'longtask' });
const slider = document.getElementById('slider');
// Pressed by a clock that the page cannot hold up: what waits for the page, waits in its queue.
const clock = 'setInterval(() => postMessage(performance.timeOrigin + performance.now()), 50)';
const worker = new Worker(URL.createObjectURL(new Blob([clock])));
const now = () => performance.timeOrigin + performance.now();
const began = now();
let told = '';
worker.onmessage = ({ data: pressed }) => {
  slider.value = (Number(slider.value) + 1) % (Number(slider.max) + 1);
  slider.dispatchEvent(new Event('input', { bubbles: true }));
  requestAnimationFrame(() => setTimeout(() => waits.push(now() - pressed), 0));
  const answer = document.documentElement.dataset.answer || '';
  if (answer !== told) answers.push([told = answer, (now() - began) / 1000]);
  const advised = labelling.advice.version === labelling.version;
  const whole = data.labelVersion === labelling.version && data.how === 'fit' && advised;
  if (now() - began < most * 1000 && !(labelling.version > before && whole)) return;
  worker.terminate();
  setTimeout(() => { window.watched = [waits, tasks, answers]; }, 1000);
};
const before = labelling.version;
labelling.go(row);
(function whenPicked() { // a point that was not on display takes a moment
  if (labelling.selectedRow() === row) labelling.label(name);
  else setTimeout(whenPicked, 20);
})();
"""
LONGEST_WATCH = 300.0  # seconds for the quick answer, the thorough one and the advice


def responsive(n: int) -> None:
    """How long input waits from a label until the last answer to it has come in."""
    points, truth = blobs(n)
    began = time.monotonic()
    with served(points, begun(truth)) as (driver, _):
        print(f"first answer of {n:,} points after {time.monotonic() - began:.0f} s", flush=True)
        driver.execute_cdp_cmd("Page.setBypassCSP", {"enabled": True})  # for the clock alone
        driver.refresh()
        until(driver, "document.documentElement.dataset.ready === 'true'", 3600)
        row = int(np.flatnonzero(truth == 3)[7])
        watch(driver, row, "c3", n)


def page_seconds(driver) -> float:
    """Processor time of the page's own thread so far."""
    found = driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    return next(entry["value"] for entry in found if entry["name"] == "TaskDuration")


def watch(driver, row: int, name: str, n: int) -> None:
    """Label a point and press the slider until everything has followed."""
    driver.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
    work = page_seconds(driver)
    driver.execute_script(WATCH, row, name, LONGEST_WATCH)
    while not (watched := driver.execute_script("return window.watched")):
        time.sleep(1)
    waits, tasks, answers = watched
    shown = driver.execute_script(f"return {PAGE}.data.n")
    came = ", ".join(f"{what} after {seconds:.1f} s" for what, seconds in answers)
    print(f"{n:,} points, {shown:,} on display; answers that came in meanwhile: {came or 'none'}")
    late = sum(wait > 100 for wait in waits)
    median, high = np.quantile(waits, [0.5, 0.99])
    print(f"{len(waits)} keys: median {median:.0f} ms, 99 % below {high:.0f}, worst "
          f"{max(waits):.0f} ms; {late} above 100")  # fmt: skip
    work = 1000 * (page_seconds(driver) - work) / len(waits)
    print(f"processor time of the page's thread: {work:.0f} ms a key")
    print(f"longest tasks of the page: {sorted(map(round, tasks))[-5:]} ms; "
          f"load {os.getloadavg()[0]:.1f}")  # fmt: skip


def accuracy(seeds: int, n_labels: int, n_points: int) -> None:
    """Suggested labels against random ones."""
    X, digits = load_digits(return_X_y=True)
    rows = []
    print("| seed | classes named after | suggested | random |\n|---|---|---|---|")
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        chosen = np.sort(rng.permutation(len(X))[:n_points])
        truth = digits[chosen].astype(str)
        data = Dataset(
            source=Path("digits.csv"),
            ids=[str(k) for k in range(n_points)],
            labels=np.full(n_points, None, dtype=object),
            points=X[chosen],
            feature_names=[f"pixel{k}" for k in range(64)],
            table=True,
        )
        refit = Refit(Fitting(data))
        names: list[str | None] = [None] * n_points
        shown, complete = refit.thorough(names), None
        for k in range(n_labels):
            point = next_points(shown.answer, lambda: False)[0]["point"]
            names[point] = truth[point]
            if complete is None and len(set(names)) == CLASSES + 1:
                complete = k + 1
            quick = refit.quick(names)  # as on the page: advice comes with the quick answer
            whole = refit.thorough(names)
            shown = whole if quick is None else quick
        blind: list[str | None] = [None] * n_points
        for point in rng.permutation(n_points)[:n_labels]:
            blind[point] = truth[point]
        others = refit.thorough(blind)
        rows.append([np.mean(a.answer.names == truth) for a in (whole, others)])
        print(f"| {seed} | {complete} | {rows[-1][0]:.3f} | {rows[-1][1]:.3f} |", flush=True)
    mean = np.mean(rows, axis=0)
    error = np.std(rows, axis=0, ddof=1) / np.sqrt(len(rows)) if len(rows) > 1 else [0, 0]
    better = sum(a > b for a, b in rows)
    print(f"mean: suggested {mean[0]:.3f} ± {error[0]:.3f}, random {mean[1]:.3f} ± {error[1]:.3f}; "
          f"suggested ahead in {better} of {len(rows)}")  # fmt: skip


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--part", choices=["clicks", "responsive", "accuracy"], required=True)
    parser.add_argument("--sizes", type=int, nargs="+", default=[2000, 20000])
    parser.add_argument("--clicks", type=int, default=15)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--labels", type=int, default=20)
    parser.add_argument("--points", type=int, default=600, help="of the digits")
    parser.add_argument("--large", type=int, default=100_000)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if asked.part == "clicks":
        clicks(asked.sizes, asked.clicks)
    elif asked.part == "responsive":
        responsive(asked.large)
    else:
        accuracy(asked.seeds, asked.labels, asked.points)


if __name__ == "__main__":
    main()
