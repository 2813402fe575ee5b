"""Draw the pictures of the explorer in docs/images: `make pictures`.  It needs chromium; look at them before you commit them.

    python docs/pictures.py [DIRECTORY]
"""

from __future__ import annotations

import io
import os
import runpy
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image
from playwright.sync_api import sync_playwright

import adjoint as ms
from adjoint import Tensor, compat

ROOT = Path(__file__).parents[1]
MOST = 200_000
"""The number of bytes that a picture may have."""


class Picture(NamedTuple):
    """A picture of a page.

    name     of its file
    program  the function or Cell, and its inputs
    address  what is kept
    keys     what is pressed
    beside   what stands beside the lines; None for what the page chooses
    scheme   light or dark
    """

    name: str
    program: Sequence[Any]
    address: str = ""
    keys: Sequence[str] = ()
    beside: str | None = None
    scheme: str = "light"
    size: tuple[int, int] = (1280, 760)


def pictures() -> Iterator[Picture]:
    """Yield the pictures, of programs in examples/."""
    ms.set_seed(0)
    lenet = runpy.run_path("examples/lenet_digits.py")
    images = Tensor(np.random.RandomState(0).rand(32, 1, 32, 32).astype(np.float32))
    net = lenet["LeNet5"]()
    yield Picture("explorer", [net, images], "#lenet_digits.py:37", beside="types")
    yield Picture("explorer_dark", [net, images], "#lenet_digits.py:37", beside="time", scheme="dark")
    lenet["watch"](net, defaultdict(list))
    yield Picture("explorer_hooks", [net, images], keys=["4", "h", "h", "h", "h", "h", "h", "Enter"], beside="nothing")
    compat.install()
    transformer = runpy.run_path("examples/transformer_text.py")
    net = transformer["Transformer"](len(transformer["LETTERS"]), transformer["LENGTH"])
    yield Picture("explorer_cells", [net, Tensor(np.zeros((4, 11), np.int32))], "#cell:encoder.layers.0.self_attn")


def draw(browser: Any, picture: Picture, directory: Path) -> None:
    """Write a picture as a PNG of at most 200 colours."""
    page = browser.new_page(viewport={"width": picture.size[0], "height": picture.size[1]}, color_scheme=picture.scheme)
    with tempfile.TemporaryDirectory() as folder:
        path = ms.explore(*picture.program, path=Path(folder) / "page.html", run=True)
        page.goto(Path(path).as_uri() + picture.address)
        if picture.beside is not None and page.is_visible("#beside"):
            page.select_option("#beside", picture.beside)
        for key in picture.keys:
            page.keyboard.press(key)
        page.wait_for_timeout(300)
        shot = Image.open(io.BytesIO(page.screenshot()))
    page.close()
    file = directory / f"{picture.name}.png"
    shot.convert("RGB").quantize(200, dither=Image.Dither.NONE).save(file, optimize=True)
    if file.stat().st_size > MOST:
        sys.exit(f"{file} has {file.stat().st_size} bytes, more than {MOST}")
    print(file, file.stat().st_size)


def main() -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("The pictures are drawn by chromium: apt-get install chromium")
    directory = (Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "images").resolve()
    os.chdir(ROOT)
    flags = ["--disable-background-networking", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=flags)
        for picture in pictures():
            draw(browser, picture, directory)
        browser.close()


if __name__ == "__main__":
    main()
