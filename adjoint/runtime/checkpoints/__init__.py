"""Files of parameters, in MindSpore's formats.

    ckpt_format         the bytes of a checkpoint
    safetensors_format  the bytes of a safetensors file
    checkpoint          `save_checkpoint`, `load_checkpoint`, `load_param_into_net`
"""
