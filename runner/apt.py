# SPDX-License-Identifier: GPL-2.0
"""Fetching one Debian package through an apt state of our own.

The machine's own apt is neither changed nor asked for anything but the place
of the Debian archive it already uses.
"""

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from runner import proc
from runner.errors import Trouble

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
RELEASES = re.compile(r"^(bullseye|bookworm|trixie|forky|duke|stable|testing|unstable|sid|"
                      r"oldstable)(-updates|-backports)?/?$")


@dataclass(frozen=True)
class Source:
    """One archive out of apt's sources."""

    uri: str
    suites: tuple[str, ...]
    components: tuple[str, ...]
    signed_by: str = ""

    def is_debian(self) -> bool:
        """Is it the main Debian archive, not security, not somebody else's?

        Somebody else's that looks like it does no harm: apt checks the signature.
        """
        return ("main" in self.components and "security" not in self.uri
                and any(RELEASES.match(suite) for suite in self.suites)
                and self.signed_by in ("", str(KEYRING)))


def _one_line(text: str) -> Iterator[Source]:
    """Parse the sources.list format."""
    for line in text.splitlines():
        match = re.match(r"\s*deb\s+(?:\[([^]]*)\]\s*)?(\S+)\s+(\S+)\s*([^#]*)", line)
        if match:
            options, uri, suite, components = match.groups()
            signed = re.search(r"signed-by=(\S+)", options or "", re.I)
            yield Source(uri, (suite,), tuple(components.split()),
                         signed.group(1) if signed else "")


def _deb822(text: str) -> Iterator[Source]:
    """Parse the .sources format."""
    # Comments may stand inside a stanza; they do not end it.
    text = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    for stanza in re.split(r"\n\s*\n", text):
        fields = {key.lower(): " ".join(value.split()) for key, value in
                  re.findall(r"^([\w-]+):((?:[^\n]*)(?:\n[ \t][^\n]*)*)", stanza, re.M)}
        if fields.get("enabled", "yes").lower() in ("no", "false") or \
                "deb" not in fields.get("types", "").split():
            continue
        for uri in fields.get("uris", "").split():
            yield Source(uri, tuple(fields.get("suites", "").split()),
                         tuple(fields.get("components", "").split()), fields.get("signed-by", ""))


def debian_uris(etc: Path = Path("/etc/apt")) -> list[str]:
    """List where this machine gets Debian from, best guess first.

    Raises Trouble if its apt sources name no Debian archive.
    """
    found: list[Source] = []
    parts = etc / "sources.list.d"
    for path in [etc / "sources.list", *sorted(parts.glob("*.list")),
                 *sorted(parts.glob("*.sources"))]:
        try:
            text = path.read_text(errors="replace")
        except OSError:
            continue
        found += _deb822(text) if path.suffix == ".sources" else _one_line(text)
    debian = [source for source in found if source.is_debian()]
    debian.sort(key=lambda source: not source.uri.rstrip("/").endswith("/debian"))
    if not debian:
        raise Trouble(f"no Debian archive in {etc}: point KDIR= at a kernel tree instead")
    return list(dict.fromkeys(source.uri for source in debian))


def download(package: str, uri: str, suite: str, state: Path, log: Path,
             architecture: str = "") -> Path | None:
    """Fetch package's newest version in that suite, checked by apt, into state.

    architecture is Debian's name for one, if not the machine's own; state is
    a folder of ours that may be thrown away afterwards. Returns the file, or
    None with the reason in log.
    """
    for folder in ("lists/partial", "cache/archives/partial", "etc"):
        (state / folder).mkdir(parents=True, exist_ok=True)
    listing = state / "etc" / "sources.list"
    listing.write_text(f"deb [signed-by={KEYRING}] {uri} {suite} main\n")
    # apt cannot drop privileges for a folder only we may write to.
    options = {"Dir::Etc::SourceList": listing, "Dir::Etc::SourceParts": "/dev/null",
               "Dir::State::Lists": state / "lists", "Dir::Cache": state / "cache",
               "Acquire::Languages": "none", "APT::Sandbox::User": "root"}
    if architecture:
        # No status file: what is installed here is of another architecture.
        options |= {"APT::Architecture": architecture, "APT::Architectures": architecture,
                    "Dir::State::Status": "/dev/null"}
    apt = ["apt-get", "-q", *(f"-o{key}={value}" for key, value in options.items())]
    env = dict(os.environ, LC_ALL="C")
    for command in (["update", "--error-on=any"], ["download", package]):
        if proc.run_logged([*apt, *command], log, cwd=state, env=env):
            return None
    return next(state.glob(f"{package}_*.deb"), None)


def downloads(package: str, suites: Sequence[str], state: Path, log: Path,
              architecture: str = "") -> Iterator[Path]:
    """Each file that download() gets, by suite in that order and then by mirror.

    Lazy: whoever has a good one stops asking. The rest is as for download().
    """
    for suite in suites:
        for uri in debian_uris():
            deb = download(package, uri, suite, state, log, architecture)
            if deb:
                yield deb


def tool_present() -> bool:
    """Is this a machine with apt?"""
    return shutil.which("apt-get") is not None and shutil.which("dpkg-deb") is not None
