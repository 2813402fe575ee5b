"""Written by `make docs` from `__all__` of the modules and the classes of the ops, and compared with them by a test."""

FUNCTIONS = {
    "activations":
        "celu dropout dropout1d dropout2d dropout3d elu fast_gelu gelu glu hardshrink hardsigmoid hardswish hardtanh leaky_relu "
        "log_softmax logsigmoid mish prelu relu relu6 selu silu softmax soft_shrink softmin softplus softshrink softsign tanhshrink "
        "threshold",
    "arithmetic":
        "accumulate_n addcdiv addcmul addn bitwise_and bitwise_or bitwise_xor cast clamp clip clip_by_value depend div divide fmod "
        "identity invert isclose lerp masked_fill mixed_precision_cast nan_to_num reciprocal round select stop_gradient subtract "
        "true_divide trunc type_as where xlogy",
    "bands":
        "block_diag diag_embed diagflat diagonal_scatter matrix_band_part matrix_diag matrix_diag_part matrix_set_diag trace "
        "tril_indices triu_indices",
    "blocks":
        "atleast_1d atleast_2d atleast_3d batch_to_space_nd cartesian_prod column_stack combinations deepcopy dsplit dyn_shape hsplit "
        "mirror_pad move_to padding reverse_sequence rot90 sequence_mask space_to_batch_nd vsplit",
    "boxes":
        "bounding_box_decode bounding_box_encode check_valid iou",
    "convolution":
        "conv1d conv2d conv3d conv3d_transpose conv_transpose2d",
    "counts":
        "bincount bucketize histc intopk searchsorted unique_with_pad",
    "creation":
        "arange eye fill full full_like linspace logspace ones ones_like range scalar_to_tensor tuple_to_array zeros zeros_like",
    "ctc":
        "ctc_greedy_decoder ctc_loss",
    "deformable":
        "deformable_conv2d",
    "derivatives":
        "derivative jet",
    "diagonals":
        "diag diagonal tril triu",
    "distances":
        "addr bidense cdist cov cross dist kron pdist renorm vander vecdot",
    "floats":
        "angle approximate_equal conj copysign deg2rad eps float_power float_power_ext fmax fmin frac heaviside hypot imag inv "
        "is_complex is_floating_point is_nonzero is_tensor isnan_ext isneginf isposinf isreal ldexp logit polar positive rad2deg real "
        "sgn signbit view_as_real xdivy",
    "fourier":
        "fft fft2 fftfreq fftn fftshift hfft hfft2 hfftn ifft ifft2 ifftn ifftshift ihfft ihfft2 ihfftn irfft irfft2 irfftn rfft "
        "rfft2 rfftfreq rfftn",
    "fractional":
        "fractional_max_pool2d fractional_max_pool3d",
    "frames":
        "stft",
    "integers":
        "bitwise_left_shift bitwise_right_shift gcd lcm truncate_div truncate_mod",
    "linear":
        "addbmm addmm addmv baddbmm batch_dot bias_add bmm dense dot embedding einsum ger inner matmul mm mv outer tensor_dot",
    "linear_systems":
        "cholesky cholesky_inverse cholesky_solve geqrf lstsq lu_solve lu_unpack matrix_power matrix_solve orgqr ormqr pinv qr",
    "logsums":
        "logaddexp logaddexp2 logcumsumexp",
    "losses":
        "binary_cross_entropy binary_cross_entropy_with_logits cosine_similarity cross_entropy gaussian_nll_loss huber_loss kl_div "
        "l1_loss mse_loss nll_loss smooth_l1_loss softmax_cross_entropy_with_logits sparse_softmax_cross_entropy_with_logits",
    "margin_losses":
        "cosine_embedding_loss hinge_embedding_loss margin_ranking_loss multi_margin_loss multilabel_margin_loss "
        "multilabel_soft_margin_loss soft_margin_loss triplet_margin_loss",
    "matrices":
        "det eig eigvals inverse log_matrix_determinant logdet matrix_determinant slogdet svd",
    "normalization":
        "batch_norm group_norm layer_norm lrn rms_norm",
    "norms":
        "cond matrix_norm vector_norm",
    "ordering":
        "aminmax argsort median msort nanmedian nanquantile quantile sort top_k topk",
    "parts":
        "cat chunk concat flip fliplr flipud hstack meshgrid narrow pad reverse roll row_stack slice split stack strided_slice "
        "tensor_split unbind unstack vstack",
    "patches":
        "channel_shuffle col2im fold pixel_shuffle pixel_unshuffle unfold",
    "picking":
        "argwhere gather gather_d gather_elements gather_nd index_select masked_select nonzero one_hot take unique unique_consecutive "
        "unsorted_segment_sum",
    "pooling":
        "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d "
        "avg_pool1d avg_pool2d avg_pool3d lp_pool1d lp_pool2d max_pool2d max_pool3d",
    "random_laws":
        "log_uniform_candidate_sampler random_ random_gamma random_poisson uniform_ uniform_candidate_sampler",
    "random_numbers":
        "bernoulli choice_with_mask gumbel_softmax laplace multinomial multinomial_with_replacement normal rand rand_like randint "
        "randint_like randn randn_like random_categorical randperm rrelu shuffle standard_laplace standard_normal uniform",
    "reduction":
        "all amax amin any argmax argmin count_nonzero cumprod cumsum logsumexp max mean min nanmean nansum norm prod ptp std "
        "std_mean sum var var_mean",
    "resizing":
        "interpolate upsample",
    "running":
        "cummax cummin diff diff_ext trapz",
    "sampling":
        "affine_grid crop_and_resize grid_sample max_unpool1d max_unpool2d max_unpool3d",
    "scalars":
        "is_ is_not list_len make_list make_range scalar_add scalar_cast scalar_div scalar_eq scalar_floordiv scalar_ge scalar_gt "
        "scalar_le scalar_log scalar_lt scalar_max scalar_min scalar_mod scalar_mul scalar_pow scalar_sub scalar_to_array scalar_uadd "
        "scalar_usub shape_mul tuple_len tuple_reversed",
    "scattering":
        "index_add index_fill inplace_add inplace_index_add inplace_sub inplace_update masked_scatter scatter scatter_add scatter_div "
        "scatter_max scatter_min scatter_mul scatter_nd scatter_nd_add scatter_nd_div scatter_nd_max scatter_nd_min scatter_nd_mul "
        "scatter_nd_sub scatter_nd_update scatter_sub scatter_update select_scatter slice_scatter tensor_scatter_add "
        "tensor_scatter_div tensor_scatter_elements tensor_scatter_max tensor_scatter_min tensor_scatter_mul tensor_scatter_sub "
        "tensor_scatter_update",
    "segments":
        "sparse_segment_mean unsorted_segment_max unsorted_segment_min unsorted_segment_prod",
    "shapes":
        "adjoint broadcast_to expand expand_as expand_dims flatten moveaxis movedim numel permute rank ravel repeat_elements "
        "repeat_interleave reshape shape size squeeze swapaxes swapdims t tile transpose unsqueeze view_as",
    "sparse":
        "coalesce coo2csr coo_add coo_concat coo_tensor_get_dense_shape coo_tensor_get_indices coo_tensor_get_values csr2coo csr_add "
        "csr_div csr_gather csr_mm csr_mul csr_mv csr_reduce_sum csr_softmax csr_tensor_get_dense_shape csr_tensor_get_indices "
        "csr_tensor_get_indptr csr_tensor_get_values csr_to_coo csr_to_dense dense_to_sparse_coo dense_to_sparse_csr make_coo_tensor "
        "make_csr_tensor make_sparse_tensor",
    "sparse_elementwise":
        "coo_abs coo_acos coo_acosh coo_asin coo_asinh coo_atan coo_atanh coo_ceil coo_cos coo_cosh coo_exp coo_expm1 coo_floor "
        "coo_inv coo_isfinite coo_isinf coo_isnan coo_log coo_log1p coo_neg coo_relu coo_relu6 coo_round coo_sigmoid coo_sin coo_sinh "
        "coo_softsign coo_sqrt coo_square coo_tan coo_tanh csr_abs csr_acos csr_acosh csr_asin csr_asinh csr_atan csr_atanh csr_ceil "
        "csr_cos csr_cosh csr_exp csr_expm1 csr_floor csr_inv csr_isfinite csr_isinf csr_isnan csr_log csr_log1p csr_neg csr_relu "
        "csr_relu6 csr_round csr_sigmoid csr_sin csr_sinh csr_softsign csr_sqrt csr_square csr_tan csr_tanh",
    "special":
        "mvlgamma polygamma zeta",
    "window_functions":
        "bartlett_window blackman_window hamming_window hann_window kaiser_window",
    "generated":
        "sigmoid add tensor_add sub tensor_sub mul multiply tensor_mul mul_no_nan floor_divide floor_div floordiv tensor_floordiv "
        "remainder mod tensor_mod floor_mod floormod neg negative abs absolute sign sqrt rsqrt square maximum minimum floor ceil "
        "nextafter bessel_i0 i0 bessel_i0e bessel_i1 bessel_i1e bessel_j0 bessel_j1 bessel_y0 bessel_y1 bessel_k0 bessel_k0e "
        "bessel_k1 bessel_k1e less lt tensor_lt less_equal le tensor_le greater gt tensor_gt greater_equal ge tensor_ge equal eq "
        "not_equal ne isnan isinf isfinite lgamma digamma igamma igammac logical_and logical_or logical_xor logical_not "
        "population_count pow tensor_pow pows exp tensor_exp exp2 expm1 tensor_expm1 log log2 log10 log1p sin cos tan asin arcsin "
        "acos arccos atan arctan sinh cosh asinh arcsinh acosh arccosh atanh arctanh atan2 arctan2 tanh erf erfc erfinv sinc",
}
"""For each module the functions that it defines."""

