# SPDX-License-Identifier: GPL-2.0
"""Having kbuild run sparse, and noticing when it does not."""

import re

from runner.errors import Trouble

# kbuild leaves out, with a mere remark, a sparse that does not know
# __typeof_unqual__, and no release does yet. __typeof__ is near enough: it
# keeps qualifiers, of which sparse then may complain on any kernel alike.
CHECK = "CHECK=sparse -D__typeof_unqual__=__typeof__"
LEFT_OUT = re.compile(r"C=\d specified, but .*")


# It says so of every module_param(): to it, sizeof of a string is not constant.
MISTAKEN = ": error: bad constant expression"


def without_mistakes(log: str) -> str:
    """The log without the lines in which sparse errs."""
    return "".join(line for line in log.splitlines(True) if MISTAKEN not in line)


def must_have_run(log: str) -> None:
    """Raise Trouble if a build that should have run sparse says that it did not."""
    remark = LEFT_OUT.search(log)
    if remark:
        raise Trouble(f"sparse did not run ({remark.group(0)}): install one that "
                      "scripts/checker-valid.sh of the kernel accepts")
