# SPDX-License-Identifier: GPL-2.0
"""Writing an initramfs: a cpio archive, which needs no root to hold devices."""

import stat
from pathlib import Path

HEADER = "070701"
TRAILER = "TRAILER!!!"


class Archive:
    """An archive in the making; folders must be added before what is in them."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.count = 0

    def _entry(self, name: str, mode: int, data: bytes = b"",
               device: tuple[int, int] = (0, 0)) -> None:
        self.count += 1
        encoded = name.encode() + b"\0"
        # inode, mode, uid, gid, links, mtime, size, device, its own device, name, checksum
        fields = (self.count, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(encoded), 0)
        head = HEADER + "".join(f"{field:08x}" for field in fields)
        self.parts += [_padded(head.encode() + encoded), _padded(data)]

    def folder(self, name: str) -> None:
        """Add a folder."""
        self._entry(name, stat.S_IFDIR | 0o755)

    def file(self, name: str, data: bytes) -> None:
        """Add an executable file."""
        self._entry(name, stat.S_IFREG | 0o755, data)

    def link(self, name: str, target: str) -> None:
        """Add a symbolic link."""
        self._entry(name, stat.S_IFLNK | 0o777, target.encode())

    def device(self, name: str, major: int, minor: int) -> None:
        """Add a character device."""
        self._entry(name, stat.S_IFCHR | 0o666, device=(major, minor))

    def write(self, path: Path) -> None:
        """End the archive and write it."""
        self._entry(TRAILER, 0)
        path.write_bytes(b"".join(self.parts))


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)
