"""Files to messages: JSON, Markdown, plain text."""
