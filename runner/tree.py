# SPDX-License-Identifier: GPL-2.0
"""The kernel tree under test: a checkout of our own, with our hook in it.

Whatever the tree comes from (the base kernel, a user's git checkout, a plain
folder), git turns it into one tree object in a repository of ours, adds the
patches and the hook to that, and checks it out. Only files that differ from
the last time are touched, so a build goes on where it stopped; and nothing is
ever written where the user works.
"""

import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from runner import git
from runner.errors import Trouble
from runner.git import Repo
from runner.interfaces import missing_interfaces
from runner.paths import GIB, REPO, Cache, home, need_space
from runner.progress import Progress
from runner.source import SERIES, base_objects, base_repo
from runner.variants import Arch

NEED = 6 * GIB
HOOK = "mm/ptebatch"
KCONFIG_LINE = 'source "mm/ptebatch/Kconfig"'
MAKEFILE_LINE = "obj-$(CONFIG_PTEBATCH) += ptebatch/"

DIFF = re.compile(rb"^(diff --git|---) \S", re.M)

# What makes a folder a kernel tree that kunit.py can build.
MARKS = ("Makefile", "Kbuild", "mm/Kconfig", "mm/Makefile", "tools/testing/kunit/kunit.py")


@dataclass(frozen=True)
class Tree:
    """A kernel tree; ready to build once it is checked out.

    path is where it is; commit the commit it comes from ("" if none);
    origin says for people what it is; notes what they should know about it;
    id names the git tree object, so that equal kernels have equal ids.
    """

    path: Path
    commit: str
    origin: str
    notes: tuple[str, ...] = ()
    id: str = ""

    def build_dir(self, arch: str, variant: str) -> Path:
        """Where that kernel is built.

        Right below the tree, as kunit.py's own .kunit: kbuild then uses only
        relative paths, and ccache's hits carry over to other trees.
        """
        return self.path / f".kunit-{arch}-{variant}"

    def check_out(self) -> None:
        """Make the files on disk be this tree."""
        if (self.path / "Makefile").exists():
            check_out(Repo(self.path), self.id, self.commit)
            return
        with Progress(f"unpacking {self.origin}"):
            check_out(Repo(self.path), self.id, self.commit)


@dataclass(frozen=True)
class Origin:
    """A kernel without our hook, to make trees from: a snapshot in a repository of ours.

    snapshot is a commit or a tree object; the rest is as in Tree.
    """

    repo: Repo
    snapshot: str
    commit: str
    name: str
    notes: tuple[str, ...] = ()

    def tree(self, files: Sequence[Path] = ()) -> Tree:
        """The tree with those patches applied; raises Trouble if one does not fit."""
        return self._tree(with_hook(self.repo, self.snapshot, files), len(files))

    def tree_of(self, treeish: str, patches: int) -> Tree:
        """The tree of a commit made from this origin by that many patches."""
        return self._tree(with_hook(self.repo, treeish, ()), patches)

    def _tree(self, name: str, patches: int) -> Tree:
        more = f" + {patches} patch{'es' if patches > 1 else ''}" if patches else ""
        return Tree(self.repo.path, self.commit, self.name + more, self.notes, name)


def prepare(cache: Cache, kdir: str | None, patches: Sequence[Path] = ()) -> Tree:
    """Make the tree to test: from kdir, or from the base kernel if that is None.

    Needs the cache's lock. Raises Trouble for anything wrong with kdir.
    """
    files = expand(patches)
    tree = open_origin(cache, kdir).tree(files)
    tree.check_out()
    check_new_enough(tree, kdir)
    return tree


def open_origin(cache: Cache, kdir: str | None) -> Origin:
    """Bring kdir, or the base kernel if that is None, into a repository of ours.

    Needs the cache's lock. Raises Trouble for anything wrong with kdir.
    """
    if kdir is None:
        source = base_repo(cache)
        tag = git.ask(source, "describe", "--tags", "base") or SERIES
        version = f"Linux {tag.removeprefix('v').removesuffix('-base')}"
        name, objects, user = "base", [source / "objects"], None
    else:
        user = home(kdir)
        check_kernel_tree(user)
        user = user.resolve()
        name = f"{user.name}-{hashlib.sha256(str(user).encode()).hexdigest()[:8]}"
        # Most of a kernel is the same everywhere: what the base has is not stored again.
        objects = [*user_objects(user), *base_objects(cache)]
        version = str(user)
    path = cache.trees / name
    if not (path / "Makefile").exists():
        need_space(cache.root, NEED)
    repo = Repo(path)
    with Progress(f"preparing {version}") as progress:
        repo.create(objects)
        if user is None:
            commit = git.ask(source, "rev-parse", "base") or ""
            repo.run("update-ref", "refs/heads/base", commit)
            made = Origin(repo, commit, commit, version)
        else:
            snapshot, commit, origin, notes = snapshot_user(repo, user)
            made = Origin(repo, snapshot, commit, origin, tuple(notes))
        progress.say(made.name)
    return made


