import subprocess
import sys
from pathlib import Path

import pytest
from matplotlib.image import imread

from src.reports.figures.style import new_figure, save_figure, user_text


def test_saved_whole_at_150_dots_an_inch(tmp_path: Path) -> None:
    figure = new_figure(4, 3)
    figure.subplots().text(0, 0, "日本 😀 हिन्दी", **user_text(9))  # warnings are errors here
    path = save_figure(figure, tmp_path / "new" / "picture.png")
    height, width, _ = imread(path).shape
    assert (width, height) == pytest.approx((600, 450), abs=50)
    assert list(path.parent.iterdir()) == [path]


def test_a_picture_that_fails_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "picture.png"
    path.write_bytes(b"old")
    figure = new_figure(4, 3)

    def half(to: Path, **options: object) -> None:
        Path(to).write_bytes(b"half")
        raise OSError("No space left on device")

    monkeypatch.setattr(figure, "savefig", half)
    with pytest.raises(OSError, match="No space"):
        save_figure(figure, path)
    assert [(item.name, item.read_bytes()) for item in tmp_path.iterdir()] == [("picture.png", b"old")]


def test_neither_torch_nor_pyplot_is_needed_to_draw() -> None:
    told = "import src.reports.draw, sys; print({'torch', 'matplotlib.pyplot'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"
