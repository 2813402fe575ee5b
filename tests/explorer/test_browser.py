"""The explorer's page in a browser: every view, by mouse and by keyboard.

`make browser` runs these tests; `make test` skips them where there is no browser.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_up_page import HOSTILE, made_up

from adjoint import Tensor, explore, nn, ops

Opened = Callable[..., Any]

COLUMNS = ("python", "ir", "adjoint", "c")
LAYER_1 = {
    "python": ["# line 19", 'x = self.layer1(x)  # "layer"', "    return x @ w + b"],
    "ir": ["p1: f32[8, 4] = matmul(s0)"],
    "adjoint": ["p1: f32[8, 4] = matmul(s0)", "p1': f32[8, 4] = matmul_gradient(s0)"],
    "c": ["/* kernel 1 */", "    float p = x[i] * w[i];"],
}
"""What belongs to the product of layer 1, by column."""


# -- links -----------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("touched", ("ir", "adjoint"))
def test_touching_a_line_marks_what_belongs_to_it_in_all_columns(shown: Opened, touched: str) -> None:
    page = shown(made_up())
    page.touch(touched, "p1: f32")
    assert {column: page.in_view(column, ".touched") for column in COLUMNS} == LAYER_1


def test_a_line_of_python_and_a_kernel_mark_all_that_came_from_them(shown: Opened) -> None:
    page = shown(made_up())
    page.touch("python", "self.layer2")
    assert page.rows("ir", ".touched") == ['cell "layer2"', "p2: f32[8, 4] = matmul(s1)", "s2: f32[8, 4] = add(p2)"]
    assert page.rows("c", ".touched") == ["/* kernel 2 */", "    float p = x[i] * w[i];", "    out[i] = p + b[i];"]
    page.touch("c", "/* kernel 1")
    assert page.rows("python", ".touched") == LAYER_1["python"]
    assert page.rows("adjoint", ".touched") == [LAYER_1["adjoint"][0], "s1: f32[8, 4] = add(p1)", LAYER_1["adjoint"][1]]


def test_what_belongs_to_a_line_is_scrolled_into_view(shown: Opened) -> None:
    """Layer 150 of 200 is far away in each column, and its gradient is elsewhere than its product."""
    page = shown(made_up(200), "#net.py:170")
    assert page.in_view("python", ".kept.own") == ['x = self.layer150(x)  # "layer"']
    assert page.in_view("ir", ".kept")[:2] == ['cell "layer150"', "p150: f32[8, 4] = matmul(s149)"]
    assert page.in_view("c", ".kept")[0] == "/* kernel 150 */"
    page.page.locator("#details button", has_text="in Adjoint").click()
    page.press("n", "n")
    assert page.in_view("adjoint", ".kept") == ["p150': f32[8, 4] = matmul_gradient(s149)"]


def test_hooks_are_marked_where_they_stand(shown: Opened) -> None:
    page = shown(made_up())
    assert [page.rows(column, ".hook") for column in COLUMNS[:3]] == [
        ['x = self.layer0(x)  # "layer"'], ['attach! @"show"'], ['attach! @"show"', 'callback! @"show"'],
    ]
    assert "◆" in page.page.evaluate("() => getComputedStyle(document.querySelector('#ir-lines .hook'), '::before').content")
    page.page.click("#hooks")
    page.press("h")
    assert page.rows("adjoint", ".cursor") == ['callback! @"show"']


def test_a_click_keeps_a_line_and_the_address_holds_it(shown: Opened) -> None:
    page = shown(made_up())
    page.click("python", "self.layer1")
    assert page.page.url.endswith("#net.py:21")
    page.touch("ir", "p0: f32")  # does not take the place of the kept one
    assert page.rows("ir", ".kept") == ['cell "layer1"', "p1: f32[8, 4] = matmul(s0)", "s1: f32[8, 4] = add(p1)"]
    page.click("ir", "p0: f32")
    assert page.page.url.endswith("#parsed:3")
    page.page.go_back()
    page.settle()
    assert page.rows("python", ".own") == ['x = self.layer1(x)  # "layer"']
    page.press("Escape")
    assert "#" not in page.page.url and not page.rows("ir", ".kept")
    page = shown(made_up(), "#inlined:4")  # another stage than the first
    assert page.rows("ir", ".own") == ["s0: f32[8, 4] = add(p0)"] and page.text("#stage-title") == "Without cells"
    assert page.rows("python", ".kept")[1] == 'x = self.layer0(x)  # "layer"'


@pytest.mark.parametrize("address", ("#", "#nowhere.py:3", "#net.py:9999", "#parsed:0", "#cell:none", "#%", "#net.py:x", "#" + HOSTILE))
def test_an_address_that_names_nothing_shows_the_program(shown: Opened, address: str) -> None:
    page = shown(made_up(), address)
    assert not page.rows("ir", ".kept") and page.rows("ir")


class Clipped(nn.Cell):
    """A layer with a hook on what it gives."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Dense(3, 2, "ones", "zeros")

    def construct(self, x: Any) -> Any:
        h = self.layer(x)
        h.register_hook(self.clip)
        return ops.tanh(h).sum()

    def clip(self, grad: Any) -> Any:
        return ops.clamp(grad, -1.0, 1.0)


