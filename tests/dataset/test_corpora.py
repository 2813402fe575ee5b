"""Datasets of texts, annotated images and small pictures in their own formats: rows as MindSpore 2.10.0 gives them for the same files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import adjoint as ms
import adjoint.dataset as ds
from dataset.small import rows, write_idx

RANDOM = np.random.default_rng(0)
Write = Callable[[str, Any], None]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a file of text, bytes, JSON or an image, at a path inside of the test's directory."""
    def written(name: str, content: Any) -> None:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, np.ndarray):
            Image.fromarray(content).save(path)
        elif isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return written


def test_tables_of_texts(tmp_path: Path, write: Write) -> None:
    write("train.csv", '"3","title","text, ""q"""\n4,t2,plain\n')
    write("test.csv", '1,a,\n')
    train: list[Any] = [("3", "title", 'text, "q"'), ("4", "t2", "plain")]
    for kind, columns in ((ds.AGNewsDataset, "index title description"), (ds.DBpediaDataset, "class title content"),
                          (ds.SogouNewsDataset, "index title content"), (ds.AmazonReviewDataset, "label title content")):
        assert rows(kind(str(tmp_path), "train", shuffle=False)) == train
        assert rows(kind(str(tmp_path), shuffle=False)) == [*train, ("1", "a", "")]
        assert kind(str(tmp_path), "test").get_col_names() == columns.split()
    for kind in (ds.YelpReviewDataset, ds.YahooAnswersDataset):
        with pytest.raises(RuntimeError, match=r"train.csv at line 1. Expected \d values for the columns (label|class), t.*, but got 3"):
            rows(kind(str(tmp_path)))
    with pytest.raises(ValueError, match="Input usage is not within the valid set of"):
        ds.YelpReviewDataset(str(tmp_path), "valid")
    (tmp_path / "test.csv").unlink()
    with pytest.raises(RuntimeError, match=r"test.csv does not exist"):
        ds.YelpReviewDataset(str(tmp_path))


def test_lines_and_tagged_sentences(tmp_path: Path, write: Write) -> None:
    for part in ("train", "test", "valid"):
        write(f"wiki.{part}.tokens", f" \n = {part} = \n\nend\n")
        write(f"ptb.{part}.txt", f"{part} <unk>\n")
    assert rows(ds.WikiTextDataset(str(tmp_path), "valid", shuffle=False)) == [" ", " = valid = ", "end"]
    assert sorted(rows(ds.PennTreebankDataset(str(tmp_path)))) == ["test <unk>", "train <unk>", "valid <unk>"]
    write("enwik9", "<a>\n\n text\n")
    assert rows(ds.EnWik9Dataset(str(tmp_path), shuffle=False)) == ["<a>", "", " text"]
    write("en-ud-tag.v2.train.txt", "Al\tPROPN\tNNP\n-\tPUNCT\t:\n\n\nFrom\tADP\tIN")
    assert rows(ds.UDPOSDataset(str(tmp_path), "train", shuffle=False)) == [
        (["Al", "-"], ["PROPN", "PUNCT"], ["NNP", ":"]), (["From"], ["ADP"], ["IN"])]
    write("train.txt", "Confidence NN B-NP\nin IN B-PP\n\n. . O\n\n")
    assert rows(ds.CoNLL2000Dataset(str(tmp_path), "train", shuffle=False))[1] == (["."], ["."], ["O"])
    write("test.txt", "one two\n")
    with pytest.raises(RuntimeError, match=r"test.txt is damaged: line 1 should have 3 columns"):
        rows(ds.CoNLL2000Dataset(str(tmp_path), "test"))
    write("train.tsv", 'sentence\tlabel\na "quote" \t0\n')
    write("test.tsv", "index\tsentence\n0\tuneasy\n")
    assert rows(ds.SST2Dataset(str(tmp_path))) == [('a "quote" ', "0")] and rows(ds.SST2Dataset(str(tmp_path), "test")) == ["uneasy"]


