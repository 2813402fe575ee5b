"""File datasets: CIFAR, folders of images, CelebA, lines and tables, with the errors for missing or damaged files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import adjoint.dataset as ds
from adjoint.dataset import text
from dataset.small import rows, values

RANDOM = np.random.default_rng(0)


@pytest.fixture
def cifar10(tmp_path: Path) -> Path:
    for name in (*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"):
        RANDOM.integers(0, 10, (2, 3073)).astype(np.uint8).tofile(tmp_path / f"{name}.bin")
    return tmp_path


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    for name, number in (("b", 2), ("a", 1), ("empty", 0)):
        (tmp_path / name).mkdir()
        for index in range(number):
            Image.fromarray(RANDOM.integers(0, 256, (4, 5, 3), dtype=np.uint8)).save(tmp_path / name / f"{index}.png")
    (tmp_path / "a" / "notes.txt").write_text("no image")
    Image.fromarray(np.zeros((4, 5), np.uint8)).save(tmp_path / "b" / "grey.PNG")
    return tmp_path


@pytest.fixture
def faces(tmp_path: Path) -> Path:
    for index in range(3):
        Image.fromarray(RANDOM.integers(0, 256, (4, 5, 3), dtype=np.uint8)).save(tmp_path / f"{index}.jpg")
    (tmp_path / "list_attr_celeba.txt").write_text("3\nSmiling Young\n0.jpg  1 -1\n1.jpg -1 -1\n2.jpg  1  1\n")
    (tmp_path / "list_eval_partition.txt").write_text("0.jpg 0\n1.jpg 1\n2.jpg 0\n")
    return tmp_path


def test_cifar(cifar10: Path, tmp_path: Path) -> None:
    train = ds.Cifar10Dataset(str(cifar10), "train", shuffle=False)
    assert train.output_types() == [np.uint8, np.uint32] and train.output_shapes() == [[32, 32, 3], []] and train.num_classes() == 10
    assert (len(train), len(ds.Cifar10Dataset(str(cifar10), "test")), len(ds.Cifar10Dataset(str(cifar10)))) == (10, 2, 12)
    record = np.fromfile(cifar10 / "data_batch_1.bin", np.uint8)[:3073]
    image, label = next(train.create_tuple_iterator(output_numpy=True))
    assert label == record[0] and (image == record[1:].reshape(3, 32, 32).transpose(1, 2, 0)).all()
    fine = RANDOM.integers(0, 100, (3, 3074)).astype(np.uint8)
    fine.tofile(tmp_path / "train.bin")
    hundred = ds.Cifar100Dataset(str(tmp_path), "train", shuffle=False)
    assert len(ds.Cifar100Dataset(str(tmp_path))) == len(ds.Cifar100Dataset(str(tmp_path), "all")) == 3, "without files for testing"
    assert hundred.get_col_names() == ["image", "coarse_label", "fine_label"] and hundred.num_classes() == 100
    assert rows(hundred.project(["coarse_label", "fine_label"])) == [tuple(labels) for labels in fine[:, :2].tolist()]


def test_a_folder_for_each_class(folders: Path) -> None:
    coded = ds.ImageFolderDataset(str(folders), shuffle=False)
    assert coded.get_col_names() == ["image", "label"] and coded.get_class_indexing() == {"a": 0, "b": 1, "empty": 2}
    assert coded.num_classes() == 3 and values(coded, "label") == [0, 1, 1, 1] and coded.output_types() == [np.uint8, np.int32]
    assert values(coded, "image")[0] == list((folders / "a" / "0.png").read_bytes())
    pixels = ds.ImageFolderDataset(str(folders), decode=True, shuffle=False)
    assert all(image.shape == (4, 5, 3) for image, _ in pixels.create_tuple_iterator(output_numpy=True))
    assert rows(pixels)[0][0] == np.array(Image.open(folders / "a" / "0.png")).tolist()
    assert values(ds.ImageFolderDataset(str(folders), class_indexing={"b": 7}), "label") == [7, 7, 7]
    assert values(ds.ImageFolderDataset(str(folders), sampler=ds.PKSampler(1)), "label") == [0, 1]
    assert len(ds.ImageFolderDataset(str(folders), extensions=[".PNG"])) == 1
    backwards = ds.ImageFolderDataset(str(folders), shuffle=False, decrypt=lambda path: Path(path).read_bytes()[::-1])
    assert values(backwards, "image")[0] == list((folders / "a" / "0.png").read_bytes())[::-1]


def test_celeba(faces: Path) -> None:
    everyone = ds.CelebADataset(str(faces), shuffle=False)
    assert everyone.get_col_names() == ["image", "attr"] and everyone.output_types() == [np.uint8, np.uint32]
    assert values(everyone, "attr") == [[1, 0], [0, 0], [1, 1]]
    assert values(ds.CelebADataset(str(faces), shuffle=False, usage="train"), "attr") == [[1, 0], [1, 1]]
    assert ds.CelebADataset(str(faces), decode=True, usage="valid").output_shapes() == [[4, 5, 3], [2]]


def test_lines_of_text(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("one\n\n  two \ndreißig".encode())
    (tmp_path / "b.txt").write_bytes(b"four\nfive\n")
    (tmp_path / "none.txt").touch()
    both = [str(tmp_path / "a.txt"), str(tmp_path / "b.txt")]
    assert rows(ds.TextFileDataset(both, shuffle=False)) == ["one", "  two ", "dreißig", "four", "five"]
    assert sorted(rows(ds.TextFileDataset(str(tmp_path / "*.txt")))) == ["  two ", "dreißig", "five", "four", "one"]
    assert rows(ds.TextFileDataset(both, shuffle=False, num_samples=2)) == ["one", "  two "]
    assert [rows(ds.TextFileDataset(both, shuffle=False, num_shards=2, shard_id=i)) for i in (0, 1)] == [
        ["one", "dreißig", "five"], ["  two ", "four", "one"]]
    ds.config.set_seed(0)
    orders = {tuple(rows(ds.TextFileDataset(both, shuffle=ds.Shuffle.FILES).repeat(8)))[5 * i : 5 * i + 5] for i in range(8)}
    assert orders == {("one", "  two ", "dreißig", "four", "five"), ("four", "five", "one", "  two ", "dreißig")}


def test_tables(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('a,b,c\n1,2.5,x\n\n3,4.5,"y,""z""\nnew line"\n')
    table = ds.CSVDataset(str(path), column_defaults=[0, 1.0], shuffle=False)
    assert table.get_col_names() == ["a", "b", "c"] and table.output_types() == [np.int32, np.float32, np.dtype("<U")]
    assert rows(table) == [(1, 2.5, "x"), (3, 4.5, 'y,"z"\nnew line')]
    assert rows(ds.CSVDataset(str(path), column_names=["p", "q", "r"], shuffle=False))[0] == ("a", "b", "c")
    path.write_text("a;b\n1;2\n")
    assert rows(ds.CSVDataset(str(path), ";")) == [("1", "2")]


def test_vocabularies_of_files_and_datasets(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("one 1\ntwo 2\nthree 3\n")
    assert text.Vocab.from_file(str(path), " ", 2, ["<pad>"]).vocab() == {"<pad>": 0, "one": 1, "two": 2}
    words = ds.NumpySlicesDataset(["b", "a", "b", "c"], ["t"])
    assert text.Vocab.from_dataset(words, "t").vocab() == {"b": 0, "a": 1, "c": 2}
    assert text.Vocab.from_dataset(words, ["t"], (1, None), 2, ["<p>"], False).vocab() == {"b": 0, "a": 1, "<p>": 2}
    looked_up = words.map(text.Lookup(text.Vocab.from_dataset(words)), "t")
    assert sorted(rows(looked_up)) == [0, 0, 1, 2]
    path.write_text("one\none\n")
    with pytest.raises(RuntimeError, match=r"words.txt contains duplicate word: 'one'"):
        text.Vocab.from_file(str(path))


def test_vectors_of_words(tmp_path: Path) -> None:
    """As MindSpore 2.10.0 answers for the same files."""
    def written(name: str, content: str) -> str:
        (tmp_path / name).write_text(content)
        return str(tmp_path / name)

    plain = text.Vectors.from_file(written("words.txt", "3 2\nok 1.5 2\nHi 4 5 \nok 7 8\n"))
    assert text.ToVectors(plain)(np.array(["ok", "Hi", "hi"])).tolist() == [[1.5, 2], [4, 5], [0, 0]]
    assert text.ToVectors(plain, [9, 8], lower_case_backup=True)("OK").tolist() == [1.5, 2]
    assert text.ToVectors(plain, [9, 8], lower_case_backup=True)("Hi").tolist() == [9, 8]
    assert text.ToVectors(text.Vectors.from_file(written("w", "a 1 2\nb 3 4\n"), 1))("b").tolist() == [0, 0]
    runs = written("runs", "2gram-ok 3 4\n3gram-okk 1 1\n4gram-okko 8 8\n2gram-kk 5 5\n5gram-okkok 99 99\n2gram-k#END# 1 9\n")
    looked_up = text.ToVectors(text.CharNGram.from_file(runs))
    np.testing.assert_allclose(looked_up(["okko", "okk", "zz"]), [[4.25, 4.5], [2.5, 4.75], [0, 0]])
    assert text.ToVectors(text.GloVe.from_file(written("glove.6B.2d.txt", "a 1 2\n")))("a").dtype == np.float32
    for make, content, message in (
        (text.GloVe, "a 1 2\n", "can not find file 'glove.6B"), (text.FastText, "a 1 2\n", "can not find file '\\*.vec'"),
        (text.Vectors, "", "has no vector"), (text.Vectors, "a 1 2\nb 1\n", "1-dimensional vector in .*bad, line 2"),
        (text.Vectors, "a 1 2\nb 1 2 3\n", "got dim 3 while expecting 2 in .*line 2"), (text.Vectors, "a 1 x\n", "'x' in .*line 1"),
    ):
        with pytest.raises(RuntimeError, match=message):
            make.from_file(written("bad", content))
    with pytest.raises(RuntimeError, match="unk_init: 1 and vectors: 2"):
        text.ToVectors(plain, [1.0])("zz")


def _table(place: Path, content: str) -> str:
    (place / "t.csv").write_text(content)
    return str(place / "t.csv")


@pytest.mark.parametrize(("make", "kind", "message"), [
    (lambda place: ds.Cifar10Dataset(str(place), "test"), RuntimeError, "test_batch.bin does not exist. In this directory are expected "
                                                                        "the files"),
    (lambda place: (place / "test_batch").touch() or ds.Cifar10Dataset(str(place), "test"), RuntimeError,
     "only the binary version is read"),
    (lambda place: (place / "test.bin").write_bytes(bytes(100)) and ds.Cifar100Dataset(str(place), "test"), RuntimeError,
     "test.bin is damaged: expected records of 3074 bytes, but it has 100 bytes"),
    (lambda place: ds.ImageFolderDataset(str(place)), RuntimeError, "no image is found in .*: expected a folder for each class"),
    (lambda place: ds.CelebADataset(str(place)), RuntimeError,
     "list_attr_celeba.txt does not exist: a list of files with their attributes"),
    (lambda place: ds.TextFileDataset(str(place / "*.txt")), ValueError, "The following patterns did not match any files"),
    (lambda place: ds.TextFileDataset([]), ValueError, "Input dataset_files can not be empty"),
    (lambda place: (place / "a.txt").write_bytes(b"\xff\n") and ds.TextFileDataset(str(place / "a.txt")), RuntimeError,
     "a.txt is no text in UTF-8: .*, at byte 0"),
    (lambda place: ds.CSVDataset(_table(place, "a,b\n1\n")), RuntimeError, "t.csv at line 2. Expected 2 values for the columns a, b, "
                                                                           "but got 1"),
    (lambda place: ds.CSVDataset(_table(place, "a\nx\n"), column_defaults=[1]), RuntimeError, "line 2, type does not match: column 'a' "
                                                                                              "holds Int32"),
    (lambda place: ds.CSVDataset(_table(place, 'a\n"x\n')), RuntimeError, "failed to parse csv file: .*t.csv: unexpected end of data"),
    (lambda place: ds.CSVDataset(_table(place, "")), RuntimeError, "t.csv is empty: expected the names of columns"),
    (lambda place: ds.CSVDataset(_table(place, "a\n"), ",,"), ValueError, "field_delim is invalid"),
    (lambda place: ds.TFRecordDataset("x"), NotImplementedError, "adjoint reads no TFRecord files.*`np.savez` keeps them"),
])
def test_what_is_missing_or_damaged_is_named_with_what_was_expected(tmp_path: Path, make: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        rows(make(tmp_path))


def test_an_image_that_is_none_is_named(folders: Path) -> None:
    (folders / "a" / "bad.png").write_bytes(b"no image")
    with pytest.raises(RuntimeError, match=r"a/bad.png is no image that can be decoded"):
        rows(ds.ImageFolderDataset(str(folders), decode=True))


@pytest.mark.parametrize(("content", "message"), [
    ("3\nSmiling\n0.jpg 1\n", "says that there are 3 images, but names 1"), ("1\nSmiling\n0.jpg 2\n", "line 3 should have a file's name "
                                                                                                      "and 1 times"),
    ("1\nSmiling\n9.jpg 1\n", "9.jpg does not exist, but list_attr_celeba.txt names it"), ("Smiling\n", "expected the number of images"),
])
def test_a_damaged_list_of_faces_is_named(faces: Path, content: str, message: str) -> None:
    (faces / "list_attr_celeba.txt").write_text(content)
    with pytest.raises(RuntimeError, match=message):
        ds.CelebADataset(str(faces))
