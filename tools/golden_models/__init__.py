"""Small random models of every family, with reference results: see ../make_model_golden.py."""