def test_reviews_in_a_file_each(tmp_path: Path, write: Write) -> None:
    for part in ("train", "test"):
        write(f"{part}/pos/0_9.txt", f"{part} good é")
        write(f"{part}/neg/1_1.txt", f"{part} bad")
    reviews = ds.IMDBDataset(str(tmp_path), "test", shuffle=False)
    assert rows(reviews) == [("test good é", 1), ("test bad", 0)] and reviews.output_types()[1] == np.int32
    assert (len(ds.IMDBDataset(str(tmp_path))), reviews.num_classes()) == (4, 2)
    assert rows(ds.IMDBDataset(str(tmp_path), sampler=ds.PKSampler(1)))[0][1] == 0


def test_translations(tmp_path: Path, write: Write) -> None:
    for language in ("de", "en"):
        for name in ("training/train", "validation/val", "mmt16_task1_test/test"):
            write(f"{name}.{language}", f"{name} {language}\nsecond\n")
        for place, year in (("texts/de/en/de-en", 16), ("DeEnItNlRo/DeEnItNlRo/DeEnItNlRo-DeEnItNlRo", 17)):
            write(f"{place}/train.tags.de-en.{language}", f"<url>u</url>\nfirst {language}\n second \n")
            for talks in ("tst2013", "tst2014", "dev2010", "tst2010"):
                write(f"{place}/IWSLT{year}.TED.{talks}.de-en.{language}.xml",
                      f'<?xml version="1.0"?>\n<mteval><doc><title>T</title><seg id="1"> {talks} {language} &amp; </seg></doc></mteval>')
    descriptions = ds.Multi30kDataset(str(tmp_path), "train", ["de", "en"], shuffle=False)
    assert rows(descriptions) == [("training/train de", "training/train en"), ("second", "second")]
    assert len(ds.Multi30kDataset(str(tmp_path))) == 6
    train = [("first de", "first en"), ("second", "second")]
    assert rows(ds.IWSLT2016Dataset(str(tmp_path), shuffle=False)) == [*train, ("tst2013 de &", "tst2013 en &"), ("tst2014 de &",
                                                                                                                  "tst2014 en &")]
    assert rows(ds.IWSLT2016Dataset(str(tmp_path), "valid", valid_set="dev2010")) == [("dev2010 de &", "dev2010 en &")]
    assert rows(ds.IWSLT2017Dataset(str(tmp_path), "test")) == [("tst2010 de &", "tst2010 en &")]
    write("training/train.en", "one line\n")
    with pytest.raises(RuntimeError, match=r"train.en has 1 sentences, but .*train.de has 2"):
        rows(ds.Multi30kDataset(str(tmp_path), "train"))
    with pytest.raises(ValueError, match="language_pair"):
        ds.IWSLT2017Dataset(str(tmp_path), language_pair=("de", "fr"))


def test_questions(tmp_path: Path, write: Write) -> None:
    answered = {"question": "what?", "answers": [{"answer_start": 4, "text": "context"}, {"answer_start": 0, "text": "the"}]}
    open_ = {"question": "none?", "answers": [], "is_impossible": True}
    write("train-v2.0.json", {"data": [{"paragraphs": [{"context": "the context", "qas": [answered, open_]}]}]})
    squad = ds.SQuADDataset(str(tmp_path), "train", shuffle=False)
    assert rows(squad) == [("the context", "what?", ["context", "the"], [4, 0]), ("the context", "none?", [""], [2**32 - 1])]
    assert squad.output_types()[3] == np.uint32
    with pytest.raises(RuntimeError, match=r"expected dev-v1\.1\.json or dev-v2\.0\.json"):
        ds.SQuADDataset(str(tmp_path))
    spans = {"span1_index": 5, "span1_text": "床", "span2_index": 37, "span2_text": "它"}
    write("clue.json", json.dumps({"target": spans, "idx": 261, "label": "false", "text": "t", "id": 3, "abst": "a", "keyword": ["k", "l"]})
          + "\n\n")
    for task, usage, expected in (("WSC", "train", (261, "false", 5, "床", 37, "它", "t")), ("WSC", "test", (261, 5, "床", 37, "它", "t")),
                                  ("CSL", "eval", ("a", 3, ["k", "l"], "false"))):
        assert rows(ds.CLUEDataset(str(tmp_path / "clue*.json"), task, usage)) == [expected]
    with pytest.raises(RuntimeError, match=r"failed to find key: sentence1 in .*clue.json, line 1"):
        rows(ds.CLUEDataset(str(tmp_path / "clue.json")))


