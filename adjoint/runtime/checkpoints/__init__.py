"""Files of parameters, in MindSpore's formats."""
