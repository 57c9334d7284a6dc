import subprocess
import sys
from pathlib import Path

import pytest
from matplotlib.image import imread

from src.report.figures import style
from src.report.figures.style import new_figure, save_figure, user_text


def test_a_figure_is_saved_at_150_dpi(tmp_path: Path) -> None:
    figure = new_figure(4, 3)
    figure.subplots().text(0, 0, "日本 😀 हिन्दी", **user_text(9))  # a warning would be an error
    path = save_figure(figure, tmp_path / "new" / "picture.png")
    height, width, _ = imread(path).shape
    assert (width, height) == pytest.approx((600, 450), abs=50)
    assert list(path.parent.iterdir()) == [path]


def test_a_failed_save_keeps_the_previous_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "picture.png"
    path.write_bytes(b"old")
    figure = new_figure(4, 3)

    def write_half(destination: Path, **options: object) -> None:
        Path(destination).write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(figure, "savefig", write_half)
    with pytest.raises(OSError, match="No space"):
        save_figure(figure, path)
    assert [(item.name, item.read_bytes()) for item in tmp_path.iterdir()] == [("picture.png", b"old")]


def test_drawing_imports_neither_torch_nor_pyplot() -> None:
    code = "import src.report.run, sys; print({'torch', 'matplotlib.pyplot'} & set(sys.modules))"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "set()"


def test_each_font_for_missing_glyphs_is_suggested_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    style._suggest_font.cache_clear()
    for name in ("a.png", "b.png"):
        figure = style.new_figure(2, 1)
        figure.text(0.1, 0.5, "\u6620\u753b \U0001f3ac good", fontfamily="DejaVu Sans")
        style.save_figure(figure, tmp_path / name)
    assert sorted(record.args for record in caplog.records) == [("fonts-noto-cjk",), ("fonts-symbola",)]