def check_new_enough(tree: Tree, kdir: str | None) -> None:
    """Raise Trouble if the checked out tree, made from kdir, lacks what the suite calls."""
    missing = missing_interfaces(tree.path) if kdir is not None else []
    if missing:
        raise Trouble(f"{kdir} is too old (or too new) for this suite: {missing[0]}"
                      + (f", and {len(missing) - 1} more" if missing[1:] else "")
                      + "; use Linux 7.3 or later, or leave KDIR out")


def expand(patches: Sequence[Path]) -> list[Path]:
    """Replace folders by the patches in them, in order; absolute paths."""
    files: list[Path] = []
    for patch in patches:
        found = sorted(patch.glob("*.patch")) if patch.is_dir() else [patch]
        # A cover letter has no diff.
        found = [file for file in found if not file.name.startswith("0000-")]
        if not found or not all(file.is_file() for file in found):
            raise Trouble(f"no patch at {patch}: name a file, or a folder of *.patch files")
        for file in found:
            if not DIFF.search(file.read_bytes()):
                raise Trouble(f"{file} holds no diff: name what git format-patch or git diff made")
        files += [file.absolute() for file in found]
    return files


def look(kdir: str | None, patches: Sequence[Path] = ()) -> list[Path]:
    """Raise Trouble for a tree or patch that is not there: before a download, or a wait.

    Returns the patches as expand() does.
    """
    if kdir is not None:
        check_kernel_tree(home(kdir))
    return expand(patches)


def check_kernel_tree(path: Path) -> None:
    """Raise Trouble unless path looks like a kernel tree with kunit.py in it."""
    if not path.is_dir():
        raise Trouble(f"KDIR={path} is not a folder: point it at a Linux source tree")
    for mark in MARKS:
        if not (path / mark).exists():
            raise Trouble(f"KDIR={path} is not a Linux source tree (no {mark}): "
                          "point it at the top of one")


def is_checkout(user: Path) -> bool:
    """Is user the top of a git checkout (and not a folder inside another one)?"""
    top = git.ask(user, "rev-parse", "--show-toplevel")
    return top is not None and Path(top).resolve() == user \
        and git.ask(user, "rev-parse", "--verify", "HEAD^{commit}") is not None


def user_objects(user: Path) -> list[Path]:
    """Where the user's git objects are, to borrow them; none for a plain folder."""
    if not is_checkout(user):
        return []
    store = git.ask(user, "rev-parse", "--git-path", "objects")
    return [(user / store).resolve()] if store else []


def snapshot_user(repo: Repo, user: Path) -> tuple[str, str, str, list[str]]:
    """Record what is on disk at user as a tree object in repo.

    Returns the tree, the commit it is based on, what to call it, and notes.
    """
    theirs = Repo(repo.path, work=user, index="user-index")
    if not is_checkout(user):
        theirs("add", "-A", "-f", "--", ".", ":!.git", f":!{HOOK}", *ARTEFACTS)
        return theirs("write-tree"), "", f"the folder {user}", []
    commit = git.ask(user, "rev-parse", "HEAD") or ""
    # Keeps what the index knows about unchanged files: only others are read.
    theirs("read-tree", "--reset", commit)
    # Refreshing and comparing only read. Adding what has not changed would
    # "write" objects their store has, and touch the time stamp of their pack.
    theirs.run("update-index", "-q", "--refresh")
    differ = theirs("diff-files", "--name-only", "-z")
    theirs("update-index", "--remove", "-z", "--stdin", data=differ.encode())
    tree = theirs("write-tree")
    changed = theirs("diff-tree", "-r", "--name-only", commit, tree).splitlines()
    origin = f"{user} at {commit[:12]}"
    notes = []
    if changed:
        origin += " as it is on disk"
        notes.append(f"{len(changed)} uncommitted change(s) are part of the test: "
                     f"{', '.join(changed[:3])}{' ...' if changed[3:] else ''}")
    new = theirs("ls-files", "--others", "--exclude-standard", "--", "mm", "include",
                 f":!{HOOK}", f":!{HOOK}/**").splitlines()
    if new:
        notes.append(f"untracked files are not part of the test: {', '.join(new[:3])}"
                     f"{' ...' if new[3:] else ''} (git add them)")
    return tree, commit, origin, notes