def test_a_program_is_followed_from_its_source_to_its_c_and_back(shown: Opened, tmp_path: Path) -> None:
    written = explore(Clipped(), Tensor(np.ones((2, 3), np.float32)), path=tmp_path / "clipped.html", run=True)
    page = shown(Path(written).read_text(encoding="utf-8"))
    page.touch("python", "return ops.tanh(h).sum()")
    assert [row.split(" = ")[1].split("(")[0] for row in page.rows("ir", ".touched")] == ["tanh", "sum"]
    assert any("tanh_gradient" in row for row in page.rows("adjoint", ".touched"))
    assert any("tanh" in row for row in page.rows("c", ".touched")) and not any("matmul" in row for row in page.rows("c", ".touched"))
    page.touch("ir", "tanh(")
    assert "        return ops.tanh(h).sum()" in page.rows("python", ".touched")
    page.page.click("#hooks")
    assert page.rows("python", ".hook") == ["        h.register_hook(self.clip)"] and len(page.rows("adjoint", ".hook.cursor")) == 1
    page.page.click("#view-cells")
    assert page.page.locator("#cells-tree .row b").all_inner_texts() == ["the whole", "layer"]


# -- stages ----------------------------------------------------------------------------------------------------------------
def test_the_slider_goes_through_all_stages(shown: Opened) -> None:
    page = shown(made_up())
    page.page.focus("#stage")
    titles = [page.text("#stage-title")]
    for _ in range(4):
        page.press("ArrowRight")
        titles.append(page.text("#stage-title"))
        assert page.page.get_attribute("#stage", "aria-valuetext").startswith(titles[-1])
    assert titles == ["Parsed graph", "Without cells", "Adjoint", "Plan", "Kernels"]
    assert page.rows("ir")[0] == "func @Net() {" and not any("cell" in row for row in page.rows("ir"))
    assert page.rows("c")[:2] == ["/* kernel 0 */", "    float p = x[i] * w[i];"]
    page.page.select_option("#c-choice", label="Plan")
    assert page.text("#stage-title") == "Plan" and page.rows("c")[0] == "launches"
    page.page.click("#ticks .tick:nth-child(2)")
    assert page.text("#stage-title") == "Without cells"


def test_the_difference_to_the_stage_before(shown: Opened) -> None:
    page = shown(made_up(1))
    page.press("]", "d")
    assert page.page.is_checked("#difference") and page.text("#stage-changes") == "−2 +0 lines since Parsed graph"
    assert page.rows("ir") == [
        "func @Net() {", 'cell "layer0"', "p0: f32[8, 4] = matmul(x)", 'attach! @"show"', "s0: f32[8, 4] = add(p0)", "yield",
    ]
    assert page.rows("ir", ".removed") == ['cell "layer0"', "yield"]
    page.touch("ir", 'cell "layer0"')  # a line that is gone still knows where it came from
    assert page.rows("python", ".touched") == ["# line 19", 'x = self.layer0(x)  # "layer"']
    page.press("]")
    assert page.rows("adjoint", ".added") == ['callback! @"show"', "p0': f32[8, 4] = matmul_gradient(x)"]


