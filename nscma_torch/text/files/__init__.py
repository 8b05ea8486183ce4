"""Convert files to messages: JSON, Markdown, plain text."""
