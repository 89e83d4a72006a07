# SPDX-License-Identifier: GPL-2.0
"""Trees: what a user's folder looks like afterwards (the same), and bad input."""

import contextlib
import hashlib
import io
import os
from pathlib import Path

from runner import git as ourgit
from runner import tree
from runner.errors import Trouble
from runner.paths import REPO, Cache
from runner.tests.fakes import TempCase, checkout, git, kernel_tree

PATCH = """\
--- a/mm/gup.c
+++ b/mm/gup.c
@@ -1 +1 @@
-int gup;
+int better;
"""


def fingerprint(folder: Path) -> dict[str, tuple[int, int, str]]:
    """Mode, modification time and content of everything below folder, .git included."""
    result = {}
    for path in sorted(folder.rglob("*")):
        stat = path.lstat()
        content = os.readlink(path) if path.is_symlink() else \
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        result[str(path)] = (stat.st_mode, stat.st_mtime_ns, content)
    return result


class TreeCase(TempCase):
    """With a cache of its own."""

    def setUp(self) -> None:
        super().setUp()
        self.cache = Cache(self.dir / "cache")
        self.user = self.dir / "linux"

    def prepare(self, *patches: Path, kdir: Path | None = None) -> tree.Tree:
        """tree.prepare() under the lock, quietly."""
        with contextlib.redirect_stdout(io.StringIO()), self.cache.locked():
            return tree.prepare(self.cache, str(kdir or self.user), patches)

    def patch(self, text: str = PATCH) -> Path:
        """A patch file."""
        path = self.dir / "0001-better.patch"
        path.write_text(text)
        return path


class Untouched(TreeCase):
    """The user's files, index, branches and stash stay as they were."""

    def test_git_checkout(self) -> None:
        checkout(self.user)
        (self.user / "mm/gup.c").write_text("int stashed;\n")
        git(self.user, "stash")
        (self.user / "mm/gup.c").write_text("int staged;\n")
        git(self.user, "add", "mm/gup.c")
        (self.user / "mm/gup.c").write_text("int dirty;\n")
        (self.user / "mm/new.c").write_text("int untracked;\n")
        os.utime(self.user / "Kbuild")  # the index's stat data is stale now
        before = fingerprint(self.user)
        made = self.prepare()
        self.prepare()
        self.assertEqual(fingerprint(self.user), before)
        self.assertEqual((made.path / "mm/gup.c").read_text(), "int dirty;\n")
        self.assertFalse((made.path / "mm/new.c").exists())
        self.assertIn("mm/gup.c", made.notes[0])
        self.assertIn("mm/new.c", made.notes[1])
        self.assertEqual(made.commit, git(self.user, "rev-parse", "HEAD").strip())

    def test_any_commit_and_linked_worktrees(self) -> None:
        checkout(self.user)
        (self.user / "mm/gup.c").write_text("int second;\n")
        git(self.user, "commit", "-qam", "second")
        git(self.user, "worktree", "add", "-q", "--detach", str(self.dir / "wt"), "HEAD~1")
        before = fingerprint(self.user)
        made = self.prepare(kdir=self.dir / "wt")
        self.assertEqual((made.path / "mm/gup.c").read_text(), "int gup;\n")
        git(self.user, "worktree", "list")
        self.assertEqual(fingerprint(self.user), before)

    def test_plain_folder(self) -> None:
        kernel_tree(self.user)
        (self.user / "mm/left.o").write_text("artefact")
        before = fingerprint(self.user)
        made = self.prepare()
        self.assertEqual(fingerprint(self.user), before)
        self.assertEqual((made.path / "mm/gup.c").read_text(), "int gup;\n")
        self.assertFalse((made.path / "mm/left.o").exists())
        self.assertEqual(made.commit, "")

    def test_plain_folder_inside_a_checkout(self) -> None:
        checkout(self.dir / "outer")
        kernel_tree(self.dir / "outer/linux")
        before = fingerprint(self.dir / "outer")
        made = self.prepare(kdir=self.dir / "outer/linux")
        self.assertEqual(fingerprint(self.dir / "outer"), before)
        self.assertEqual(made.commit, "")