# -- columns, keyboard, search -----------------------------------------------------------------------------------------------
def test_columns_can_be_chosen(shown: Opened) -> None:
    page = shown(made_up())
    visible = "section.column:visible h2"
    assert page.page.locator(visible).all_inner_texts() == ["Python", "IR", "Adjoint", "C"]
    page.press("1", "3")
    page.page.click('#columns [data-column="c"]')
    assert page.page.locator(visible).all_inner_texts() == ["IR"]
    page.press("2")  # the last one stays
    assert page.page.locator(visible).all_inner_texts() == ["IR"]
    narrow = shown(made_up(), viewport={"width": 900, "height": 700})
    assert narrow.page.locator(visible).all_inner_texts() == ["Python", "IR", "Adjoint"]
    assert narrow.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def test_a_program_without_adjoint_or_cells_has_fewer_columns(shown: Opened) -> None:
    program = made_up() | {"cells": [], "notes": ["There is no adjoint."]}
    program["stages"] = [stage for stage in program["stages"] if stage["column"] != "adjoint"]
    page = shown(program)
    assert page.page.locator("section.column:visible h2").all_inner_texts() == ["Python", "IR", "C"]
    assert page.text("#notes") == "There is no adjoint." and page.page.is_disabled("#view-cells")
    page.press("v", "3", "h")
    assert page.page.locator("section.column:visible h2").all_inner_texts() == ["Python", "IR"]
    assert shown(program | {"stages": [], "files": []}).text("h1") == "net.py:Net"


def test_columns_can_be_made_wider(shown: Opened) -> None:
    page = shown(made_up())
    width = "() => document.querySelector('section.of-python').clientWidth"
    before = page.page.evaluate(width)
    page.page.focus(".handle")
    page.press("ArrowRight", "ArrowRight")
    wider = page.page.evaluate(width)
    x, y = page.page.evaluate("() => { const b = document.querySelector('.handle').getBoundingClientRect(); return [b.x + 4, b.y + 50]; }")
    page.page.mouse.move(x, y)
    page.page.mouse.down()
    page.page.mouse.move(x + 60, y, steps=5)
    page.page.mouse.up()
    assert before + 20 < wider and abs(page.page.evaluate(width) - wider - 60) < 12
    assert page.page.get_attribute(".handle", "aria-valuenow") > "25"


def test_the_keyboard_reaches_everything_and_shows_where_it_is(shown: Opened) -> None:
    page = shown(made_up())
    controls = page.page.evaluate(
        """() => {
            window.controls = [...document.querySelectorAll("button:not([tabindex='-1']), select, input, [role=listbox], [role=separator]")]
                .filter(element => element.checkVisibility() && !element.disabled);
            window.reached = new Map();
            return window.controls.length;
        }"""
    )
    assert controls > 15
    for _ in range(2 * controls):
        page.page.keyboard.press("Tab")
        page.page.evaluate("() => { const e = document.activeElement; window.reached.set(e, getComputedStyle(e).outlineStyle); }")
    missed = "() => window.controls.filter(e => (window.reached.get(e) ?? 'none') === 'none').map(e => e.id || e.textContent)"
    assert page.page.evaluate(missed) == []


def test_arrow_keys_touch_keep_and_cross(shown: Opened) -> None:
    page = shown(made_up())
    page.page.focus("#python-lines")
    page.press("End", "ArrowUp", "ArrowUp", "ArrowUp", "ArrowUp", "ArrowUp")
    assert page.rows("python", ".cursor") == ['x = self.layer1(x)  # "layer"']
    active = page.page.get_attribute("#python-lines", "aria-activedescendant")
    assert page.text(f"#{active} .code") == 'x = self.layer1(x)  # "layer"'
    assert page.text("#said") == "3 lines in IR, 3 lines in Adjoint, 3 lines in C"
    page.press("ArrowRight")
    assert page.page.evaluate("() => document.activeElement.id") == "ir-lines" and page.rows("ir", ".cursor") == ['cell "layer1"']
    page.press("ArrowDown", "Enter")
    assert page.page.url.endswith("#parsed:8") and page.rows("ir", ".own") == LAYER_1["ir"]
    page.press("ArrowRight", "n")
    assert page.rows("adjoint", ".cursor") == ["p1': f32[8, 4] = matmul_gradient(s0)"]
    page.press("p", "Escape", "Home")
    assert page.rows("adjoint", ".cursor") == ["func @Net() {"] and not page.rows("adjoint", ".kept")


def test_help_lists_the_keys(shown: Opened) -> None:
    page = shown(made_up())
    page.press("?")
    assert page.page.is_visible("#keys") and "next hook" in page.text("#keys")
    page.press("d", "Escape")
    assert not page.page.is_visible("#keys") and not page.page.is_checked("#difference")


