# SPDX-License-Identifier: GPL-2.0
"""Getting the base kernel: apt's sources, downloads, and what can be wrong with them."""

import contextlib
import io
import shutil
import subprocess
import tarfile
from pathlib import Path
from unittest import mock, skipUnless

from runner import apt, git, packages, paths, proc, source
from runner.errors import Trouble
from runner.paths import Cache
from runner.tests.fakes import TempCase
from runner.variants import ARCHES

DEB822 = """\
# a comment
Types: deb deb-src
URIs: http://mirror.example/debian
# in between
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://mirror.example/debian-security
Suites: bookworm-security
Components: main

Enabled: no
Types: deb
URIs: http://disabled.example/debian
Suites: bookworm
Components: main
"""
ONE_LINE = """\
# deb http://commented.example/debian bookworm main
deb-src http://src.example/debian bookworm main
deb http://packages.example/apt cloud-bookworm main
deb [arch=amd64 signed-by=/usr/share/keyrings/other.gpg] http://other.example/debian bookworm main
deb [arch=amd64] http://one.example/debian/ bookworm main contrib # mine
deb http://security.example/debian-security bookworm-security main
"""


class SourceCase(TempCase):
    """With a cache of its own, and what is printed kept."""

    def setUp(self) -> None:
        super().setUp()
        self.cache = Cache(self.dir / "cache")
        self.cache.src.mkdir(parents=True)
        self.out = io.StringIO()
        redirect = contextlib.redirect_stdout(self.out)
        redirect.__enter__()
        self.addCleanup(redirect.__exit__, None, None, None)

    def deb(self, data: bytes = b"package") -> Path:
        """A package as fetch() leaves it."""
        path = self.cache.src / "linux-source-7.3_7.3.4-1_all.deb"
        path.write_bytes(data)
        path.with_name(path.name + ".sha256").write_text(f"{source.digest(path)}  x\n")
        return path


