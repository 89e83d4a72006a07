# SPDX-License-Identifier: GPL-2.0
"""The command line."""

import argparse
import errno
import math
import sys
from pathlib import Path
from typing import NoReturn

from runner import bench, check, proc, selftests, seriescheck, session, stack, unit
from runner.errors import Stopped, Trouble
from runner.targets import TARGETS
from runner.variants import ARCHES, TEST, TEST_ALL, VARIANTS, pick

SEED_MAX = (1 << 32) - 1
FULL = (errno.ENOSPC, errno.EDQUOT)
REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS)


class _Parser(argparse.ArgumentParser):
    """One line for a mistake, not the usage as well."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"ptebatch: {message}; see {self.prog} --help\n")


def parser() -> argparse.ArgumentParser:
    """The commands and their options."""
    top = _Parser(
        prog="ptebatch", description="Tests for batching of PTE-mapped large folios: "
        "gets a kernel, puts the suite into it, builds, boots and judges it.",
        epilog="Everything but the results of --out is kept in ~/.cache/ptebatch, or in "
        "$PTEBATCH_CACHE. Exit status: 0 only if everything expected ran and was right, 1 if "
        "not, 2 if it could not be tried.")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, what: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=what, description=what)
        return sub

    for name, what in (("run", "build and boot one kernel (arm64 plain by default)"),
                       ("test", "unit tests, then the kernels that must pass"),
                       ("test-all", "the same with every variant, on every architecture")):
        sub = command(name, what)
        _tree_options(sub)
        if name == "run":
            sub.add_argument("--arch", default="arm64", help=", ".join(ARCHES))
            sub.add_argument("--variant", default="plain", help=", ".join(VARIANTS))
        else:
            sub.add_argument("--arch", help=f"only this one of {', '.join(ARCHES)}")
        sub.add_argument("--boots", type=_positive, default=1, metavar="N",
                         help="boot each kernel N times and judge each boot")
        _boot_options(sub)
    sub = command("series", "build, boot and judge every patch of every series in mm-patches/")
    sub.add_argument("names", nargs="*", metavar="SERIES",
                     help="only these; 'combined' is all of them together, in order")
    _kdir_option(sub)
    sub.add_argument("--root", type=Path, metavar="DIR",
                     help="the folder of series, instead of mm-patches")
    sub.add_argument("--arch", action="append", help=f"only this one of {', '.join(ARCHES)}")
    sub.add_argument("--variant", default="plain", help=", ".join(VARIANTS))
    sub.add_argument("--each", action="store_true",
                     help="boot every patch of 'combined' too, not only the last")
    sub.add_argument("--resume", action="store_true",
                     help="take results that are in OUT (or in the last run's folder) already, "
                     "if kernel, suite and configuration are the same")
    _boot_options(sub)
    sub = command("bench", "measure two kernels and compare what a page costs")
    sub.add_argument("base", nargs="?", default="base",
                     help="'base', a series, patch or folder of patches, or several joined by ','")
    sub.add_argument("head", nargs="?", default="", help="the same (default: all series)")
    _kdir_option(sub)
    sub.add_argument("--root", type=Path, metavar="DIR",
                     help="the folder of series, instead of mm-patches")
    sub.add_argument("--arch", action="append", help=f"only this one of {', '.join(ARCHES)}")
    sub.add_argument("--boots", type=_positive, default=2, metavar="N",
                     help="boot each kernel N times (default: 2)")
    _boot_options(sub, seed=False)
    sub = command("compare", "compare what two earlier runs of bench measured")
    sub.add_argument("before", type=Path, metavar="DIR", help="its head, or a side of it")
    sub.add_argument("after", type=Path, metavar="DIR")
    sub = command("series-check", "checkpatch, kernel-doc, sparse and W=1 builds for many "
                  "configurations on every patch of every series: what the base has not is red")
    sub.add_argument("names", nargs="*", metavar="SERIES", help="only these, or 'combined'")
    _kdir_option(sub)
    sub.add_argument("--root", type=Path, metavar="DIR",
                     help="the folder of series, instead of mm-patches")
    sub.add_argument("--target", action="append", default=[], metavar="NAME",
                     help=f"only this one of {', '.join(target.name for target in TARGETS)}")
    sub = command("selftests", "the kernel's own mm selftests on the base and with all series "
                  "(or with --patch): any difference is red")
    _tree_options(sub)
    sub.add_argument("--arch", action="append", help=f"only this one of {', '.join(ARCHES)}")
    sub.add_argument("--out", type=Path, metavar="DIR", help="where results go")
    _patience_option(sub)
    sub = command("kernel", "prepare a kernel tree and print the stock command for it")
    _tree_options(sub)
    sub.add_argument("--arch", default="arm64", help=", ".join(ARCHES))
    sub = command("check", "checkpatch, sparse, W=1 and kernel-doc on kunit/ and lib/")
    _tree_options(sub)
    sub = command("judge", "judge kept results again")
    sub.add_argument("folder", type=Path, metavar="DIR")
    command("unit", "the runner's own unit tests")
    return top


def _boot_options(sub: argparse.ArgumentParser, seed: bool = True) -> None:
    sub.add_argument("--filter", default="", metavar="GLOB",
                     help="only these cases: SUITE or SUITE.CASE, * and ? are wild")
    if seed:
        sub.add_argument("--seed", type=_seed, help="seed for random choices (default: random)")
    sub.add_argument("--out", type=Path, metavar="DIR", help="where results go")
    _patience_option(sub)


def _patience_option(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--patience", type=_factor, default=1.0, metavar="FACTOR",
                     help="stretch the watchdog's limits, for a slow machine")


def _kdir_option(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--kdir", metavar="DIR", help="your own kernel tree (never written to)")


def _tree_options(sub: argparse.ArgumentParser) -> None:
    _kdir_option(sub)
    sub.add_argument("--patch", type=Path, action="append", default=[], metavar="FILE",
                     help="apply this patch, or the *.patch files of this folder, first")


def _number(text: str, least: int, most: int) -> int:
    # So long is none of them, and int() refuses 5000 digits.
    if len(text) > 10 or not text.isdecimal() or not least <= int(text) <= most:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is no number from {least} to {most}")
    return int(text)


def _positive(text: str) -> int:
    return _number(text, 1, 10 ** 6)


def _seed(text: str) -> int:
    # What the kernel's parameter takes; it leaves out any other with a remark.
    return _number(text, 0, SEED_MAX)


def _factor(text: str) -> float:
    try:
        factor = float(text)
    except ValueError:
        factor = 0.0
    if not 0 < factor < math.inf:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is no number above 0")
    return factor


def dispatch(args: argparse.Namespace) -> int:
    """Run one command; returns the exit status."""
    if args.command == "unit":
        return unit.main()
    if args.command == "judge":
        return session.judge_again(args.folder)
    if args.command == "check":
        return check.main(args.kdir, args.patch)
    if args.command == "kernel":
        return session.kernel(args.kdir, args.patch, args.arch)
    if args.command == "compare":
        return bench.compare_again(args.before, args.after)
    if args.command == "bench":
        return bench.run(bench.Options(args.base, args.head, args.kdir, args.arch or list(ARCHES),
                                       args.filter, args.boots, args.out, args.patience,
                                       args.root))
    if args.command == "series":
        return stack.run(stack.Options(args.names, args.kdir, args.arch or list(ARCHES),
                                       args.variant, args.filter, args.seed, args.out,
                                       args.patience, args.resume, args.each, args.root))
    if args.command == "series-check":
        return seriescheck.run(seriescheck.Options(args.names, args.kdir, args.root,
                                                   args.target))
    if args.command == "selftests":
        return selftests.run(selftests.Options(args.kdir, args.patch, args.arch or list(ARCHES),
                                               args.out, args.patience))
    options = session.Options(kdir=args.kdir, patches=args.patch, glob=args.filter,
                              boots=args.boots, seed=args.seed, out=args.out,
                              patience=args.patience, compare=args.command == "run")
    if args.command == "run":
        return session.run(options, [(args.arch, args.variant)], units=False)
    if args.arch:
        pick(args.arch, "plain")
    wanted = [one for one in (TEST if args.command == "test" else TEST_ALL)
              if args.arch in (None, one[0])]
    return session.run(options, wanted, units=True)


def main(argv: list[str] | None = None) -> int:
    """Parse, run, and turn the two expected exceptions into one line each."""
    args = parser().parse_args(argv)
    proc.stop_on_signals()
    try:
        return dispatch(args)
    except Trouble as trouble:
        sys.stdout.flush()
        print(f"ptebatch: {trouble}", file=sys.stderr)
        return 2
    except OSError as error:
        # What copies one file to another names both.
        where = error.filename2 or error.filename or "writing"
        advice = "free some space there" if error.errno in FULL else \
            "change its permissions" if error.errno in REFUSED else "see what is there"
        sys.stdout.flush()
        print(f"ptebatch: {where}: {error.strerror or error}: {advice}, or choose another place "
              "(KDIR, PATCH, OUT or PTEBATCH_CACHE)", file=sys.stderr)
        return 2
    except Stopped as stopped:
        sys.stdout.flush()
        print(f"ptebatch: stopped by {stopped}; nothing half-made was kept", file=sys.stderr)
        return 130
