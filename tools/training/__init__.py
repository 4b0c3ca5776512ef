"""What the two training commands share: the data, byte-level BPE, the loop, Hugging Face folders."""
