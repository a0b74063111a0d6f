"""What is shown of points while they are labelled, in a real headless Chromium."""

from contextlib import contextmanager

import numpy as np
import pytest
from PIL import Image

from spinlearn.io.dataset import ReadOptions
from spinlearn.io.reading import read_dataset
from spinlearn.labelling.notebook import Labelling
from spinlearn.labelling.thumbnails import Thumbnails
from tests.end_to_end.labelling_client import blobs, served
from tests.end_to_end.labelling_person import DATA, NAME, STATE, Page

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning")]


@contextmanager
def file_served(path, **options):
    """What `spinlearn label PATH` serves."""
    data = read_dataset(path, ReadOptions(for_labelling=True, **options))
    under_way = Labelling(data, Thumbnails(data), path.parent / "labels", settings={})
    try:
        yield under_way
    finally:
        under_way.stop()


def test_pictures_of_a_folder_are_shown_and_a_broken_one_is_left_out(driver, tmp_path):
    X, _ = blobs()
    ids = [f"bird {k}.png" if k % 2 else f"bird {k}" for k in range(60)]
    folder = tmp_path / "photos"
    folder.mkdir()
    for k, name in enumerate(ids):
        grey = Image.new("RGB", (6 + k % 3, 5), (4 * k, 10, 20))
        grey.save(folder / (name if k % 2 else f"{name}.jpg"))
    (folder / "bird 8.jpg").write_bytes(b"no picture at all")
    with served(tmp_path, X, ids=ids, images=folder) as under_way:
        page = Page(driver, under_way.address).settled("clusters")
        page.go(31)
        shown = "document.querySelector('#look img')"
        page.until(f"{shown} && {shown}.complete && {shown}.naturalWidth === 7")
        colour = page.driver.execute_script(f"""
            const canvas = document.createElement('canvas');
            const ctx = canvas.getContext('2d');
            ctx.drawImage({shown}, 0, 0);
            return [...ctx.getImageData(2, 2, 1, 1).data];
        """)
        assert colour == [124, 10, 20, 255]
        page.until("document.querySelectorAll('#next .advice-row img').length > 0")
        named = driver.find_elements("css selector", "#next .advice-row b")
        assert set() < {row.text for row in named} <= set(ids)
        page.quiet()
        page.go(8)
        page.until("document.querySelector('#look img') === null")
        page.reads("look-id", "bird 8")


def test_genes_of_h5ad_colour_the_map(driver, tmp_path):
    anndata = pytest.importorskip("anndata")
    X, truth = blobs()
    table = anndata.AnnData(np.column_stack([X, truth.astype(float)]))
    table.var_names = ["CD4", "MS4A1", "a,b <i>&amp;"]
    table.obs_names = [f"cell-{k}" for k in range(60)]
    table.obs["donor"] = [f"donor {k % 3}" for k in range(60)]
    table.write_h5ad(tmp_path / "cells.h5ad")
    with file_served(tmp_path / "cells.h5ad") as under_way:
        page = Page(driver, under_way.address).settled("clusters")
        box = page.by_id("column")
        for gene, values in (("CD4", X[:, 0]), ("a,b <i>&amp;", truth)):
            box.clear()
            box.send_keys(gene, "\ue007")
            page.until(f"{STATE}.column && {STATE}.column.name === {gene!r}")
            assert page.ask(f"{STATE}.colourBy") == "column"
            levels = np.array(page.ask(f"[...{STATE}.column.levels]"))
            share = (values - values.min()) / np.ptp(values)
            assert np.abs(levels - 31 * share).max() <= 0.51
            page.reads("legend", gene)
        box.clear()
        box.send_keys("no such gene", "\ue007")
        page.until("document.getElementById('label-note').textContent.includes('no column')")
        page.go(4)
        page.until("document.querySelector('.values') !== null")
        page.reads("look", "donor 1")
        page.label("T cell")
        assert under_way.session.log.entries[-1]["points"] == ["cell-4"]


def test_strokes_over_a_mask(driver, tmp_path):
    mask = np.zeros((12, 22), dtype=bool)
    mask[2:10, 1:9] = mask[2:10, 13:21] = True  # two squares that do not touch
    with served(tmp_path, mask) as under_way:
        page = Page(driver, under_way.address).settled("clusters")
        assert page.ask(f"{STATE}.tool") == "stroke"
        ids = page.ask(f"{DATA}.ids")
        for column, name in ((4, "left"), (16, "right")):
            ends = page.places([ids.index(f"r{row}c{column}") for row in (3, 8)])
            page.drag([tuple(place) for place in ends])
            picked = {ids[k] for k in page.ask(f"[...{NAME}.picked]")}
            assert picked >= {f"r{row}c{column}" for row in range(3, 9)}
            assert len(picked) < 64
            page.label(name)
        page.settled()
        places = np.argwhere(mask)
        right = np.where(places[:, 1] < 10, "left", "right")
        assert (under_way.answer.names == right).all()


def test_the_search_finds_points_that_are_not_on_display(driver, tmp_path, monkeypatch):
    monkeypatch.setattr("spinlearn.viz.explorer.MAX_POINTS", 20)
    X, _ = blobs()
    ids = [f"Id{k:03}" for k in range(60)]
    with served(tmp_path, X, ids=ids) as under_way:
        page = Page(driver, under_way.address).settled("clusters")
        shown = page.ask(f"[...{DATA}.points]")
        assert len(shown) < 50
        hidden = next(row for row in range(59, 0, -1) if row not in shown)
        page.keys("/", f"d{hidden:03}")
        page.until("document.querySelectorAll('#results [role=option]').length === 1")
        page.reads("results", f"Id{hidden:03}")
        page.keys("\ue007")
        page.until(f"{DATA}.points[{STATE}.selected] === {hidden}")
        page.reads("look-id", f"Id{hidden:03}")
        page.label("found")
        assert under_way.labels[hidden] == "found"
        page.keys("/", "nowhere")
        page.until("document.getElementById('results').innerText === 'No point has this id'")
        page.quiet()
