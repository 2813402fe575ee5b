"""A collection of models of sound, for both frameworks: `mindspore` is either MindSpore or this package."""

# pyright: reportMissingImports=false, reportMissingModuleSource=false

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from task import CLASSES, Names, Task, drawn, own_loss


class MindAudio:
    """https://github.com/mindspore-lab/mindaudio: the networks that its examples train, narrower and shallower than there."""

    NOTES: ClassVar = {
        "conv_tasnet": "Multiplies a matrix of Float32 by one of Float16, which MindSpore 2.10 refuses.",
        "fastspeech2": "Gives `nn.GroupNorm` one argument; it was written for an earlier MindSpore.",
        "wavegrad": "Calls `ops.split` with `output_num`; it was written for an earlier MindSpore."}

    def __init__(self, checkout: Path):
        self._examples = checkout / "examples"
        self._tasks: dict[str, Callable[[], Task]] = {
            "conformer": self._conformer, "conv_tasnet": self._conv_tasnet, "deepspeech2": self._deepspeech2, "ecapatdnn": self._ecapatdnn,
            "fastspeech2": self._fastspeech2, "tasnet": self._tasnet, "wavegrad": self._wavegrad}

    def families(self) -> dict[str, list[str]]:
        return {name: [name] for name in self._tasks}

    def build(self, name: str) -> Any:
        return self._tasks[name]().network

    def task(self, name: str) -> Task:
        return self._tasks[name]()

    def _configuration(self, path: str) -> Names:
        import yaml

        return Names(yaml.safe_load((self._examples / path).read_text(encoding="utf-8")))

    def _conformer(self) -> Task:
        import mindspore as ms
        from mindaudio.loss.ctc_loss import CTC
        from mindaudio.models.conformer import ConformerEncoder, TransformerDecoder
        from mindaudio.models.layers.cmvn import GlobalCMVN

        sys.path.append(str(self._examples / "conformer"))
        from asr_model import ASRModel

        given, draw, bins, words, wide = self._configuration("conformer/conformer.yaml"), drawn(), 80, 30, 64
        norm = GlobalCMVN(ms.Tensor(np.zeros(bins, np.float32)), ms.Tensor(np.ones(bins, np.float32)))
        inside = {**given.encoder_conf, "output_size": wide, "linear_units": 2 * wide, "num_blocks": 2}
        encoder = ConformerEncoder(bins, **inside, global_cmvn=norm)
        decoder = TransformerDecoder(words, wide, **{**given.decoder_conf, "linear_units": 2 * wide, "num_blocks": 2})
        network = ASRModel(words, encoder, decoder, CTC(words, wide), **given.model_conf)
        frames, length = 67, 5
        steps = ((frames - 1) // 2 - 1) // 2
        sound = draw.standard_normal((2, frames, bins), np.float32)
        labels = draw.integers(1, words - 1, (2, length)).astype(np.int32)
        before = np.concatenate([np.full((2, 1), words - 1, np.int32), labels], 1)
        after = np.concatenate([labels, np.full((2, 1), words - 1, np.int32)], 1)
        seen = np.ones((2, 1, steps), np.float32)
        past = np.tile(np.tril(np.ones((length + 1, length + 1), np.float32)), (2, 1, 1))
        written, every = np.ones((2, 1, length + 1), np.float32), np.ones((2, steps, steps), np.float32)
        lengths = np.full(2, length, np.int32)
        return Task(network, (sound, labels, before, after, before, after, seen, past, written, lengths, every), own_loss)

    def _conv_tasnet(self) -> Task:
        import mindspore as ms
        from mindaudio.loss.separation_loss import Convtasnet_Loss
        from mindaudio.models.conv_tasnet import ConvTasNet

        given, draw, length = self._configuration("conv_tasnet/conv_tasnet.yaml"), drawn(), 32000  # its decoder knows this length alone
        network = ConvTasNet(64, given.L, 32, 64, given.P, 3, 2, given.C, given.norm_type, given.causal, given.mask_nonlinear)
        source, taught = ms.Tensor(draw.standard_normal((1, given.C, length), np.float32)), Convtasnet_Loss()
        lengths = ms.Tensor(np.full(1, length, np.int32))

        def loss(found: Any) -> Any:
            return taught(source, found, lengths)[0]

        return Task(network, (draw.standard_normal((1, length), np.float32),), loss)

    def _tasnet(self) -> Task:
        import mindspore as ms
        from mindaudio.loss.separation_loss import Separation_Loss
        from mindaudio.models.tasnet import TasNet

        given, draw = self._configuration("tasnet/tasnet.yaml"), drawn()
        network = TasNet(given.L, 64, 48, 2, bidirectional=False, nspk=given.nspk)
        source, taught = ms.Tensor(draw.standard_normal((2, given.nspk, 20, given.L), np.float32)), Separation_Loss()
        lengths = ms.Tensor(np.full(2, 20, np.int32))

        def loss(found: Any) -> Any:
            return taught(source, found, lengths)[0]

        return Task(network, (draw.standard_normal((2, 20, given.L), np.float32),), loss)

    def _deepspeech2(self) -> Task:
        import mindspore as ms
        from mindaudio.models.deepspeech2 import DeepSpeechModel

        given, draw, length, frames = self._configuration("deepspeech2/deepspeech2.yaml"), drawn(), 8, 100
        network = DeepSpeechModel(2, given.labels, 64, 2, given.SpectConfig, given.ModelConfig.rnn_type)
        places = ms.Tensor(np.array([(image, place) for image in range(2) for place in range(length)], np.int64))
        labels = ms.Tensor(draw.integers(0, len(given.labels) - 1, 2 * length).astype(np.int32))
        taught = ms.ops.CTCLoss(ctc_merge_repeated=True)

        def loss(results: Any) -> Any:
            return taught(results[0], places, labels, results[1].astype(ms.int32))[0].mean()

        return Task(network, (draw.standard_normal((2, 1, 161, frames), np.float32), np.full(2, frames, np.int32)), loss)

    def _ecapatdnn(self) -> Task:
        import mindspore as ms
        from mindaudio.loss.AdditiveAngularMargin import AdditiveAngularMargin
        from mindaudio.models.ecapatdnn import Classifier, EcapaTDNN

        given, draw, wide = self._configuration("ECAPA-TDNN/ecapatdnn.yaml"), drawn(), 64
        body = EcapaTDNN(given.in_channels, channels=(wide,) * 4 + (3 * wide,), lin_neurons=given.emb_size)
        network = ms.nn.SequentialCell(body, Classifier(1, 0, given.emb_size, CLASSES))
        margin, taught = AdditiveAngularMargin(0.2, 30), ms.nn.SoftmaxCrossEntropyWithLogits(sparse=False, reduction="mean")
        speakers = ms.Tensor(np.eye(CLASSES, dtype=np.float32)[[3, 4]])

        def loss(results: Any) -> Any:
            return taught(margin(results, speakers), speakers)

        return Task(network, (draw.standard_normal((2, 50, given.in_channels), np.float32),), loss)

    def _fastspeech2(self) -> Task:
        from mindaudio.models.fastspeech2 import FastSpeech2WithLoss
        from mindaudio.models.fastspeech2.loss import FastSpeech2Loss

        given = self._configuration("fastspeech2/fastspeech2.yaml")
        pitch, energy = given.pitch, given.energy
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)  # it reads the range of its data from a file in the working directory
            np.save("stats.npy", np.array([pitch.pitch_min + 1, pitch.pitch_max, energy.energy_min, energy.energy_max]))
            try:
                return Task(FastSpeech2WithLoss(FastSpeech2Loss(given), given), (), own_loss)
            finally:
                os.chdir(before)

    def _wavegrad(self) -> Task:
        from mindaudio.models.wavegrad import WaveGradWithLoss

        given, draw, frames = self._configuration("wavegrad/wavegrad_base.yaml"), drawn(), 4
        narrow = {"dblock": {**given.dblock, "hidden_size": [32, 32, 64, 64]}, "film": {**given.film, "output_size": [32, 32, 64, 64, 64]},
                  "ublock": {**given.ublock, "hidden_size": [64, 64, 32, 32, 32]}, "first_conv": {**given.first_conv, "hidden_size": 96}}
        network = WaveGradWithLoss(Names({**given, **narrow}))
        samples = frames * given.hop_samples

        def some(*shape: int) -> np.ndarray[Any, Any]:
            return draw.standard_normal(shape, np.float32)

        return Task(network, (some(2, samples), np.abs(some(2)), some(2, samples), some(2, given.n_mels, frames)), own_loss)


__all__ = ["MindAudio"]
