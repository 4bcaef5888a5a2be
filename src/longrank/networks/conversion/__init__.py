"""Convert published checkpoints to folders of safetensors: PyTorch files, old names, heads, tokenizers.

sources   the files of a checkpoint: a file, a folder, or a Hugging Face name
reading   tensors of PyTorch files, by ``torch.load(weights_only=True)``
names     names of tensors as transformers writes them today
heads     the head that the tensors hold
writing   the new folder with its model card
"""