def test_voc(tmp_path: Path, write: Write) -> None:
    for number, name in enumerate(("a", "b")):
        write(f"JPEGImages/{name}.jpg", RANDOM.integers(0, 256, (4, 5, 3), dtype=np.uint8))
        write(f"SegmentationClass/{name}.png", np.full((4, 5), number, np.uint8))
        other = "<object><name>ant</name><bndbox><xmin>2</xmin><ymin>1</ymin><xmax>4</xmax><ymax>4</ymax></bndbox></object>" * number
        write(f"Annotations/{name}.xml", "<annotation><object><name>cat</name><difficult>1</difficult><truncated>0</truncated><bndbox>"
              f"<xmin>1</xmin><ymin>1</ymin><xmax>4</xmax><ymax>3</ymax></bndbox></object>{other}</annotation>")
    write("ImageSets/Main/train.txt", "b\na\n")
    write("ImageSets/Segmentation/train.txt", "b\n")
    found = ds.VOCDataset(str(tmp_path), "Detection", decode=True, shuffle=False, extra_metadata=True)
    assert [row[1:] for row in rows(found)] == [([[1, 1, 3, 2], [2, 1, 2, 3]], [[1], [0]], [[1], [0]], [[0], [0]]),
                                                ([[1, 1, 3, 2]], [[1]], [[1]], [[0]])]
    assert found.output_types()[:5] == [np.uint8, np.float32, np.uint32, np.uint32, np.uint32]
    assert found.get_class_indexing() == {"ant": 0, "cat": 1}
    assert [row[-1] for row in rows(found.rename("_meta-filename", "name"))] == ["b", "a"], "left out unless it is renamed"
    assert [row[2] for row in rows(ds.VOCDataset(str(tmp_path), "Detection", class_indexing={"ant": 4}))] == [[[4]]]
    (masked,) = rows(ds.VOCDataset(str(tmp_path), decode=True))
    assert np.shape(masked[0]) == (4, 5, 3) and (np.array(masked[1]) == 1).all()
    write("Annotations/a.xml", "<annotation><object><name>cat</name><bndbox/></object></annotation>")
    with pytest.raises(RuntimeError, match=r"failed to parse xml file: .*a.xml"):
        ds.VOCDataset(str(tmp_path), "Detection")


