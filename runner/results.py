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

from runner import console, ktap
from runner.judge import Judgement, Leaf, Problem
from runner.ktap import FAIL, SKIP
from runner.paths import TEMP_MARK, remove

# What XML 1.0 cannot hold.
UNPRINTABLE = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@contextlib.contextmanager
def new_folder(final: Path) -> Iterator[Path]:
    """A folder to fill; it becomes final, replacing an older one, only when all went well.

    A result that is there is complete: one that was interrupted never gets its name.
    """
    final.parent.mkdir(parents=True, exist_ok=True)
    making = final.with_name(f"{final.name}{TEMP_MARK}{os.getpid()}")
    for stale in final.parent.glob(f"{final.name}{TEMP_MARK}*"):
        remove(stale)
    making.mkdir()
    try:
        yield making
        remove(final)
        os.rename(making, final)
    finally:
        remove(making)


def write_json(path: Path, data: Any) -> None:
    """Write JSON at once: whoever reads path finds the old or the new, never half."""
    temp = path.with_name(f".{path.name}{TEMP_MARK}{os.getpid()}")
    temp.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n")
    os.replace(temp, path)


def write(folder: Path, result: Judgement) -> None:
    """Write result.json, junit.xml and ktap.txt into a result folder."""
    passed, failed, skipped = result.counts()
    log = folder / "console.log"
    lines = console.parse(log.read_bytes().decode(errors="backslashreplace")) \
        if log.exists() else []
    write_json(folder / "result.json", {
        "verdict": result.verdict,
        "counts": {"passed": passed, "failed": failed, "skipped": skipped},
        **result.facts,
        "banner": console.linux_version(lines),
        "problems": [asdict(problem) for problem in result.problems],
        "cases": [_leaf(leaf) for leaf in result.leaves],
    })
    if lines:
        (folder / "ktap.txt").write_text(ktap.text(lines))
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
