"""Recurrent layers, attention and transformers: values with gradients, parameters and mistakes."""

# pyright: reportMissingImports=false

from typing import Any

from answers import brief, outcomes

RECURRENT = (
    "both(nn.RNNCell(2, 3), wave(2, 2), wave(2, 3))",
    "both(nn.RNNCell(2, 3, False, 'relu'), wave(2, 2), wave(2, 3))",
    "both(nn.GRUCell(2, 3), wave(2, 2), wave(2, 3))",
    "both(Joined(nn.LSTMCell(2, 3)), wave(2, 2), (wave(2, 3), wave(2, 3)))[0]",
    "[(p.name, p.shape) for p in nn.LSTMCell(2, 3).get_parameters()]",
    "nn.LSTMCell(2, 3)(wave(2, 2), wave(2, 3))",
    "nn.GRUCell(2, 3)(wave(2, 3), wave(2, 3))",
    "nn.RNNCell(2, 3, nonlinearity='sigmoid')",
    "nn.RNNCell(2, 0)",
    "nn.RNNCell(2, 3, 1)",
    "both(Joined(nn.RNN(2, 3)), wave(3, 2, 2))",
    "both(Joined(nn.RNN(2, 2, nonlinearity='relu', has_bias=False)), wave(3, 1, 2), wave(1, 1, 2))",
    "both(Joined(nn.GRU(2, 2, 2, bidirectional=True)), wave(3, 2, 2))",
    "both(Joined(nn.GRU(2, 2, batch_first=True)), wave(2, 3, 2), wave(1, 2, 2), i32([1, 3]))[0]",
    "both(Joined(nn.LSTM(2, 2, 2)), wave(3, 2, 2))",
    "both(Joined(nn.LSTM(2, 2, has_bias=False, batch_first=True, bidirectional=True)), wave(2, 3, 2))",
    "both(Joined(nn.LSTM(2, 2, bidirectional=True)), wave(3, 2, 2), (wave(2, 2, 2), wave(2, 2, 2)), i32([2, 3]))[0]",
    "[(p.name, p.shape) for p in nn.LSTM(2, 3, 2, bidirectional=True).get_parameters()]",
    "[(p.name, p.shape) for p in nn.SequentialCell(nn.GRU(2, 3, has_bias=False)).get_parameters()]",
    "nn.LSTM(2, 3)(wave(3, 2, 2), wave(1, 2, 3))",
    "nn.LSTM(2, 3)(wave(3, 2, 2), None, i32([1, 2, 3]))",
    "nn.GRU(2, 3)(wave(3, 2, 2), wave(1, 2, 3).astype(ms.float16))",
    "nn.GRU(2, 3)(wave(3, 2, 2), None, f32([1, 2]))",
    "nn.LSTM(2, 3, dropout=1.0)",
    "nn.LSTM(2, 3, dropout=0)",
    "nn.LSTM(2, 3, 0)",
    "nn.LSTM(2, 3, 1.0)",
    "nn.RNN(2, 3, nonlinearity='gelu')",
    "nn.GRU(2, 3, batch_first=1)",
    "nn.LSTM(2, 3, dtype=ms.float16)(wave(3, 2, 2))[0].dtype",
    "nn.LSTM(2, 3)(wave(3, 2, 2).astype(ms.float16))[1][1].dtype",
)
MASK = "Tensor([[False, True, True], [False, False, True], [False, False, False]])"
ATTENTION = (
    "both(Joined(nn.MultiheadAttention(4, 2)), wave(3, 2, 4), wave(3, 2, 4), wave(3, 2, 4))",
    "both(Joined(nn.MultiheadAttention(4, 2, kdim=3, vdim=2, batch_first=True)), wave(2, 3, 4), wave(2, 2, 3), wave(2, 2, 2))",
    "both(Joined(nn.MultiheadAttention(4, 2, has_bias=False, add_zero_attn=True)), wave(3, 2, 4), wave(2, 2, 4), wave(2, 2, 4))",
    "both(Joined(nn.MultiheadAttention(4, 2, add_bias_kv=True)), wave(3, 1, 4), wave(2, 1, 4), wave(2, 1, 4))[0]",
    "nn.MultiheadAttention(4, 2)(wave(3, 4), wave(3, 4), wave(3, 4))[0].shape",
    "len(nn.MultiheadAttention(4, 2)(wave(3, 2, 4), wave(3, 2, 4), wave(3, 2, 4), need_weights=False))",
    "nn.MultiheadAttention(4, 2)(wave(3, 2, 4), wave(3, 2, 4), wave(3, 2, 4), average_attn_weights=False)[1].shape",
    f"both(Joined(nn.MultiheadAttention(4, 2)), wave(3, 1, 4), wave(3, 1, 4), wave(3, 1, 4), None, True, {MASK})[0]",
    f"nn.MultiheadAttention(4, 2)(wave(3, 1, 4), wave(3, 1, 4), wave(3, 1, 4), Tensor([[False, False, True]]), True, {MASK})[1].shape",
    "[(p.name, p.shape, p.requires_grad) for p in nn.MultiheadAttention(4, 2).get_parameters()]",
    "[(p.name, p.shape) for p in nn.MultiheadAttention(4, 2, kdim=3, add_bias_kv=True).get_parameters()]",
    "nn.MultiheadAttention(4, 2).in_proj_bias",
    "nn.MultiheadAttention(4, 3)",
    "nn.MultiheadAttention(4, 2)(wave(3, 2, 5), wave(3, 2, 4), wave(3, 2, 4))",
    "nn.MultiheadAttention(4, 2)(wave(3, 2, 4), wave(2, 2, 4), wave(3, 2, 4))",
    "nn.MultiheadAttention(4, 2)(wave(3, 2, 4), wave(3, 2, 4), wave(3, 2, 4), attn_mask=f32([[1.0]]))",
)
TRANSFORMERS = (
    "both(nn.TransformerEncoderLayer(4, 2, 3).set_train(False), wave(3, 2, 4))",
    "both(nn.TransformerEncoderLayer(4, 2, 3, 0.0, 'gelu', 0.01, True, True), wave(2, 3, 4))",
    "both(nn.TransformerDecoderLayer(4, 2, 3).set_train(False), wave(2, 1, 4), wave(3, 1, 4))",
    "both(nn.TransformerDecoderLayer(4, 2, 3, 0.0, ops.gelu, 0.01, True, True), wave(1, 2, 4), wave(1, 3, 4))",
    "both(nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 3), 2, nn.LayerNorm((4,))).set_train(False), wave(3, 1, 4))",
    "both(nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 3), 2).set_train(False), wave(2, 1, 4), wave(3, 1, 4))[0]",
    "both(nn.Transformer(4, 2, 1, 1, 3).set_train(False), wave(2, 1, 4), wave(2, 1, 4))[0]",
    "[(p.name, p.shape) for p in nn.TransformerEncoderLayer(4, 2, 3).get_parameters()]",
    "[p.name for p in nn.TransformerDecoderLayer(4, 2, 3).get_parameters()]",
    "[p.name for p in nn.Transformer(4, 2, 2, 1, 3).get_parameters()]",
    "nn.TransformerEncoderLayer(4, 2, 3, activation='tanh')",
    "nn.TransformerEncoderLayer(4, 2, 3, activation=nn.Tanh())",
    "nn.TransformerEncoderLayer(4, 3, 3)",
    "nn.TransformerEncoderLayer(4, 2, 3)(wave(3, 2, 4), None, i32([[0, 0, 1], [0, 0, 1]]))",
    "nn.Transformer(4, 2, 1, 1, 3)(wave(2, 1, 4), wave(2, 2, 4))",
    "nn.Transformer(4, 2, 1, 1, 3)(wave(2, 1, 3), wave(2, 1, 4))",
    "nn.Transformer(4, 2, 1, 1, 3)(wave(2, 3, 4), wave(5, 3, 4)).shape",
)


def record() -> dict[str, Any]:
    return {
        "recurrent": outcomes(RECURRENT, brief),
        "attention": outcomes(ATTENTION, brief),
        "transformers": outcomes(TRANSFORMERS, brief),
    }
