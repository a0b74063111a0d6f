"""Output folders: whole or not at all, of one answer alone, refused before anything is computed."""

import os
from pathlib import Path

import pytest

from spinlearn.errors import InvalidInputError
from spinlearn.files.atomic_write import atomic_write
from spinlearn.io.folder import check_target, new_files, new_folder, only_run, parent_folder
from tests.end_to_end.tool import leftovers, no_room


def test_no_file_of_an_earlier_answer_stays_beside_a_new_one(tmp_path):
    out = tmp_path / "out"
    for names in (("labels.csv", "profile.csv", "model.npz"), ("labels.csv", "model.npz")):
        with new_folder(out) as folder:
            for name in names:
                (folder / name).touch()
        (out / "notes.txt").touch()
    assert leftovers(out) == {"labels.csv", "model.npz", "notes.txt"}


def test_parents_may_be_made_by_another_run_meanwhile(tmp_path, monkeypatch):
    mkdir = Path.mkdir

    def after_another(path: Path, *arguments: object, **settings: object) -> None:
        os.makedirs(path, exist_ok=True)
        mkdir(path, *arguments, **settings)

    monkeypatch.setattr(Path, "mkdir", after_another)
    with parent_folder(tmp_path / "a" / "b" / "out"):
        assert (tmp_path / "a" / "b").is_dir()
    assert leftovers(tmp_path) == set()


def test_parents_that_another_run_has_removed_are_made_again(tmp_path):
    with only_run(tmp_path / "a" / "out"):
        assert (tmp_path / "a" / ".out.lock").exists()


def test_a_folder_that_is_mounted_is_refused_with_the_remedy(tmp_path, monkeypatch):
    monkeypatch.setattr(os.path, "ismount", lambda path: path == tmp_path)
    with pytest.raises(InvalidInputError, match=f"inside it, {tmp_path}/answer"):
        check_target(tmp_path)
    check_target(tmp_path / "answer")


def test_a_full_disk_is_told_with_the_name_of_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", no_room)
    target = tmp_path / "table.csv"
    with pytest.raises(OSError, match="No space") as caught, atomic_write(target) as file:
        file.write(b"text")
    assert caught.value.filename == str(target)
    assert leftovers(tmp_path) == set()


def test_files_come_into_a_folder_together_or_not_at_all(tmp_path):
    out = tmp_path / "out"

    def half() -> None:
        with new_files(out) as folder:
            (folder / "a").touch()
            no_room()

    with pytest.raises(InvalidInputError, match=r"out cannot be written \(No space"):
        half()
    assert leftovers(tmp_path) == set()
    out.mkdir()
    (out / "mine").touch()
    with new_files(out) as folder:
        (folder / "a").touch()
    assert leftovers(tmp_path) == {"out", "out/a", "out/mine"}
