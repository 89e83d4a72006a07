# SPDX-License-Identifier: GPL-2.0
"""The base kernel: Debian's linux-source package as a git repository, made once."""

import contextlib
import hashlib
import os
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from runner import apt, proc
from runner.errors import Trouble
from runner.packages import read_lines
from runner.paths import GIB, Cache, need_space, remove
from runner.progress import Progress

SERIES = "7.3"
PACKAGE = f"linux-source-{SERIES}"
SUITES = ("trixie-backports", "forky", "sid")  # tried in this order
NEED = 6 * GIB

# A fixed author and date make the commit the same on every machine.
WHO = "ptebatch <ptebatch@localhost> 0 +0000"


def base_objects(cache: Cache) -> list[Path]:
    """Where the base kernel's git objects are, if it has been made yet."""
    objects = cache.root / f"linux-{SERIES}" / "objects"
    return [objects] if objects.is_dir() else []


def base_repo(cache: Cache) -> Path:
    """Return the bare repository of the base kernel, HEAD at its only commit.

    Makes it first if it is not there: fetches the package, or uses the one
    already fetched. Needs the cache's lock. Raises Trouble.
    """
    repo = cache.root / f"linux-{SERIES}"
    if (repo / "HEAD").exists():
        return repo
    need_space(cache.root, NEED)
    deb = fetched(cache) or fetch(cache)
    making = cache.temp_beside(repo)
    try:
        import_package(deb, making)
        os.rename(making, repo)
    finally:
        remove(making)
    return repo


def digest(path: Path) -> str:
    """SHA-256 of a file, in hex."""
    total = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            total.update(block)
    return total.hexdigest()


def fetched(cache: Cache) -> Path | None:
    """Return the package fetched earlier if it is still what was fetched then."""
    debs = sorted(cache.src.glob(f"{PACKAGE}_*.deb"), key=lambda deb: deb.stat().st_mtime)
    for deb in reversed(debs):
        note = deb.with_name(deb.name + ".sha256")
        if note.exists() and note.read_text().split()[:1] == [digest(deb)]:
            return deb
        print(f"{deb} is corrupt (its SHA-256 is not that of the download): fetching it again",
              flush=True)
        remove(deb)
        remove(note)
    return None


def fetch(cache: Cache) -> Path:
    """Fetch the package from the Debian archive this machine already uses."""
    if not apt.tool_present():
        raise Trouble("no apt here to fetch the kernel source with: "
                      "point KDIR= at a kernel tree instead")
    log = cache.root / "fetch.log"
    log.unlink(missing_ok=True)
    state = cache.temp_beside(cache.src / "apt")
    try:
        with Progress(f"fetching {PACKAGE}") as progress:
            for deb in apt.downloads(PACKAGE, SUITES, state, log):
                return _keep(deb, cache)
            progress.say("failed")
    finally:
        remove(state)
    raise Trouble(f"{PACKAGE} is not in {cache.src} and could not be fetched ({_why(log)}; "
                  f"{log}): connect to the network, or point KDIR= at a kernel tree")


def _keep(deb: Path, cache: Cache) -> Path:
    # The checksum goes first: a package without one is not trusted.
    kept = cache.src / deb.name
    kept.with_name(kept.name + ".sha256").write_text(f"{digest(deb)}  {deb.name}\n")
    os.replace(deb, kept)
    return kept


def _why(log: Path) -> str:
    reasons = [line[2:].strip() for line in read_lines(log) if line.startswith(("E:", "W:"))]
    return reasons[0][:160] if reasons else "apt gave no reason"


def import_package(deb: Path, repo: Path) -> None:
    """Turn the package's tarball into the bare repository repo, one commit, one tag.

    The tarball streams into git fast-import: nothing is unpacked on disk.
    """
    version = deb.name.split("_")[1].partition("-")[0]
    with Progress(f"making a git tree of Linux {version}") as progress:
        remove(repo)
        git = ["git", "-c", "init.defaultBranch=base", "init", "-q", "--bare", str(repo)]
        made = proc.capture(git, env=git_env())
        if made.returncode:
            raise Trouble(f"cannot make {repo}: {made.stderr.strip()}")
        importer = ["git", "-C", str(repo), "-c", "core.compression=1", "-c", "pack.compression=1",
                    "-c", "fastimport.unpackLimit=0", "fast-import", "--quiet", "--depth=0"]
        with proc.group(importer, env=git_env(), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                        stderr=subprocess.PIPE) as child:
            assert child.stdin and child.stderr
            try:
                with _tarball(deb) as stream:
                    count = _write(stream, child.stdin, version, progress)
                child.stdin.close()
                status = child.wait()
            except (tarfile.TarError, EOFError, BrokenPipeError) as error:
                raise Trouble(f"{deb} cannot be read ({error}): remove it and run again") from error
            except OSError as error:
                raise Trouble(f"cannot make {repo}: {error.strerror}") from error
            if status:
                raise Trouble(f"git fast-import failed: {child.stderr.read().decode().strip()[:300]}")
        progress.say(f"{count} files")


def git_env() -> dict[str, str]:
    """The environment for git on our own repositories: nobody's configuration counts."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    return env | {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C",
                  "GIT_AUTHOR_NAME": "ptebatch", "GIT_AUTHOR_EMAIL": "ptebatch@localhost",
                  "GIT_COMMITTER_NAME": "ptebatch", "GIT_COMMITTER_EMAIL": "ptebatch@localhost",
                  "GIT_AUTHOR_DATE": "@1 +0000", "GIT_COMMITTER_DATE": "@1 +0000"}


@contextlib.contextmanager
def _tarball(deb: Path) -> Iterator[IO[bytes]]:
    """Open the uncompressed kernel tarball inside the package."""
    with proc.group(["dpkg-deb", "--fsys-tarfile", deb], stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL) as outer:
        assert outer.stdout
        with tarfile.open(fileobj=outer.stdout, mode="r|") as package:
            for member in package:
                if member.name.endswith(f"/{PACKAGE}.tar.xz"):
                    data = package.extractfile(member)
                    assert data
                    yield data
                    return
    raise Trouble(f"{deb} holds no {PACKAGE}.tar.xz: remove it and run again")


def _write(compressed: IO[bytes], out: IO[bytes], version: str, progress: Progress) -> int:
    """Write the tarball to git fast-import; returns the number of files."""
    entries: list[bytes] = []
    marks: dict[str, int] = {}
    with tarfile.open(fileobj=compressed, mode="r|xz") as tree:
        for member in tree:
            path = member.name.removeprefix("./").partition("/")[2]
            if not path or member.isdir():
                continue
            mode = b"100755" if member.mode & 0o100 else b"100644"
            if member.islnk():
                mark = marks[member.linkname.removeprefix("./").partition("/")[2]]
            else:
                mark = len(marks) + 1
                if member.issym():
                    mode, data = b"120000", member.linkname.encode()
                else:
                    file = tree.extractfile(member)
                    data = file.read() if file else b""
                out.write(b"blob\nmark :%d\ndata %d\n%b\n" % (mark, len(data), data))
            marks[path] = mark
            entries.append(b"M %b :%d %b\n" % (mode, mark, path.encode()))
            progress.tick(f"{len(entries)} files")
    message = f"Linux {version}, as in {PACKAGE}\n".encode()
    out.write(b"commit refs/heads/base\ncommitter %b\ndata %d\n%b\n"
              % (WHO.encode(), len(message), message))
    out.writelines(sorted(entries))
    out.write(b"\nreset refs/tags/v%b-base\nfrom refs/heads/base\n\n" % version.encode())
    return len(entries)
