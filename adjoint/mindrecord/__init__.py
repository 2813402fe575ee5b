"""`mindspore.mindrecord`: files of rows, which MindSpore reads and writes too (docs/data.md).

    writer = FileWriter("digits.mindrecord")
    writer.add_schema({"image": {"type": "bytes"}, "label": {"type": "int32"}})
    writer.write_raw_data([{"image": data, "label": 3}])
    writer.commit()
"""

from typing import Any

from adjoint.foundation.diagnostics import missing_name
from adjoint.mindrecord.converting import Cifar10ToMR, Cifar100ToMR, CsvToMR, ImageNetToMR, MnistToMR
from adjoint.mindrecord.reading import FileReader
from adjoint.mindrecord.writing import FileWriter

__all__ = ["Cifar100ToMR", "Cifar10ToMR", "CsvToMR", "FileReader", "FileWriter", "ImageNetToMR", "MnistToMR"]

_READ = "read the rows in Python, and write them with `FileWriter`"
_RAISES = "nothing: `commit` returns None, and raises where it fails"
_ENCRYPTED = "files as they are: adjoint neither encrypts nor decrypts"
INSTEAD = {
    "TFRecordToMR": _READ, "MindPage": "`FileReader`, or `dataset.MindDataset` with a sampler",
    "set_enc_key": _ENCRYPTED, "set_enc_mode": _ENCRYPTED, "set_dec_mode": _ENCRYPTED,
    "SUCCESS": _RAISES, "FAILED": _RAISES,
}
"""What to write instead of names of MindSpore's that are missing here."""


def __getattr__(name: str) -> Any:
    raise missing_name(__name__, name, globals())
