"""One JSON file, in the format that open-multi-agent uses."""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

from commonboard.entry import check_text, utc_now
from commonboard.errors import (
    CommonboardError,
    InvalidArgumentError,
    StoreClosedError,
    StoreFileError,
    StoreLockedError,
    StoreReadOnlyError,
    StoreWriteError,
)
from commonboard.rule import Board, Change
from commonboard.stores.board_file import BoardFile, BoardText, board_of, parse, taken_in
from commonboard.stores.disk import SidecarLock, Signature, signature, sync_folder, write_beside
from commonboard.stores.in_memory import Clock, InMemoryStore

_OPEN_HERE: dict[str, FileStore] = {}
"""The stores that this process has open for writing, by their real path."""
_POLL_SECONDS = 0.1


class FileStore(InMemoryStore):
    """A board in one JSON file, which one process writes and any number may read.

    The file is open-multi-agent's format, version 1: its programs can open it, and it opens theirs. Versions, the floor
    and the newest events are kept in one more top-level field, `commonboard`.

    **Writing.** Every write writes the whole file anew: to a temporary file beside it, forced to the disk, then renamed.
    A crash leaves the old file or the new one. Only then does the memory change, so a failed write changes nothing. It
    happens in the call, so the event loop stands still meanwhile: some milliseconds for a thousand short entries, more
    than a tenth of a second for twenty megabytes. That suits a board that a person could read, and agents that think for
    seconds; where nothing needs to outlive the program, `InMemoryStore` is a thousand times faster.

    **One process.** A lock on `<path>.lock` refuses a second process; the lock file stays behind. In the same process a
    second opener takes the file over, so a notebook's cell can be run again; the older object then refuses to work. With
    `readonly=True` there is no lock and no write: each call looks whether the file has changed, and reads it if so.

    **Other programs.** Whoever else edits the file (open-multi-agent, a person) does not know of the lock. Each call looks
    whether the file is still the one that was written last. If not, what was changed enters the log as `import` events, and
    as `delete` events where an entry is gone. Nobody can notice an edit that falls between that look and the rename.
    Versions go on from those that are known. If the field `commonboard` was dropped while nobody had the file open, no
    version is known any more; the versions and the log then begin at the time in microseconds, which is above any that
    counting has given out. Top-level fields of others are kept. Versions do not survive that you put back an old copy of
    the file, or delete it: a missing file is an empty board that begins at 0. While such an edit waits for a writer, the
    versions that a `readonly` store gives to the edited entries are its own guess: it counts on from what it knows, or
    from 0.

    Args:
        path: the file; it and its folder are made when needed.
        readonly: read only, beside whoever writes; the file must be there.
        clock: what the time is, as for `InMemoryStore`.
        keep_events: how many of the newest events the file keeps.

    Raises:
        StoreFileError: the file is corrupt, newer, or no file. It is left as it is; nothing begins anew in its place.
        StoreLockedError: another process has it open for writing.
        StoreWriteError: it cannot be written there.
    """

    def __init__(
        self, path: str | os.PathLike[str], readonly: bool = False, *, clock: Clock = utc_now, keep_events: int = 1000
    ) -> None:
        if isinstance(keep_events, bool) or not isinstance(keep_events, int) or keep_events < 1:
            raise InvalidArgumentError(f"keep_events must be a whole number of at least 1, not {keep_events!r}")
        super().__init__(clock=clock)
        self.path = os.fspath(path) if isinstance(path, os.PathLike) else path
        check_text(self.path, "the path of the file")
        self.path = os.path.expanduser(self.path)
        self.readonly = readonly
        self._file = os.path.realpath(self.path)
        self._keep = keep_events
        self._text = BoardText()
        self._extra: dict[str, Any] = {}
        self._seen: Signature | None = None
        self._renaming: tuple[Signature, Board] | None = None
        self._process = os.getpid()
        self._closed = ""
        self._lock: SidecarLock | None = None
        self._refuse_what_is_no_file()
        if readonly:
            self._look_at_file()
        else:
            self._open_for_writing()

    def __repr__(self) -> str:
        how = "closed, " if self._closed else "readonly, " if self.readonly else ""
        return (
            f"FileStore({self.path!r}, {how}{len(self._board.entries)} entries, {self._board.seq - self._board.dropped} events)"
        )

    def close(self) -> None:
        """Free the lock. Every write is on the disk already. Closing twice is fine."""
        if not self._closed:
            self._end("it was closed; open it again with FileStore(path)")
            if self._lock is not None and self._process == os.getpid():
                _OPEN_HERE.pop(self._file, None)
                self._lock.release()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    # --- what InMemoryStore asks ---

    def _now(self) -> Board:
        if self._closed:
            raise StoreClosedError(f"{self.path} cannot be used through this object: {self._closed}")
        if self._process != os.getpid() and not self.readonly:
            raise StoreClosedError(
                f"{self.path} was opened by process {self._process}, which this one ({os.getpid()}) was forked from; "
                "open it here with readonly=True, or let the other process write"
            )
        self._look_at_file()
        return self._board

    def _to_change(self) -> Board:
        if self.readonly:
            raise StoreReadOnlyError(f"{self.path} was opened with readonly=True; open it without, to write to it")
        return self._now()

    def _make_so(self, changes: Sequence[Change], forget: bool = False) -> None:
        if changes or (forget and self._board.gone):
            board = self._board.copy()
            board.apply(changes)
            if forget:
                board.raise_floor()
            self._write(board)

    async def _rest(self, wake: asyncio.Event) -> None:
        with contextlib.suppress(TimeoutError):  # another process, which cannot wake us, may have written
            async with asyncio.timeout(_POLL_SECONDS):
                await wake.wait()

    # --- opening ---

    def _refuse_what_is_no_file(self) -> None:
        try:
            mode = os.stat(self._file).st_mode
        except FileNotFoundError:
            if self.readonly:
                raise StoreFileError(
                    f"{self.path} does not exist; open it without readonly to make it, or check the path"
                ) from None
            return
        except OSError as error:
            raise StoreFileError(f"{self.path} cannot be opened: {error.strerror}") from None
        if stat.S_ISDIR(mode):
            inside = os.path.join(self.path, "board.json")
            raise StoreFileError(f"{self.path!r} is a folder; give the path of a file, such as {inside!r}")
        if not stat.S_ISREG(mode):
            raise StoreFileError(f"{self.path} is no ordinary file, so it cannot hold a board")
        if not self.readonly and not os.access(self._file, os.W_OK):
            raise StoreWriteError(f"{self.path} may not be written; change its permissions, or open it with readonly=True")

    def _open_for_writing(self) -> None:
        older = _OPEN_HERE.get(self._file)
        lock = older._lock if older is not None else None
        if lock is None or not lock.is_there():
            lock = self._take_lock()
        self._lock = lock
        try:
            self._begin(older)
        except BaseException:
            if older is None or lock is not older._lock:
                lock.release()
            raise
        if older is not None:
            older._end("a later FileStore(path) in this process took it over; use that one")
            if older._lock is not None and older._lock is not lock:
                older._lock.release()
        _OPEN_HERE[self._file] = self

    def _take_lock(self) -> SidecarLock:
        try:
            os.makedirs(os.path.dirname(self._file), exist_ok=True)
            return SidecarLock(f"{self._file}.lock")
        except StoreLockedError as error:
            raise StoreLockedError(
                f"{self.path} is open in another process ({error}); close it there, or open it with readonly=True"
            ) from None
        except OSError as error:
            raise StoreWriteError(
                f"{self.path} cannot be opened for writing: {error.strerror} ({error.filename or self._file}); "
                "choose another folder, or open it with readonly=True"
            ) from error

    def _begin(self, older: FileStore | None) -> None:
        """Read the file, if it is there; what an older object of this process knows of its versions is still true."""
        with contextlib.suppress(FileNotFoundError):
            os.remove(self._temporary)
        if not os.path.exists(self._file):
            return
        if older is not None:
            self._board, self._seen, self._extra = older._board, older._seen, older._extra
            self._renaming = older._renaming
        self._look_at_file()

    @property
    def _temporary(self) -> str:
        return f"{self._file}.commonboard-tmp"

    def _end(self, why: str) -> None:
        self._closed = why
        self._wake()

    # --- reading ---

    def _look_at_file(self) -> None:
        """If the file is not the one that is known, take in what is there now."""
        try:
            seen = signature(self._file)
        except FileNotFoundError:
            if self._seen is None:
                return
            raise StoreFileError(
                f"{self.path} has vanished while it was open; put it back, or open the path again to begin anew"
            ) from None
        except OSError as error:
            raise StoreFileError(f"{self.path} cannot be read: {error.strerror}") from error
        if seen == self._seen:
            return
        if self._renaming is not None and self._renaming[0] == seen:
            self._seen, self._board = self._renaming  # an interrupt came right after the rename
        else:
            self._take_in(self._read(), seen)

    def _read(self) -> BoardFile:
        try:
            with open(self._file, "rb") as file:
                return parse(file.read())
        except OSError as error:
            raise StoreFileError(f"{self.path} cannot be read: {error.strerror}") from error
        except CommonboardError as error:
            raise self._no_board(error) from None

    def _take_in(self, file: BoardFile, seen: Signature) -> None:
        now = self._clock()
        # A reader believes the block. A writer who has the board believes what it knows: an old copy may have been put back.
        fresh = self._seen is None or (self.readonly and file.block is not None)
        try:
            # What a reader counts is its own guess anyway: it gives no version to anybody else.
            base = 0 if self.readonly else int(now.timestamp() * 1_000_000)
            board = board_of(file, base) if fresh else self._board
            after = taken_in(board, file.entries, now)
        except CommonboardError as error:
            raise self._no_board(error) from None
        self._extra = file.extra
        if self.readonly or (fresh and after is None and file.block is not None):
            self._board, self._seen = after or board, seen
        else:
            self._write(after or board)  # with the block as it should be

    def _no_board(self, error: CommonboardError) -> StoreFileError:
        return StoreFileError(
            f"{self.path} is not a board that can be opened: {error}. It is left as it is: mend it, or move it away to begin anew"
        )

    # --- writing ---

    def _write(self, board: Board) -> None:
        board.compact(self._keep)
        try:
            data = self._text.of(board, self._extra)
            self._renaming = write_beside(self._file, self._temporary, data), board
            os.replace(self._temporary, self._file)
        except OSError as error:
            self._renaming = None
            raise StoreWriteError(
                f"{self.path} could not be written: {error.strerror}; the file and the memory are as they were before"
            ) from error
        finally:
            with contextlib.suppress(OSError):  # there is none after a success; else the next open takes it away
                os.remove(self._temporary)
        self._seen, self._board = self._renaming
        self._renaming = None
        self._wake()
        try:
            sync_folder(os.path.dirname(self._file))
        except OSError as error:
            raise StoreWriteError(
                f"{self.path} was written, but its folder could not be forced to the disk ({error.strerror}): "
                "the write stands, and a power cut may undo it"
            ) from error


def _forked() -> None:
    """In a forked child: the locks are the parent's. Closed here, they are freed when the parent ends."""
    for store in _OPEN_HERE.values():
        if store._lock is not None:
            store._lock.let_go()
    _OPEN_HERE.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
