"""Copy a store, or one user in it, to another store of either kind, and verify that the copy is equal."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

from sqlalchemy import select

from nscma_torch.core.database.database import ALL_USERS, Database, user_or_all
from nscma_torch.core.database.schema import users
from nscma_torch.core.errors import StoreFormatError
from nscma_torch.maintenance import transfer
from nscma_torch.maintenance.digest import digest


def copy(
    source: Database, target: Database, *, user_id: str | None = None, progress: Callable[[int], None] | None = None
) -> tuple[int, int]:
    """Copy the source's current rows to the target, all or nothing; return the numbers of users and rows copied.

    The source is unchanged, and others can write to it meanwhile, because the copy is a snapshot. The target can
    already contain other users. Row numbers are reassigned; each user's `digest` is compared before the commit.

    Raises:
        NotFoundError: the source has no such user.
        InvalidInputError: the target already contains one of the users.
        EmbedderMismatchError: the target's vectors come from a different embedder.
        StoreFormatError: a user's copy differs; the target is unchanged.
    """
    with (
        source.read(user_or_all(user_id)) as taken,
        target.write(ALL_USERS) as given,
        closing(transfer.export(taken, user_id)) as lines,  # before the snapshot that it reads ends
    ):
        rows = transfer.import_(given, lines, user_id=user_id, progress=progress)
        copied = [user_id] if user_id is not None else list(taken.execute(select(users.c.user_id)).scalars())
        for user in copied:
            if digest(taken, user) != digest(given, user):
                raise StoreFormatError(
                    f"user {user!r} differs in {target.name} after copying; nothing was copied; "
                    f"check {source.name} with `nscma doctor`"
                )
    return len(copied), rows
