"""Written by `make docs` from `__all__` of the modules, and compared with them by a test."""

LAYERS = {
    "activation":
        "CELU ELU FastGelu GELU GLU HShrink HSigmoid HSwish Hardtanh Identity LeakyReLU LogSigmoid LogSoftmax Mish PReLU RReLU ReLU "
        "ReLU6 SeLU SiLU Sigmoid SoftShrink Softmax Softmax2d Softmin Softplus Softsign Tanh Tanhshrink Threshold get_activation",
    "attention":
        "MultiheadAttention Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder TransformerEncoderLayer",
    "combined":
        "Conv2dBnAct DenseBnAct TimeDistributed",
    "container":
        "CellDict CellList SequentialCell",
    "convolution":
        "Conv1d Conv1dTranspose Conv2d Conv2dTranspose Conv3d Conv3dTranspose",
    "dropout":
        "Dropout Dropout1d Dropout2d Dropout3d",
    "dynamic_lr":
        "cosine_decay_lr exponential_decay_lr inverse_decay_lr natural_exp_decay_lr piecewise_constant_lr polynomial_decay_lr "
        "warmup_lr",
    "embedding":
        "Embedding EmbeddingLookup OneHot",
    "images":
        "MSSSIM PSNR SSIM CentralCrop ImageGradients",
    "learning_rate_schedule":
        "CosineDecayLR ExponentialDecayLR InverseDecayLR NaturalExpDecayLR PolynomialDecayLR WarmUpLR",
    "linear":
        "BiDense Dense Flatten MatMul Unflatten",
    "loss":
        "BCELoss BCEWithLogitsLoss CTCLoss CrossEntropyLoss DiceLoss FocalLoss GaussianNLLLoss HuberLoss KLDivLoss L1Loss LossBase "
        "MAELoss MSELoss MultiClassDiceLoss NLLLoss PoissonNLLLoss RMSELoss SampledSoftmaxLoss SmoothL1Loss "
        "SoftmaxCrossEntropyWithLogits",
    "loss_scale":
        "DynamicLossScaleUpdateCell FixedLossScaleUpdateCell TrainOneStepWithLossScaleCell",
    "margin_loss":
        "CosineEmbeddingLoss HingeEmbeddingLoss MarginRankingLoss MultiLabelSoftMarginLoss MultiMarginLoss MultilabelMarginLoss "
        "SoftMarginLoss TripletMarginLoss TripletMarginWithDistanceLoss",
    "math":
        "DiGamma IGamma L1Regularizer LBeta LGamma Moments Norm Range ReduceLogSumExp Tril Triu",
    "normalization":
        "BatchNorm1d BatchNorm2d BatchNorm3d ClipByNorm GroupNorm InstanceNorm1d InstanceNorm2d InstanceNorm3d LRN LayerNorm "
        "SyncBatchNorm",
    "padding":
        "ConstantPad1d ConstantPad2d ConstantPad3d Pad ReflectionPad1d ReflectionPad2d ReflectionPad3d ReplicationPad1d "
        "ReplicationPad2d ReplicationPad3d ZeroPad2d",
    "patches":
        "ChannelShuffle PixelShuffle PixelUnshuffle Unfold",
    "pooling":
        "AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d AvgPool1d "
        "AvgPool2d AvgPool3d LPPool1d LPPool2d MaxPool1d MaxPool2d MaxPool3d",
    "recurrent":
        "GRU GRUCell LSTM LSTMCell RNN RNNCell",
    "resizing":
        "Upsample",
    "sparse":
        "SparseTensorDenseMatmul SparseToDense",
    "unpooling":
        "FractionalMaxPool2d FractionalMaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d",
    "wrap":
        "ForwardValueAndGrad GradAccumulationCell Jvp MicroBatchInterleaved ParameterUpdate PipelineCell TrainOneStepCell "
        "VirtualDatasetCellTriple Vjp WithEvalCell WithGradCell WithLossCell",
}
"""For each module the names that it defines."""

OPTIMIZERS = {
    "adam":
        "Adam AdamOffload AdamWeightDecay LazyAdam",
    "adaptive":
        "FTRL AdaMax Adagrad Lamb RMSProp",
    "composed":
        "ASGD AdaFactor Adadelta ProximalAdagrad Rprop",
    "lars":
        "LARS",
    "momentum":
        "SGD Momentum",
}
"""For each module in `optim` the names that it defines."""