def test_search_finds_in_all_columns(shown: Opened) -> None:
    page = shown(made_up(100))
    page.press("/")
    page.page.keyboard.type("LAYER77")
    page.page.wait_for_function("() => document.getElementById('found').textContent === '2 hits'")
    page.press("Enter")
    assert page.text("#found") == "1 of 2" and page.in_view("python", ".cursor") == ['x = self.layer77(x)  # "layer"']
    assert page.page.locator("#python-lines mark").all_inner_texts() == ["layer77"]
    page.press("Enter")
    assert page.in_view("ir", ".cursor") == ['cell "layer77"']
    page.press("Shift+Enter")
    assert page.text("#found") == "1 of 2"
    page.page.fill("#search", "nowhere")
    page.page.wait_for_function("() => document.getElementById('found').textContent === 'nothing found'")
    page.press("Escape")
    assert page.text("#found") == "" and not page.page.locator("mark").count()


# -- what a run measured -----------------------------------------------------------------------------------------------------
def test_what_a_run_measured_stands_beside_the_lines(shown: Opened) -> None:
    page = shown(made_up(2, run=True))
    beside = "e => e.dataset.beside"
    assert page.page.input_value("#beside") == "numbers" and page.row("ir", "p1: ").evaluate(beside) == "[1. 2. 3.]"
    page.page.select_option("#beside", "time")
    page.page.select_option("#c-choice", label="Plan")
    assert page.row("c", "fused p1").evaluate(beside) == "20 µs · 50 GFLOP/s"
    assert page.row("python", "self.layer1").evaluate(beside) == "20 µs" and page.row("ir", "p1: ").evaluate(beside) == "in 20 µs"
    page.page.select_option("#beside", "values")
    assert page.row("ir", "p1: ").evaluate(beside) == "−1.5 … 2 · 25 % zero · 3 not finite · gradient norm 3.25"
    page.page.select_option("#beside", "types")
    assert page.row("python", "self.layer1").evaluate(beside) == "f32[8, 4]"
    assert "2 launches took 30 µs" in page.text("#details") and "67 % · 20 µs · 50 GFLOP/s" in page.text("#details")
    page.click("c", "fused p1")
    page.page.wait_for_function("() => document.getElementById('details').textContent.includes('4.1 kB')")


# -- Cells -------------------------------------------------------------------------------------------------------------------
def test_the_tree_of_cells_folds_and_its_drawing_follows(shown: Opened) -> None:
    page = shown(made_up(3, run=True))
    page.press("v")
    names = "#cells-tree .row b"
    boxes = "svg .box"
    assert page.page.locator(names).all_inner_texts() == ["the whole", "layer0", "layer1", "layer2"]
    assert page.page.locator(boxes).count() == 3 and page.text("#cells-0").split("\n") == [
        "▾the whole Net", "6", "60", "240 B", "6 ms", "6 ms"]
    page.page.focus("#cells-tree")
    page.press("ArrowDown", "ArrowDown", "ArrowRight")
    assert page.page.locator(names).all_inner_texts() == ["the whole", "layer0", "layer1", "product", "sum", "layer2"]
    labels = page.page.locator(boxes).evaluate_all("all => all.map(box => box.getAttribute('aria-label').split(',')[0])")
    assert labels == ["layer0", "layer1.product", "layer1.sum", "layer2"]
    page.press("ArrowDown", "Enter")
    assert page.page.url.endswith("#cell:layer1.product") and page.page.locator("svg .box.kept").count() == 1
    page.press("ArrowLeft", "ArrowLeft")  # to the Cell around it, and fold that
    assert page.page.locator(names).count() == 4
    page.page.click("text=Unfold all")
    assert page.page.locator(names).count() == 10 and page.page.locator(boxes).count() == 6
    page.press("v")
    assert page.rows("ir", ".kept") == LAYER_1["ir"] and page.rows("python", ".kept") == LAYER_1["python"][1:]


def test_the_drawing_is_by_keyboard_too(shown: Opened) -> None:
    page = shown(made_up(), "#cell:layer0")
    page.page.focus("svg .box[tabindex='0']")
    page.press("ArrowDown", "Enter")
    assert page.page.url.endswith("#cell:layer1") and page.page.locator("#cells-tree .own b").inner_text() == "layer1"


def test_a_drawing_has_at_most_500_boxes(shown: Opened) -> None:
    page = shown(made_up(600))
    page.press("v")
    assert page.page.locator("svg .box").count() == 500 and "500 boxes, not all of the Cells" in page.text(".drawing")
    assert page.elements() <= 3000


