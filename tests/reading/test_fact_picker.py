"""The picker of relations: merged weights tell what trained ones did, one message does not depend on another's."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from nscma_torch.errors import ModelError, ModelNotFoundError
from nscma_torch.reading.fact_picker import RELATIONS, FactPicker, PickerModel
from nscma_torch.reading.reader_input import Packer, Passage, padded_rows, target_tokens

NAMES = ["lives_in", "costs", "pet"]


def some_picker() -> PickerModel:
    torch.manual_seed(0)
    model = PickerModel(NAMES)
    with torch.no_grad():
        for parameter in model.trained().values():
            parameter.add_(torch.randn_like(parameter) * 0.02)
    return model.eval()


def test_merged_layers_do_what_the_trained_ones_did(tmp_path: Path) -> None:
    model = some_picker()
    row = Packer(model.tokenizer, 64).rows("what is told?", [Passage("I moved to Porto", speaker="Ana")])[0]
    ids, mask, _ = padded_rows([row])
    with torch.no_grad():
        logits = model(ids, mask, target_tokens([row], ids.shape[1]))
    save_file({n: p.detach().clone() for n, p in model.trained().items()}, tmp_path / "p", {RELATIONS: " ".join(NAMES)})
    picker = FactPicker.from_pretrained(tmp_path / "p")
    assert picker.relations == tuple(NAMES)
    picked = picker.picks([[Passage("I moved to Porto", speaker="Ana")]])
    assert torch.allclose(picked, logits.sigmoid(), atol=1e-5)
    assert not torch.allclose(picked[0, 0], picked[0, 1], atol=1e-4)


def test_a_message_is_picked_alike_alone_and_beside_others() -> None:
    picker = FactPicker(some_picker())
    messages = [
        [Passage("I moved to Porto", speaker="Ana")],
        [Passage("Where?", speaker="Ben", context=True), Passage("the lamp was 40 euros " * 30, speaker="Ana")],
        [Passage("ok", speaker="Ben")],
    ]
    together = picker.picks(messages)
    alone = torch.cat([picker.picks([message]) for message in messages])
    assert torch.allclose(together, alone, atol=1e-5)


def test_the_turns_before_are_read_but_the_message_is_what_counts() -> None:
    model = some_picker()
    packer = Packer(model.tokenizer, 64)
    row = packer.rows("what is told?", [Passage("hm, and now", context=True), Passage("six")])[0]
    target = target_tokens([row], len(row.ids))
    assert [row.ids[i] for i in target[0].nonzero().flatten().tolist()] == model.tokenizer.encode("six").ids[1:-1]


def test_what_is_no_picker_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match=r"missing.*nothing"):
        FactPicker.from_pretrained(tmp_path / "nothing")
    save_file({"head.bias": torch.zeros(3)}, tmp_path / "other", {RELATIONS: " ".join(NAMES)})
    with pytest.raises(ModelError, match="no picker of this version"):
        FactPicker.from_pretrained(tmp_path / "other")
    save_file({"head.bias": torch.zeros(3)}, tmp_path / "bare")
    with pytest.raises(ModelError, match="does not hold a picker"):
        FactPicker.from_pretrained(tmp_path / "bare")
