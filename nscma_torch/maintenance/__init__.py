"""Operations across all capabilities: check, digest, erase, edit, export, import, copy, re-embed."""
