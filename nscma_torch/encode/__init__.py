"""From messages to stored units: weigh, chunk, embed, index, extract; also edit, erase, replay and embed anew."""
