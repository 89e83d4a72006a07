# SPDX-License-Identifier: GPL-2.0
"""The files of a result folder, for machines: JSON, JUnit XML, KTAP."""

import contextlib
import json
import os
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from runner import compare, console, ktap, parts
from runner.errors import Trouble
from runner.judge import Judgement, Leaf, Problem
from runner.ktap import FAIL, SKIP
from runner.paths import TEMP_MARK, remove

# All that a result folder ever holds.
FILES = frozenset(("run.json", "expected.json", "skips", "demand", "base.json", "config",
                   "build.log", *parts.LOGS, "ktap.txt", "result.json", "junit.xml", "counts.txt", "rows.json",
                   "patches"))
BOOT = re.compile(r"boot-\d+")
HALF_WRITTEN = re.compile(rf"\.(.+){re.escape(TEMP_MARK)}\d+")  # see write_json()

# What XML 1.0 cannot hold.
UNPRINTABLE = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@contextlib.contextmanager
def new_folder(final: Path) -> Iterator[Path]:
    """A folder to fill; it becomes final, replacing an older one, only when all went well.

    A result that is there is complete: one that was interrupted never gets its name.
    """
    check_replaceable(final)
    final.parent.mkdir(parents=True, exist_ok=True)
    _sweep(final)
    making = final.with_name(f"{final.name}{TEMP_MARK}{os.getpid()}")
    try:
        making.mkdir()
    except FileExistsError as error:
        raise Trouble(f"{making} is in the way and holds more than a result: remove it, "
                      "or name another OUT") from error
    try:
        yield making
        discard(final)
        os.rename(making, final)
    finally:
        remove(making)


def check_replaceable(final: Path) -> None:
    """Raise Trouble if there is something at final that is no result of ours."""
    if not final.exists() or (final.is_dir() and (_is_result(final) or _holds_boots(final))):
        return
    raise Trouble(f"{final} is in the way and holds no result (no run.json): remove it, "
                  "or name another OUT")


def discard(final: Path) -> None:
    """Remove the result at final, if there is one; raises Trouble if it is none."""
    check_replaceable(final)
    remove(final)


def _is_result(folder: Path) -> bool:
    return (folder / "run.json").exists() or not any(folder.iterdir())


def _holds_boots(folder: Path) -> bool:
    """Is that what a run with several boots leaves?"""
    return all(entry.is_dir() and (_is_result(entry) if BOOT.fullmatch(entry.name)
                                   else _abandoned(entry, BOOT))
               for entry in folder.iterdir())


def _sweep(final: Path) -> None:
    """Remove what killed runs left half-made of final.

    The folder is the user's, who may have given a like name to something.
    """
    for stale in final.parent.glob(f"{final.name}{TEMP_MARK}*"):
        if _abandoned(stale, re.compile(re.escape(final.name))):
            remove(stale)


def _abandoned(folder: Path, name: re.Pattern[str]) -> bool:
    """Is that a half-made result of that name, and nobody at work on it?"""
    before, mark, pid = folder.name.rpartition(TEMP_MARK)
    return (bool(mark) and name.fullmatch(before) is not None and pid.isdecimal()
            and not _works(int(pid)) and folder.is_dir() and not folder.is_symlink()
            and all(HALF_WRITTEN.sub(r"\1", entry.name) in FILES and not entry.is_dir()
                    for entry in folder.iterdir()))


def _works(pid: int) -> bool:
    """Is there such a process, other than us, who have not begun?"""
    if pid == os.getpid():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    return True


def write_json(path: Path, data: Any) -> None:
    """Write JSON at once: whoever reads path finds the old or the new, never half."""
    temp = path.with_name(f".{path.name}{TEMP_MARK}{os.getpid()}")
    temp.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n")
    os.replace(temp, path)


def write(folder: Path, result: Judgement) -> None:
    """Write result.json, junit.xml and ktap.txt into a result folder."""
    passed, failed, skipped = result.counts()
    consoles = [console.read(folder / boot["log"]) for boot in parts.boots_of(result.facts)]
    write_json(folder / "result.json", {
        "verdict": result.verdict,
        "counts": {"passed": passed, "failed": failed, "skipped": skipped},
        **result.facts,
        "banner": console.linux_version(line for lines in consoles for line in lines),
        "problems": [asdict(problem) for problem in result.problems],
        "notes": result.notes,
        "base": None if result.base is None else {
            "verdict": result.base.verdict,
            "differences": [asdict(one) for one in
                            compare.differences(result.base, result.leaves)]},
        "cases": [_leaf(leaf) for leaf in result.leaves],
    })
    if any(consoles):
        (folder / "ktap.txt").write_text("".join(map(ktap.text, consoles)))
    ET.ElementTree(junit(result)).write(folder / "junit.xml", encoding="utf-8",
                                        xml_declaration=True)


def _leaf(leaf: Leaf) -> dict[str, Any]:
    return {"suite": leaf.suite, "case": leaf.case, "row": leaf.row, "status": leaf.status,
            "judged": leaf.judged, "reason": leaf.reason, "seconds": leaf.seconds,
            "diagnostics": leaf.lines}


def _xml(text: str) -> str:
    return UNPRINTABLE.sub("?", text)


def junit(result: Judgement) -> ET.Element:
    """The result as JUnit XML; a problem of no case's becomes a case of its own."""
    name = f"ptebatch.{result.facts['arch']}.{result.facts['variant']}"
    passed, failed, skipped = result.counts()
    top = ET.Element("testsuites", name=name, tests=str(passed + failed + skipped),
                     failures=str(failed), skipped=str(skipped))
    suites: dict[str, list[Leaf]] = {}
    for leaf in result.leaves:
        suites.setdefault(leaf.suite, []).append(leaf)
    for suite, leaves in suites.items():
        judged = [leaf.judged for leaf in leaves]
        node = ET.SubElement(top, "testsuite", name=f"{name}.{suite}", tests=str(len(leaves)),
                             failures=str(judged.count(FAIL)), skipped=str(judged.count(SKIP)),
                             time=str(result.suites.get(suite) or 0))
        for leaf in leaves:
            case = ET.SubElement(node, "testcase", classname=f"{name}.{suite}",
                                 name=_xml(leaf.case + (f": {leaf.row}" if leaf.row else "")),
                                 time=str(leaf.seconds or 0))
            if leaf.judged == SKIP:
                ET.SubElement(case, "skipped", message=_xml(leaf.reason))
            elif leaf.judged == FAIL:
                _failure(case, [problem for problem in result.problems
                                if problem.where == leaf.name] or [Problem("", "", "not ok")])
    loose = [problem for problem in result.problems if problem.count]
    if loose:
        node = ET.SubElement(top, "testsuite", name=f"{name}.boot", tests=str(len(loose)),
                             failures=str(len(loose)), skipped="0", time="0")
        for problem in loose:
            case = ET.SubElement(node, "testcase", classname=f"{name}.boot", time="0",
                                 name=_xml(f"{problem.kind} {problem.where}".strip()))
            _failure(case, [problem])
    return top


def _failure(case: ET.Element, problems: list[Problem]) -> None:
    node = ET.SubElement(case, "failure", type=problems[0].kind or FAIL,
                         message=_xml("; ".join(f"{problem.kind}: {problem.text}"
                                                for problem in problems)))
    node.text = _xml("\n".join(line for problem in problems for line in problem.lines))
