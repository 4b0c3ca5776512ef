"""Shared by the training commands: the data, byte-level BPE, the loop, Hugging Face folders."""