def test_coco(tmp_path: Path, write: Write) -> None:
    for number in (1, 2, 3):
        write(f"images/{number}.png", RANDOM.integers(0, 256, (4, 5, 3), dtype=np.uint8))
    images = [{"id": number, "file_name": f"{number}.png"} for number in (3, 1, 2)]
    categories = [{"id": 2, "name": "cat", "isthing": 1}, {"id": 5, "name": "sky", "isthing": 0}]
    cat = {"id": 5, "category_id": 2, "iscrowd": 0, "bbox": [1, 1, 2, 2], "area": 3, "keypoints": [1, 2, 1], "num_keypoints": 1}
    sky = {"id": 6, "category_id": 5, "iscrowd": 1, "bbox": [0, 1, 3.5, 2], "area": 9, "keypoints": [3, 4, 0], "num_keypoints": 0}
    polygons = {"segmentation": [[1, 1, 2], [1, 2, 3, 4]]}

    def of(task: str, annotations: list[Any]) -> ds.CocoDataset:
        write("annotations.json", {"images": images, "categories": categories, "annotations": annotations})
        return ds.CocoDataset(str(tmp_path / "images"), str(tmp_path / "annotations.json"), task, shuffle=False)

    both = [{**cat, "image_id": 1, **polygons}, {**sky, "image_id": 1, "segmentation": {"counts": [20, 3]}},
            {**cat, "image_id": 3, **polygons}]
    detected = of("Detection", both)
    assert [row[1:] for row in rows(detected)] == [([[1, 1, 2, 2]], [[2]], [[0]]), ([[1, 1, 2, 2], [0, 1, 3.5, 2]], [[2], [5]], [[0], [1]])]
    assert detected.get_class_indexing() == {"cat": [2], "sky": [5]} and detected.output_types()[1:] == [np.float32, np.uint32, np.uint32]
    assert rows(of("Stuff", both))[1][1:] == ([[1, 1, 2, -1], [1, 2, 3, 4], [20, 3, -1, -1]], [[0], [1]])
    assert rows(of("Keypoint", both))[1][1:] == ([[1, 2, 1], [3, 4, 0]], [[1], [0]])
    panoptic = of("Panoptic", [{"image_id": 2, "segments_info": [cat, sky]}])
    assert [row[1:] for row in rows(panoptic)] == [([[1, 1, 2, 2], [0, 1, 3.5, 2]], [[2], [5]], [[0], [1]], [[3], [9]])]
    assert panoptic.get_class_indexing() == {"cat": [2, 1], "sky": [5, 0]}
    captions = of("Captioning", [{"image_id": 1, "caption": "one"}, {"image_id": 1, "caption": "uno"}])
    assert rows(captions)[0][1] == [["one"], ["uno"]]
    with pytest.raises(NotImplementedError, match="Only 'Detection' and 'Panoptic' support"):
        captions.get_class_indexing()
    for wrong, message in (([], "no image with an annotation"), ([{**cat, "image_id": 7}], "'image_id': 7 is missing"),
                                 ([{**cat, "image_id": 1, "category_id": 9}], "'category_id': 9 is missing")):
        with pytest.raises(RuntimeError, match=message):
            of("Detection", wrong)


def test_manifests(tmp_path: Path, write: Write) -> None:
    for number in (1, 2, 3):
        write(f"{number}.png", np.full((2, 2, 3), number, np.uint8))
    entries = [("1.png", "TRAIN", ["cat"]), ("2.png", "train", ["dog", "cat"]), ("3.png", "eval", ["ant"])]
    lines = [{"source": str(tmp_path / name), "usage": usage, "annotation": [{"name": kind} for kind in kinds]}
             for name, usage, kinds in entries]
    write("m.manifest", "\n".join(map(json.dumps, lines)))
    manifest = ds.ManifestDataset(str(tmp_path / "m.manifest"), decode=True, shuffle=False)
    assert [(image[0][0][0], label) for image, label in rows(manifest)] == [(1, 0), (2, [1, 0])]
    assert manifest.get_class_indexing() == {"cat": 0, "dog": 1} and manifest.num_classes() == 2
    assert [row[1] for row in rows(ds.ManifestDataset(str(tmp_path / "m.manifest"), class_indexing={"dog": 7}))] == [7]
    with pytest.raises(RuntimeError, match="found no image for 'inference'"):
        ds.ManifestDataset(str(tmp_path / "m.manifest"), "inference")


