"""Surprise by a causal language model of transformers or vLLM."""
