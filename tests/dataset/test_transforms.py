"""Transforms of numbers, images and strings: values, dtypes and exception types as recorded from MindSpore 2.10."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint.dataset import text, transforms, vision
from adjoint.dataset.vision import Border, Inter

ORACLE = Path(__file__).parents[1] / "oracle"
RECORDER = runpy.run_path(str(ORACLE / "record_transforms.py"))
ANSWERS: dict[str, Any] = json.loads((ORACLE / "transforms.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("expression", ANSWERS)
def test_mindspores_answer(expression: str) -> None:
    names = {"ms": ms, "T": transforms, "V": vision, "text": text, "Inter": Inter, "Border": Border, **RECORDER["arrays"]()}
    got = RECORDER["answered"](expression, names)
    assert json.loads(json.dumps(got)) == ANSWERS[expression]


def test_every_expression_was_asked() -> None:
    assert RECORDER["expressions"]() == list(ANSWERS)


def test_pieces_of_words_with_their_places() -> None:
    """As MindSpore 2.10.0 answers: offsets count bytes, those of WordpieceTokenizer in each word, those of BertTokenizer in the text."""
    vocab = text.Vocab.from_list(["favor", "##ite", "my", "dur", "##ing", "##é", "book"])
    def answers(tokenizer: Any, given: Any) -> list[Any]:
        return [array.tolist() for array in tokenizer(given)]

    for unknown in ("[UNK]", ""):
        pieces = text.WordpieceTokenizer(vocab, unknown_token=unknown, with_offsets=True)
        assert answers(pieces, ["favorite", "during", "xx", "myé"]) == [
            ["favor", "##ite", "dur", "##ing", unknown or "xx", "my", "##é"], [0, 5, 0, 3, 0, 0, 2], [5, 8, 3, 6, 2, 2, 4]]
        assert answers(pieces, np.array("")) == [[""], [0], [0]]
        assert [array.dtype for array in pieces(["my"])][1:] == [np.uint32, np.uint32]
        assert text.WordpieceTokenizer(vocab, unknown_token=unknown)(["my", "favorite"]).tolist() == ["my", "favor", "##ite"]
    whole = text.BertTokenizer(vocab, with_offsets=True)
    assert answers(whole, "my favorite book") == [["my", "favor", "##ite", "book"], [0, 3, 8, 12], [2, 8, 11, 16]]
    assert answers(whole, "é my") == [["[UNK]", "my"], [0, 3], [2, 5]]
    with pytest.raises(TypeError, match="with_offsets"):
        text.WordpieceTokenizer(vocab, with_offsets=1)  # type: ignore[arg-type]


def test_mixing_with_the_next_image_or_the_result_before() -> None:
    images, labels = np.arange(24.0).reshape(2, 2, 2, 3), np.eye(2)
    mixed, shares = vision.MixUp(2, 0.5)(images, labels)
    share = shares.diagonal()
    np.testing.assert_allclose(mixed, share[:, None, None, None] * images + (1 - share)[:, None, None, None] * images[[1, 0]])
    before = vision.MixUp(2, 0.5, is_single=False)
    first = before(images, labels)
    assert (first[0] == images).all() and (first[1] == labels).all()
    second, shares = before(np.zeros_like(images), np.zeros_like(labels))
    np.testing.assert_allclose(second, shares.diagonal()[:, None, None, None] * images)
    assert [x.shape for x in before(images[:1], labels[:1])] == [(1, 2, 2, 3), (1, 2)], "a smaller batch at the end"
    assert vision.MixUp(2, 0.5, False)(images[0], labels[:1])[0].shape == images.shape
    with pytest.raises(TypeError, match="is_single"):
        vision.MixUp(2, 0.5, is_single=1)  # type: ignore[arg-type]