def test_small_pictures(tmp_path: Path, write: Write) -> None:
    images = RANDOM.integers(0, 256, (4, 28, 28), np.uint8)
    for part in ("train", "test"):
        write_idx(tmp_path / f"emnist-letters-{part}-images-idx3-ubyte", images)
        write_idx(tmp_path / f"emnist-letters-{part}-labels-idx1-ubyte", np.arange(1, 5))
        write_idx(tmp_path / f"qmnist-{part}-images-idx3-ubyte", images)
        write(f"qmnist-{part}-labels-idx2-int", np.array([3074, 4, 8, *range(32)], ">i4").tobytes())
    letters = ds.EMnistDataset(str(tmp_path), "letters", "train", shuffle=False)
    assert (np.array(rows(letters)[1][0])[..., 0] == images[1]).all() and [row[1] for row in rows(letters)] == [1, 2, 3, 4]
    assert len(ds.EMnistDataset(str(tmp_path), "letters")) == 8 and letters.output_types() == [np.uint8, np.uint32]
    assert [row[1] for row in rows(ds.QMnistDataset(str(tmp_path), "train", shuffle=False))] == [0, 8, 16, 24]
    assert rows(ds.QMnistDataset(str(tmp_path), "test10k", False, shuffle=False))[1][1] == list(range(8, 16))
    assert len(ds.QMnistDataset(str(tmp_path), "test50k")) == 0 and len(ds.QMnistDataset(str(tmp_path), sampler=ds.PKSampler(1))) == 4
    for name in ("usps", "usps.t"):
        write(name, "10 " + " ".join(f"{place + 1}:{place / 127.5 - 1:.6f}" for place in range(256)) + "\n")
    (digit,) = rows(ds.USPSDataset(str(tmp_path), "test"))
    assert digit[1] == 9 and np.abs(np.ravel(digit[0]) - np.arange(256)).max() <= 1
    write("semeion.data", " ".join(["1.0000", "0.0000"] * 128 + ["0"] * 3 + ["1"] + ["0"] * 6) + " \n")
    assert rows(ds.SemeionDataset(str(tmp_path))) == [([[1, 0] * 8] * 16, 3)]
    pixels = RANDOM.integers(0, 256, (2, 3, 96, 96), np.uint8)
    for name, content in (("train_X", pixels.tobytes()), ("train_y", bytes([1, 10])), ("unlabeled_X", pixels[:1].tobytes())):
        write(f"{name}.bin", content)
    stl = rows(ds.STL10Dataset(str(tmp_path), "train+unlabeled", shuffle=False))
    assert [row[1] for row in stl] == [0, 9, -1] and (np.array(stl[1][0]) == pixels[1].transpose(2, 1, 0)).all()
    scipy = pytest.importorskip("scipy.io")
    matrix = pixels[0, :, :64, :64].reshape(32, 32, 3, 4)
    scipy.savemat(tmp_path / "train_32x32.mat", {"X": matrix, "y": np.array([[10], [3], [1], [9]], np.uint8)})
    numbers = ds.SVHNDataset(str(tmp_path), "train", shuffle=False)
    assert [row[1] for row in rows(numbers)] == [0, 3, 1, 9] and numbers.output_types() == [np.uint8, np.uint32]
    assert (np.array(rows(numbers)[2][0]) == matrix[..., 2]).all()


def _pixel(image: Any) -> int:
    """The first number of a decoded image: those of these tests hold one number each."""
    return image[0][0][0]