PRIMITIVES = {
    "boxes":
        "AffineGrid BoundingBoxDecode BoundingBoxEncode CheckValid CropAndResize GridSampler2D GridSampler3D IOU MaxUnpool2D "
        "MaxUnpool3D NMSWithMask NonMaxSuppressionWithOverlaps ROIAlign SampleDistortedBoundingBoxV2",
    "colours":
        "AdjustHue AdjustSaturation HSVToRGB RGBToHSV",
    "convolution":
        "Conv2D Conv2DBackpropInput Conv2DTranspose Conv3D Conv3DTranspose",
    "criteria":
        "BCEWithLogitsLoss BinaryCrossEntropy CTCGreedyDecoder CTCLoss KLDivLoss MultiMarginLoss MultilabelMarginLoss NLLLoss "
        "SigmoidCrossEntropyWithLogits SmoothL1Loss SoftMarginLoss SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits "
        "TripletMarginLoss",
    "custom":
        "Custom PyFunc",
    "devices":
        "DynamicGRUV2 DynamicRNN NPUAllocFloatStatus NPUClearFloatStatus NPUGetFloatStatus",
    "effects":
        "Assert Assign AssignAdd AssignSub Bernoulli Cauchy LogUniformCandidateSampler Multinomial MultinomialWithReplacement Print "
        "RandomCategorical RandomChoiceWithMask RandomGamma RandomPoisson RandomShuffle Randperm StandardNormal "
        "UniformCandidateSampler UniformInt UniformReal LogNormalReverse ParameterizedTruncatedNormal RandpermV2 TruncatedNormal",
    "elementwise":
        "AccumulateNV2 AddN Addcdiv Addcmul Angle ApproximateEqual BitwiseAnd BitwiseOr BitwiseXor Cast CheckNumerics Complex "
        "ComplexAbs Conj Depend Div DivNoNan Eps Fmax Fmin Gcd Heaviside Hypot Identity IdentityN Imag Inv Invert IsClose Lcm "
        "LeftShift Lerp LogicalAnd LogicalOr Logit MaskedFill Mod NanToNum Polar Real RealDiv Reciprocal RightShift Rint Round Select "
        "SquareSumAll SquaredDifference StopGradient Trunc TruncateDiv TruncateMod Xdivy Xlogy",
    "fourier":
        "FFTWithSize STFT",
    "fractional":
        "FractionalAvgPool FractionalMaxPool FractionalMaxPool3DWithFixedKsize FractionalMaxPoolWithFixedKsize",
    "fused_steps":
        "FusedAdaFactor FusedCastAdamWeightDecay",
    "indices":
        "CompareAndBitpack DataFormatDimMap DataFormatVecPermute MapUniform NoRepeatNGram PadV3 ScalarCast SubAndFilter UnravelIndex",
    "linear_systems":
        "Cholesky CholeskyInverse CholeskySolve Geqrf Lstsq LuSolve LuUnpack MatrixPower MatrixSolve MatrixSolveLs "
        "MatrixTriangularSolve Orgqr Ormqr Qr TridiagonalMatMul",
    "loops":
        "ForiLoop Scan WhileLoop",
    "matrices":
        "Cdist Cross Diag DiagPart Eig Einsum Ger LogMatrixDeterminant MatrixBandPart MatrixDeterminant MatrixDiagPartV3 MatrixDiagV3 "
        "MatrixInverse MatrixLogarithm MatrixSetDiagV3 Pdist Renorm Svd Trace TrilIndices TriuIndices",
    "network":
        "GELU GLU LRN BatchMatMul BatchNorm BiasAdd CeLU Dense Dropout Dropout2D Dropout3D DropoutDoMask DropoutGenMask Elu FastGeLU "
        "FastGelu GeLU Gelu HShrink HSigmoid HSwish LayerNorm LogSoftmax MatMul Mish PReLU ReLU ReLU6 RmsNorm SeLU SoftShrink Softmax "
        "Softplus Softsign StandardLaplace",
    "optimizers":
        "SGD Adam AdamWeightDecay ApplyAdaMax ApplyAdadelta ApplyAdagrad ApplyAdagradDA ApplyAdagradV2 ApplyAdamWithAmsgrad "
        "ApplyAdamWithAmsgradV2 ApplyAddSign ApplyCenteredRMSProp ApplyFtrl ApplyGradientDescent ApplyMomentum ApplyPowerSign "
        "ApplyProximalAdagrad ApplyProximalGradientDescent ApplyRMSProp LARSUpdate SparseApplyAdagradV2 SparseApplyFtrl",
    "patches":
        "ChannelShuffle Col2Im DepthToSpace ExtractVolumePatches Im2Col SpaceToDepth",
    "pooling":
        "AdaptiveAvgPool2D AdaptiveAvgPool3D AdaptiveMaxPool2D AdaptiveMaxPool3D AvgPool AvgPool3D MaxPool MaxPool3D "
        "MaxPool3DWithArgmax MaxPoolWithArgmax MaxPoolWithArgmaxV2",
    "reductions":
        "ArgMaxWithValue ArgMinWithValue Argmax Argmin Bincount Bucketize CountNonZero CumProd CumSum Cummax Cummin "
        "CumulativeLogsumexp EqualCount FloatStatus Histogram InTopK L2Loss L2Normalize ListDiff LowerBound LpNorm Median NthElement "
        "NuclearNorm Quantile ReduceAll ReduceAny ReduceMax ReduceMean ReduceMin ReduceProd ReduceStd ReduceSum SearchSorted Sort "
        "TopK UpperBound",
    "resizing":
        "ResizeArea ResizeBicubic ResizeBilinearV2 ResizeLinear1D ResizeNearestNeighbor ResizeNearestNeighborV2 ScaleAndTranslate "
        "UpsampleNearest3D UpsampleTrilinear3D",
    "row_steps":
        "AdamNoUpdateParam FusedSparseAdam FusedSparseFtrl FusedSparseLazyAdam FusedSparseProximalAdagrad SparseApplyAdagrad "
        "SparseApplyRMSProp",
    "scattering":
        "Gather GatherD GatherNd GatherV2 IndexAdd IndexFill IndexPut InplaceAdd InplaceIndexAdd InplaceSub InplaceUpdate "
        "InplaceUpdateV2 MaskedScatter MaskedSelect NonZero ScatterAdd ScatterAddWithAxis ScatterDiv ScatterMax ScatterMin ScatterMul "
        "ScatterNd ScatterNdAdd ScatterNdDiv ScatterNdMax ScatterNdMin ScatterNdMul ScatterNdSub ScatterNdUpdate ScatterSub "
        "ScatterUpdate SegmentMax SegmentMean SegmentMin SegmentProd SegmentSum TensorScatterAdd TensorScatterDiv "
        "TensorScatterElements TensorScatterMax TensorScatterMin TensorScatterMul TensorScatterSub TensorScatterUpdate Unique "
        "UniqueConsecutive UniqueWithPad UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentProd UnsortedSegmentSum",
    "sequences":
        "CTCLossV2 EditDistance LSTM",
    "shaping":
        "BartlettWindow BatchToSpaceND BlackmanWindow BroadcastTo Concat ConjugateTranspose EmbeddingLookup Expand ExpandDims Eye "
        "Fill FillDiagonal FillV2 Flatten HammingWindow InvertPermutation LinSpace LogSpace Meshgrid MirrorPad OneHot Ones OnesLike "
        "Pack Pad Padding ParallelConcat Range Rank Reshape ReverseSequence ReverseV2 ScalarToArray ScalarToTensor Shape Size Slice "
        "SpaceToBatchND Split Squeeze Stack StridedSlice TensorShape Tile Transpose Tril Triu TupleToArray TypeOf Unpack Unstack "
        "Zeros ZerosLike",
    "sparse":
        "SparseSlice SparseTensorDenseAdd SparseTensorDenseMatmul SparseToDense",
    "special":
        "Betainc Mvlgamma Polygamma Zeta",
    "summaries":
        "HistogramSummary ImageSummary ScalarSummary TensorSummary",
    "generated":
        "Sigmoid Add TensorAdd Sub Mul MulNoNan FloorDiv FloorMod Neg Abs Sign Sqrt Rsqrt Square Maximum Minimum Floor Ceil NextAfter "
        "BesselI0 BesselI0e BesselI1 BesselI1e BesselJ0 BesselJ1 BesselY0 BesselY1 BesselK0 BesselK0e BesselK1 BesselK1e Less "
        "LessEqual Greater GreaterEqual Equal NotEqual IsNan IsInf IsFinite Lgamma Digamma Igamma Igammac LogicalXor LogicalNot "
        "PopulationCount Pow Exp Expm1 Log Log1p Sin Cos Tan Asin ACos Atan Sinh Cosh Asinh Acosh Atanh Atan2 Tanh Erf Erfc Erfinv "
        "Sinc",
}
"""For each module in `primitives` the classes that it defines."""

COLLECTIVES = {
    "collectives":
        "AllGather AllReduce AlltoAll Barrier Broadcast Reduce ReduceOp ReduceScatter",
}
"""The collective operators, by their module."""

COMPOSITE = {
    "composite":
        "GradOperation HyperMap Map MultitypeFuncGraph add_flags clip_by_global_norm clip_by_norm partial",
}
"""The operators on functions, by their module."""
