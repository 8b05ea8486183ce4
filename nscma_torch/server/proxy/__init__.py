"""OpenAI's chat completions with a memory: in front of vLLM, llama.cpp or Ollama. See docs/proxy.md."""