def test_images_in_folders_and_lists(tmp_path: Path, write: Write) -> None:
    numbers: dict[str, int] = {}
    for number, name in enumerate((
        "caltech/001.ak47/1", "caltech/002.flag/1", "omniglot/images_background/A/one/1", "omniglot/images_background/A/two/1",
        "rendered/test/negative/1", "rendered/valid/positive/1", "lsun/bedroom_train/1", "lsun/tower_train/1", "lsun/bedroom_val/1",
        "lsun/test/1", "food/images/pie/1", "food/images/apple/2", "sun/a/abbey/1", "sun/b/bar/outdoor/1", "places/data_256_standard/a/1",
        "places/val_large/2", "flickr/x", "flickr/y", "sbu/sbu_images/m_27_1_a", "div/DIV2K_valid_HR/0801", "div/DIV2K_valid_LR_x8/0801x8",
        "div/DIV2K_valid_LR_unknown/X2/0801x2",
    )):
        numbers[name] = number
        write(f"{name}.png" if name.startswith("div") else f"{name}.bmp", np.full((2, 2, 3), number, np.uint8))
        if name.startswith(("food", "flickr", "sbu")):
            (tmp_path / f"{name}.bmp").rename(tmp_path / f"{name}.jpg")  # the bytes decide how it is decoded
    write("food/meta/train.txt", "pie/1\n")
    write("food/meta/test.txt", "apple/2\n")
    write("sun/ClassName.txt", "/a/abbey\n/b/bar/outdoor\n")
    write("places/places365_train_standard.txt", "/a/1.bmp 7\n")
    write("places/places365_val.txt", "2.bmp 3\n")
    write("flickr.txt", "".join(f"{name}.jpg#{number}\t{name} {number}\n" for name in "yx" for number in range(2)))
    write("sbu/SBU_captioned_photo_dataset_urls.txt", "http://a.b/27/1_a.jpg\nhttp://a.b/27/missing.jpg\n")
    write("sbu/SBU_captioned_photo_dataset_captions.txt", "one \ntwo\n")

    def of(kind: Any, name: str, *arguments: Any, **named: Any) -> list[Any]:
        dataset = kind(str(tmp_path / name), *arguments, decode=True, shuffle=False, **named)
        return [(_pixel(image), label) for image, label in rows(dataset)]

    assert of(ds.Caltech256Dataset, "caltech") == [(0, 0), (1, 1)] and of(ds.OmniglotDataset, "omniglot") == [(2, 0), (3, 1)]
    assert of(ds.RenderedSST2Dataset, "rendered") == [(4, 0), (5, 1)] and of(ds.RenderedSST2Dataset, "rendered", "val") == [(5, 1)]
    assert of(ds.LSUNDataset, "lsun") == [(6, 0), (8, 0), (7, 1)] and of(ds.LSUNDataset, "lsun", "test") == [(9, 0)]
    assert of(ds.LSUNDataset, "lsun", "train", ["tower"]) == [(7, 0)]
    assert of(ds.Food101Dataset, "food") == [(10, "pie"), (11, "apple")] and of(ds.SUN397Dataset, "sun") == [(12, 0), (13, 1)]
    assert of(ds.Places365Dataset, "places") == [(14, 7)] and of(ds.Places365Dataset, "places", "val", False) == [(15, 3)]
    described = ds.FlickrDataset(str(tmp_path / "flickr"), str(tmp_path / "flickr.txt"), decode=True, shuffle=False)
    assert [(_pixel(image), texts) for image, texts in rows(described)] == [(16, ["x 0", "x 1"]), (17, ["y 0", "y 1"])]
    assert of(ds.SBUDataset, "sbu") == [(18, "one")]
    for arguments, low in ((("valid", "bicubic", 8), 20), (("valid", "unknown"), 21)):
        assert [tuple(map(_pixel, row)) for row in rows(ds.DIV2KDataset(str(tmp_path / "div"), *arguments, decode=True))] == [(19, low)]
    labels = ds.Caltech256Dataset(str(tmp_path / "caltech"), sampler=ds.PKSampler(1))
    assert labels.get_class_indexing() == {"001.ak47": 0, "002.flag": 1} and labels.output_types() == [np.uint8, np.int32]
    wrong: list[tuple[Any, type[Exception], str]] = [
        (lambda: ds.Caltech256Dataset(str(tmp_path / "food" / "meta")), RuntimeError, "where Caltech256Dataset expects them"),
        (lambda: ds.DIV2KDataset(str(tmp_path / "div"), "valid", "mild"), ValueError, "mild downgrade requires scale equal to 4"),
        (lambda: ds.Places365Dataset(str(tmp_path / "places"), "train-challenge"), RuntimeError, "places365_train_challenge.txt does not"),
        (lambda: ds.SUN397Dataset(str(tmp_path / "food")), RuntimeError, "ClassName.txt does not exist"),
    ]
    for call, error, message in wrong:
        with pytest.raises(error, match=message):
            call()