# -- size, names, looks ------------------------------------------------------------------------------------------------------
def test_at_most_3000_elements_are_in_the_document_at_a_time(shown: Opened) -> None:
    page = shown(made_up(400, run=True), viewport={"width": 2560, "height": 1440})
    most = 0
    for step in range(12):
        page.page.evaluate("step => document.querySelectorAll('.body').forEach(body => { body.scrollTop = step * 733; })", step)
        page.settle()
        most = max(most, page.elements())
    assert 500 < most <= 3000
    assert page.page.evaluate("() => document.getElementById('ir-lines').scrollTop") == 11 * 733 and len(page.rows("ir")) > 40


def test_names_in_the_program_are_text(shown: Opened) -> None:
    """Names of hooks, strings and notes with markup in them are shown as they are, in every view."""
    page = shown(made_up(2, hostile=True), "#parsed:4")
    elements = "() => [document.images.length, document.scripts.length, document.querySelectorAll('[onerror]').length]"
    assert page.page.evaluate(elements) == [0, 2, 0]
    assert page.text("h1") == HOSTILE and page.text("#notes") == f"A note with {HOSTILE}."
    assert page.rows("ir", ".own") == [f'attach! @"{HOSTILE}"']
    assert f'x = self.layer0(x)  # "{HOSTILE}"' in page.rows("python")
    page.page.wait_for_function("name => document.getElementById('details').textContent.includes(name)", arg=HOSTILE)
    page.press("/")
    page.page.keyboard.type("onerror")
    page.page.wait_for_function("() => document.getElementById('found').textContent.endsWith('hits')")
    page.press("Enter", "Escape", "Escape", "v", "]", "d")
    assert page.page.evaluate(elements) == [0, 2, 0]


def test_every_control_has_a_name_for_screen_readers(shown: Opened) -> None:
    page = shown(made_up(3, run=True))
    page.press("v")
    page.press("v")
    nameless = page.page.evaluate(
        """() => [...document.querySelectorAll("button, select, input, section, dialog, [role=listbox], [role=tree]")].filter(e =>
            !(e.tagName === "BUTTON" && e.textContent.trim()) && !e.getAttribute("aria-label") && !e.getAttribute("aria-labelledby") &&
            !e.labels?.length).map(e => e.outerHTML.slice(0, 80))"""
    )
    assert not nameless


@pytest.mark.parametrize("scheme", ("light", "dark"))
def test_text_stands_out_from_what_is_behind_it(shown: Opened, scheme: str) -> None:
    """A contrast of at least 4.5 (WCAG 2.1, 1.4.3) for each colour of text on each ground, marks included."""
    page = shown(made_up(), scheme=scheme)
    low = page.page.evaluate(
        """() => {
            const style = getComputedStyle(document.documentElement);
            const light = name => {
                const hex = style.getPropertyValue(`--${name}`).trim();
                const [r, g, b] = [1, 3, 5].map(at => parseInt(hex.slice(at, at + 2), 16) / 255)
                    .map(c => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
                return 0.2126 * r + 0.7152 * g + 0.0722 * b;
            };
            const inks = ["ink", "soft", "t-keyword", "t-op", "t-type", "t-symbol", "t-literal", "t-string", "t-comment", "t-attribute"];
            const grounds = ["paper", "kept", "touched", "hook-tint", "added-tint", "removed-tint", "hover"];
            const others = {
                desk: ["soft"], "hook-tint": ["hook"], "added-tint": ["added"], "removed-tint": ["removed"], "hit-tint": ["ink"],
                heat: ["ink", "soft"], paper: ["focus", "alarm", "hook", "faint", "python", "ir", "adjoint", "c"], kept: ["faint"],
                touched: ["faint"],
            };
            const pairs = [...inks.flatMap(ink => grounds.map(ground => [ink, ground])),
                ...Object.entries(others).flatMap(([ground, each]) => each.map(ink => [ink, ground]))];
            const contrast = ([ink, ground]) => {
                const [one, other] = [light(ink), light(ground)].sort((a, b) => b - a);
                return (one + 0.05) / (other + 0.05);
            };
            return pairs.filter(pair => !(contrast(pair) >= 4.5)).map(pair => `${pair.join(" on ")}: ${contrast(pair).toFixed(2)}`);
        }"""
    )
    assert not low
