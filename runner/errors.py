# SPDX-License-Identifier: GPL-2.0
"""The two ways a run ends early."""


class Trouble(Exception):
    """Something the user has to put right.

    The text is one line: what is wrong, then the way out. The command line
    prints it and exits with 2; no other exception is meant for people.
    """


class Stopped(Exception):
    """Ctrl-C, SIGTERM or SIGHUP arrived (its name is the text); whatever was half-made must go."""