def test_schemas(tmp_path: Path, write: Write) -> None:
    schema = ds.Schema()
    schema.add_column("col1", ms.int8, shape=[2])
    schema.add_column("col2", "string")
    schema.parse_columns({"col3": {"type": "bool"}})
    assert json.loads(schema.to_json()) == json.loads(str(schema)) == {"columns": [
        {"name": "col1", "rank": 1, "shape": [2], "type": "int8"}, {"name": "col2", "rank": 1, "type": "string"},
        {"name": "col3", "rank": 0, "shape": [], "type": "bool"}]}
    write("schema.json", {"datasetType": "TF", "numRows": 3, "columns": {"a": {"type": "int64", "rank": 2}}})
    assert json.loads(ds.Schema(str(tmp_path / "schema.json")).to_json()) == {
        "columns": [{"name": "a", "rank": 0, "shape": [], "type": "int64"}], "datasetType": "TF", "numRows": 3}
    wrong: list[tuple[Any, type[Exception]]] = [
        (lambda: schema.add_column("x", "foo"), TypeError), (lambda: schema.add_column("x", "int8", 3), TypeError),  # type: ignore[arg-type]
        (lambda: schema.parse_columns(3), RuntimeError), (lambda: schema.parse_columns([{"type": "int8"}]), RuntimeError),
        (lambda: schema.from_json({}), RuntimeError), (lambda: schema.from_json({"columns": {}, "x": 1}), RuntimeError),
        (lambda: schema.from_json({"columns": {}, "numRows": 0}), RuntimeError), (lambda: ds.Schema("nowhere"), ValueError),
    ]
    for call, kind in wrong:
        with pytest.raises(kind):
            call()


def test_random_rows() -> None:
    ds.config.set_seed(0)
    images = ds.FakeImageDataset(20, (4, 5, 3), 3, base_seed=7, shuffle=False)
    assert images.output_shapes() == [[4, 5, 3], []] and images.output_types() == [np.uint8, np.uint32] and images.num_classes() == 3
    assert rows(images) == rows(ds.FakeImageDataset(20, (4, 5, 3), 3, base_seed=7, shuffle=False))
    assert rows(images)[0] != rows(ds.FakeImageDataset(20, (4, 5, 3), 3, shuffle=False))[0]
    assert {row[1] for row in rows(images)} == {0, 1, 2}
    schema = ds.Schema()
    for name, dtype, shape in (("a", "uint8", [50]), ("b", ms.bool_, [20]), ("c", "float32", []), ("d", "int64", [3, -1])):
        schema.add_column(name, dtype, shape)
    found = ds.RandomDataset(6, schema, shuffle=False)
    assert found.output_types() == [np.uint8, np.bool_, np.float32, np.int64] and rows(found) == rows(found) and len(found) == 6
    first, other = rows(found)[:2]
    assert max(first[0]) > 200 and set(first[1]) == {True, False} and 0 <= first[2] < 1 and first != other
    assert ds.RandomDataset(2, schema, ["c", "a"]).get_col_names() == ["c", "a"] and len(ds.RandomDataset(5).output_types()) >= 1
    assert ds.RandomDataset(2, columns_list=["p", "q"]).get_col_names() == ["p", "q"]
    schema.add_column("words", "string")
    for columns, message in ((["z"], "column 'z' is not in the schema"), (["words"], "but column 'words' is of strings")):
        with pytest.raises(RuntimeError, match=message):
            ds.RandomDataset(2, schema, columns)
    with pytest.raises(ValueError, match="image_size should be a list or tuple of length 3"):
        ds.FakeImageDataset(1, (2, 3))