class Sources(SourceCase):
    """apt.debian_uris()"""

    def uris(self, **files: str) -> list[str]:
        """What it finds in those files."""
        etc = self.dir / "etc"
        for name, text in files.items():
            path = etc / name.replace("__", "/").replace("_dot_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return apt.debian_uris(etc)

    def test_deb822(self) -> None:
        self.assertEqual(self.uris(**{"sources.list.d__debian_dot_sources": DEB822}),
                         ["http://mirror.example/debian"])

    def test_one_line(self) -> None:
        self.assertEqual(self.uris(sources_dot_list=ONE_LINE), ["http://one.example/debian/"])

    def test_neither(self) -> None:
        with self.assertRaisesRegex(Trouble, "no Debian archive.*KDIR="):
            self.uris(sources_dot_list="")


class Downloads(SourceCase):
    """Cached, corrupt, or not to be had."""

    def test_cached_is_used(self) -> None:
        deb = self.deb()
        self.assertEqual(source.fetched(self.cache), deb)

    def test_corrupt_is_named_and_fetched_again(self) -> None:
        deb = self.deb()
        deb.write_bytes(b"pack\0ge")
        self.assertIsNone(source.fetched(self.cache))
        self.assertIn(f"{deb} is corrupt", self.out.getvalue())
        self.assertFalse(deb.exists())

    def test_without_its_checksum_it_is_not_trusted(self) -> None:
        deb = self.deb()
        deb.with_name(deb.name + ".sha256").unlink()
        self.assertIsNone(source.fetched(self.cache))

    def test_no_network_and_no_cache(self) -> None:
        def fail(*_: object) -> None:
            (self.cache.root / "fetch.log").write_text(
                "Err:1 x\nW: Failed to fetch x  Temporary failure resolving 'mirror.example'\n")
        with mock.patch.object(apt, "download", fail), \
                mock.patch.object(apt, "tool_present", lambda: True), \
                mock.patch.object(apt, "debian_uris", lambda: ["http://mirror.example/debian"]), \
                self.assertRaisesRegex(Trouble, "could not be fetched .*resolving.*network.*KDIR"):
            source.base_repo(self.cache)
        self.assertEqual([path.name for path in self.cache.root.rglob("*.making-*")], [])

    def test_no_disk_space(self) -> None:
        with mock.patch.object(source, "NEED", 1 << 60), \
                self.assertRaisesRegex(Trouble, "GB free"):
            source.base_repo(self.cache)
        with self.assertRaisesRegex(Trouble, "GB free at"):
            paths.need_space(self.dir / "not/there/yet", 1 << 60)

    @skipUnless(shutil.which("dpkg-deb") and shutil.which("xz"), "no dpkg-deb")
    def test_import(self) -> None:
        tree = self.dir / "linux-source-7.3"
        (tree / "mm").mkdir(parents=True)
        (tree / "Makefile").write_text("all:\n")
        (tree / "mm/run me").write_text("#!/bin/sh\n")
        (tree / "mm/run me").chmod(0o755)
        (tree / "mm/link").symlink_to("../Makefile")
        package = self.dir / "pkg"
        (package / "usr/src").mkdir(parents=True)
        (package / "DEBIAN").mkdir()
        (package / "DEBIAN/control").write_text(
            "Package: linux-source-7.3\nVersion: 7.3.4-1\nArchitecture: all\n"
            "Maintainer: x <x@localhost>\nDescription: x\n")
        with tarfile.open(package / "usr/src/linux-source-7.3.tar.xz", "w:xz") as tar:
            tar.add(tree, "linux-source-7.3")
        subprocess.run(["dpkg-deb", "-b", package, self.dir / "made.deb"], check=True,
                       capture_output=True)
        deb = self.deb((self.dir / "made.deb").read_bytes())
        repo = source.base_repo(self.cache)
        listed = git.ask(repo, "ls-tree", "-r", "v7.3.4-base")
        assert listed
        self.assertEqual([(line.split()[0], line.split("\t")[1]) for line in listed.splitlines()],
                         [("100644", "Makefile"), ("120000", "mm/link"), ("100755", "mm/run me")])
        first = git.ask(repo, "rev-parse", "base")
        paths.remove(repo)
        self.assertEqual(git.ask(source.base_repo(self.cache), "rev-parse", "base"), first)
        paths.remove(repo)
        deb.write_bytes(b"no archive at all")
        deb.with_name(deb.name + ".sha256").write_text(f"{source.digest(deb)}  x\n")
        with self.assertRaisesRegex(Trouble, "cannot be read|holds no"):
            source.base_repo(self.cache)
        self.assertFalse(repo.exists())
        self.assertEqual(list(self.cache.root.glob("*.making-*")), [])


class Packages(SourceCase):
    """Missing tools."""

    def test_no_compiler(self) -> None:
        with mock.patch.object(shutil, "which", lambda _: None), \
                self.assertRaisesRegex(Trouble, "no compiler for arm64: install "):
            packages.compiler_version(ARCHES["arm64"])

    def test_nobody_who_may_install(self) -> None:
        missing = [packages.Package("flex", "no-such-command-a"),
                   packages.Package("bison", "no-such-command-b")]
        with mock.patch.object(packages, "_as_root", lambda: None), \
                mock.patch.object(shutil, "which", lambda name: "/usr/bin/apt-get"
                                  if name == "apt-get" else None), \
                self.assertRaisesRegex(Trouble, "type: apt-get install bison flex$"):
            packages.ensure(missing, self.cache)

    def test_only_the_download_can_be_cut_short(self) -> None:
        did: list[str] = []

        def run(how: str, argv: list[str]) -> int:
            did.append(f"{how} {argv[1]} {'-d' if '--download-only' in argv else ''}".strip())
            return 0
        with mock.patch.object(packages, "_as_root", lambda: []), \
                mock.patch.object(shutil, "which", lambda name: "/usr/bin/apt-get"
                                  if name == "apt-get" else None), \
                mock.patch.object(proc, "capture", lambda *_, **__: mock.Mock(returncode=1)), \
                mock.patch.object(proc, "run_logged", lambda argv, *_, **__: run("cut", argv)), \
                mock.patch.object(proc, "run_to_end", lambda argv, *_, **__: run("end", argv)), \
                self.assertRaisesRegex(Trouble, "could not install flex"):
            packages.ensure([packages.Package("flex", "no-such-command-a")], self.cache)
        self.assertEqual(did, ["cut update", "cut install -d", "end install"])

    def test_nothing_missing_costs_nothing(self) -> None:
        with mock.patch.object(packages, "_as_root", side_effect=AssertionError):
            packages.ensure([packages.Package("coreutils", "ls"),
                             packages.Package("base", "/etc")], self.cache)