class Incremental(TreeCase):
    """A second run touches only what differs, and repairs what it finds."""

    def test_unchanged_files_keep_their_time(self) -> None:
        checkout(self.user)
        made = self.prepare()
        before = {path: path.stat().st_mtime_ns for path in made.path.glob("mm/*")
                  if path.is_file()}
        (self.user / "mm/gup.c").write_text("int changed;\n")
        again = self.prepare()
        self.assertEqual(again.path, made.path)
        changed = {path.name for path, time in before.items()
                   if path.stat().st_mtime_ns != time}
        self.assertEqual(changed, {"gup.c"})

    def test_deleted_and_added_files_follow(self) -> None:
        checkout(self.user)
        self.prepare()
        (self.user / "mm/gup.c").unlink()
        (self.user / "mm/more.c").write_text("x\n")
        git(self.user, "add", "mm/more.c")
        git(self.user, "commit", "-qam", "move")
        made = self.prepare()
        self.assertFalse((made.path / "mm/gup.c").exists())
        self.assertTrue((made.path / "mm/more.c").exists())

    def test_a_damaged_tree_is_repaired(self) -> None:
        checkout(self.user)
        made = self.prepare()
        (made.path / "mm/gup.c").write_text("half")
        (made.path / "Kbuild").unlink()
        (made.path / ".git/index.lock").write_text("")
        self.prepare()
        self.assertEqual((made.path / "mm/gup.c").read_text(), "int gup;\n")
        self.assertTrue((made.path / "Kbuild").exists())

    def test_half_made_things_are_swept(self) -> None:
        stale = self.cache.trees / "linux.making-999"
        stale.mkdir(parents=True)
        with self.cache.locked():
            self.assertFalse(stale.exists())


class Hook(TreeCase):
    """mm/ptebatch and one line each in mm/Kconfig and mm/Makefile."""

    def check_hook(self, made: tree.Tree) -> None:
        """Each part is there, once."""
        self.assertEqual(os.readlink(made.path / "mm/ptebatch"), str(REPO))
        kconfig = (made.path / "mm/Kconfig").read_text()
        self.assertEqual(kconfig.count(tree.KCONFIG_LINE), 1)
        self.assertLess(kconfig.index(tree.KCONFIG_LINE), kconfig.index("endmenu"))
        self.assertEqual((made.path / "mm/Makefile").read_text().count("ptebatch/"), 1)

    def test_hook(self) -> None:
        checkout(self.user)
        self.check_hook(self.prepare())
        self.check_hook(self.prepare())

    def test_tree_that_has_it_already(self) -> None:
        checkout(self.user)
        kconfig = tree.hook_kconfig((self.user / "mm/Kconfig").read_text())
        (self.user / "mm/Kconfig").write_text(kconfig)
        makefile = tree.hook_makefile((self.user / "mm/Makefile").read_text())
        (self.user / "mm/Makefile").write_text(makefile)
        (self.user / "mm/ptebatch").symlink_to("/elsewhere")
        self.check_hook(self.prepare())
        git(self.user, "add", "-A")
        git(self.user, "commit", "-qm", "hook")
        self.check_hook(self.prepare())
        (self.user / "mm/ptebatch").unlink()
        (self.user / "mm/ptebatch").mkdir()
        (self.user / "mm/ptebatch/Kbuild").write_text("x")
        git(self.user, "add", "-A")
        git(self.user, "commit", "-qm", "a copy of it")
        self.check_hook(self.prepare())


class BadInput(TreeCase):
    """One clear line that names the problem and the way out."""

    def trouble(self, pattern: str, *patches: Path) -> None:
        """prepare() ends in such a line."""
        with self.assertRaisesRegex(Trouble, pattern) as caught:
            self.prepare(*patches)
        self.assertNotIn("\n", str(caught.exception))

    def test_not_a_kernel_tree(self) -> None:
        self.trouble("is not a folder")
        self.user.mkdir()
        (self.user / "Makefile").write_text("all:\n")
        self.trouble(r"not a Linux source tree \(no Kbuild\)")

    def test_too_old(self) -> None:
        kernel_tree(self.user)
        (self.user / "mm/internal.h").write_text("")
        self.trouble(r"too old.*folio_pte_batch_flags\(\) is not in mm/internal.h")

    def test_patch(self) -> None:
        checkout(self.user)
        made = self.prepare(self.patch())
        self.assertEqual((made.path / "mm/gup.c").read_text(), "int better;\n")
        self.assertIn("1 patch", made.origin)
        self.assertEqual((self.prepare().path / "mm/gup.c").read_text(), "int gup;\n")

    def test_patch_already_applied(self) -> None:
        checkout(self.user)
        (self.user / "mm/gup.c").write_text("int better;\n")
        self.trouble("0001-better.patch is already applied", self.patch())

    def test_patch_that_does_not_fit(self) -> None:
        checkout(self.user)
        (self.user / "mm/gup.c").write_text("int other;\n")
        self.trouble(r"0001-better.patch does not apply \(.*mm/gup.c", self.patch())
        self.trouble("no patch at", self.dir / "none.patch")

    def test_disk_full(self) -> None:
        kernel_tree(self.user)
        tree.NEED, before = 1 << 60, tree.NEED
        self.addCleanup(setattr, tree, "NEED", before)
        self.trouble("GB free at .*PTEBATCH_CACHE")

    def test_git_questions_change_nothing(self) -> None:
        self.assertIsNone(ourgit.ask(self.dir, "rev-parse", "HEAD"))
