"""Read exports of other memories and chat services as messages: mem0, MemPalace, ChatGPT and Claude."""