# In a plain folder, what an earlier build in it may have left behind. Only
# this is left out; .gitignore is no help, some of what it names is source.
ARTEFACTS = tuple(f":(exclude,glob){pattern}" for pattern in (
    "**/*.o", "**/*.a", "**/.*.cmd", "**/*.ko", "**/*.mod", "**/modules.order", "**/*.dtb",
    "vmlinux*", ".config*", ".kunit*/**", "System.map", "Module.symvers", ".tmp_*",
    "include/config/**", "include/generated/**", "arch/*/include/generated/**",
    "arch/*/boot/Image*", "arch/*/boot/bzImage", "tags", "cscope.*"))


def with_hook(repo: Repo, treeish: str, patches: Sequence[Path]) -> str:
    """Return treeish with the patches applied and our hook in it, as a tree object."""
    stage = Repo(repo.path, index="stage-index")
    stage("read-tree", treeish)
    for patch in patches:
        apply_patch(stage, patch)
    kconfig = stage("show", ":mm/Kconfig") + "\n"
    makefile = stage("show", ":mm/Makefile") + "\n"
    stage("rm", "-r", "-q", "-f", "--cached", "--ignore-unmatch", HOOK)
    entries = [f"100644 {stage.blob(hook_kconfig(kconfig).encode())} 0\tmm/Kconfig",
               f"100644 {stage.blob(hook_makefile(makefile).encode())} 0\tmm/Makefile",
               f"120000 {stage.blob(os.fsencode(REPO))} 0\t{HOOK}"]
    stage("update-index", "--index-info", data=("\n".join(entries) + "\n").encode())
    return stage("write-tree")


def hook_kconfig(text: str) -> str:
    """Put our menu at the end of mm/Kconfig's, unless it is there already."""
    if KCONFIG_LINE in text.splitlines():
        return text
    head, end, tail = text.rpartition("endmenu")
    return f"{head}{KCONFIG_LINE}\n\n{end}{tail}" if end else f"{text}\n{KCONFIG_LINE}\n"


def hook_makefile(text: str) -> str:
    """Have mm/Makefile descend into our directory, unless it does already."""
    if re.search(r"^obj-\S+\s*\+=\s*ptebatch/\s*$", text, re.M):
        return text
    return f"{text}{MAKEFILE_LINE}\n"


def apply_patch(stage: Repo, patch: Path) -> None:
    """Apply one patch to the staged tree; raises Trouble naming it if it does not fit."""
    done = stage.run("apply", "--cached", patch)
    if done.returncode == 0:
        return
    if stage.run("apply", "--cached", "--reverse", "--check", patch).returncode == 0:
        raise Trouble(f"{patch.name} is already applied in this tree: leave it out")
    reason = (done.stderr.strip().splitlines() or ["no reason given"])[0].removeprefix("error: ")
    raise Trouble(f"{patch.name} does not apply ({reason}): rebase it, "
                  "or point KDIR= at the tree it was made for")


def check_out(repo: Repo, tree: str, parent: str) -> None:
    """Make repo's files be exactly that tree, touching only those that differ."""
    parents = ["-p", parent] if parent else []
    commit = repo("commit-tree", tree, *parents, "-m", "The kernel under test")
    done = repo.run("read-tree", "--reset", "-u", commit)
    if done.returncode:
        if "No space left" in done.stderr:
            raise Trouble(f"the disk is full at {repo.path}: free some space, or set "
                          "PTEBATCH_CACHE to a folder on a larger disk")
        raise Trouble(f"cannot check out {repo.path}: {done.stderr.strip().splitlines()[-1]}; "
                      "remove that folder and run again")
    repo("update-ref", "HEAD", commit)


def our_commit() -> tuple[str, bool]:
    """This repository's commit, and whether files differ from it."""
    commit = git.ask(REPO, "rev-parse", "HEAD") or "unknown"
    status = git.ask(REPO, "status", "--porcelain", "--untracked-files=normal")
    return commit, bool(status)


def kernel_version(path: Path) -> str:
    """VERSION.PATCHLEVEL.SUBLEVEL out of a tree's Makefile."""
    text = (path / "Makefile").read_text(errors="replace")[:1000]
    numbers = [re.search(rf"^{key} = (.*)$", text, re.M)
               for key in ("VERSION", "PATCHLEVEL", "SUBLEVEL")]
    return ".".join(match.group(1).strip() for match in numbers if match)


def stock_command(tree: Tree, arch: Arch) -> str:
    """The command that runs our suite with nothing but the kernel's own tool."""
    cross = f"--cross_compile={arch.prefix} " if arch.prefix else ""
    return (f"cd {tree.path} && ./tools/testing/kunit/kunit.py run --arch={arch.name} "
            f"{cross}--kunitconfig=mm/ptebatch/.kunitconfig")
