"""What stores in files need of a disk: a lock beside a file, and a replacement that is whole or not there."""

from __future__ import annotations

import contextlib
import os
import stat
import sys

from commonboard.errors import StoreLockedError

Signature = tuple[int, int, int]
"""By what a file is known again: its inode, its size in bytes, and when it was changed (nanoseconds)."""


class SidecarLock:
    """The right to change a file, which one process has at a time: a lock on a file beside it.

    The system frees the lock when the process ends, however it ends. The file beside stays there: if one process took
    it away, two others could each lock a file of that name.

    Args:
        path: the lock file; made if there is none.

    Raises:
        StoreLockedError: another process has the lock.
        OSError: the file cannot be made, or the file system has no locks.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._fd = _locked(path)
        while not self.is_there():  # somebody took the file away between our opening and our locking it
            os.close(self._fd)
            self._fd = _locked(path)
        with contextlib.suppress(OSError):  # the number is for the other process's message, nothing rests on it
            os.ftruncate(self._fd, 0)
            os.write(self._fd, b"%d\n" % os.getpid())

    def is_there(self) -> bool:
        """Whether the file at the path is still the one that is locked."""
        try:
            there, mine = os.stat(self.path), os.fstat(self._fd)
        except FileNotFoundError:
            return False
        return (there.st_dev, there.st_ino) == (mine.st_dev, mine.st_ino)

    def release(self) -> None:
        """Free the lock."""
        _unlock(self._fd)
        os.close(self._fd)

    def let_go(self) -> None:
        """Close the file without freeing the lock: a forked child shares it, and it is the parent's."""
        os.close(self._fd)


def signature(path: str) -> Signature:
    """What the file at the path is known by now.

    Raises:
        OSError: there is none, or it cannot be looked at.
    """
    found = os.stat(path)
    return found.st_ino, found.st_size, found.st_mtime_ns


def write_beside(path: str, temporary: str, data: bytes) -> Signature:
    """Write the data to a temporary file and force them to the disk; `os.replace` then puts it in the place of `path`.

    The new file has the permissions of the one that it will replace.

    Returns:
        What the file will be known by, before and after it is renamed.

    Raises:
        OSError: something failed; the temporary file may be there.
    """
    mode = stat.S_IMODE(os.stat(path).st_mode) if os.path.exists(path) else None

    def opener(name: str, flags: int) -> int:
        return os.open(name, flags | getattr(os, "O_NOFOLLOW", 0), 0o666 if mode is None else mode)

    with open(temporary, "wb", opener=opener) as file:
        if mode is not None and hasattr(os, "fchmod"):
            os.fchmod(file.fileno(), mode)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return signature(temporary)


def sync_folder(path: str) -> None:
    """Force the folder's list of names to the disk, so that a renamed file survives a power cut; Windows has no such call.

    Raises:
        OSError: the disk failed.
    """
    if sys.platform == "win32":
        return
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _locked(path: str) -> int:
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        _lock(fd)
    except OSError as error:
        holder = "another process" if sys.platform == "win32" else f"process {os.read(fd, 20).decode('ascii', 'replace').strip()}"
        os.close(fd)
        if isinstance(error, BlockingIOError | PermissionError):
            raise StoreLockedError(f"{path} is locked by {holder}") from None
        raise
    return fd


if sys.platform == "win32":
    import msvcrt

    def _lock(fd: int) -> None:
        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)

    def _unlock(fd: int) -> None:
        os.lseek(fd, 0, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_UNLCK, 1)
else:
    import fcntl

    def _lock(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _unlock(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_UN)
