"""Find a model's folder on this machine. Nothing is downloaded; fetch the model once with `hf download NAME`."""

from __future__ import annotations

from pathlib import Path

from nscma_torch.core.errors import ModelNotFoundError
from nscma_torch.core.extras import require


def model_folder(name: str, *, kind: str, purpose: str) -> Path:
    """Return the folder that contains a model, given as a folder or as a name in the local Hugging Face cache.

    `kind` ("embedding model") and `purpose` are used in the error messages. Raises `ModelNotFoundError` or
    `MissingDependencyError`.
    """
    hub = require("huggingface_hub", extra="hf", purpose=purpose)
    errors = require("huggingface_hub.errors", extra="hf", purpose=purpose)
    if Path(name).is_dir():
        return Path(name)
    try:
        return Path(hub.snapshot_download(name, local_files_only=True))
    except errors.HFValidationError as error:
        raise ModelNotFoundError(
            f"{name!r} is neither a folder nor a model name; give a folder, or a name like 'BAAI/bge-m3'"
        ) from error
    except errors.LocalEntryNotFoundError as error:
        raise ModelNotFoundError(
            f"the {kind} {name!r} is not on this machine, and nothing is downloaded automatically; "
            f"run `hf download {name}` once, or give its folder"
        ) from error
