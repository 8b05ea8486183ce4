"""What other memories and chat services export, as messages: mem0, MemPalace, ChatGPT and Claude."""
