# SPDX-License-Identifier: GPL-2.0
"""The runner: kernel trees, builds, boots, judging and reports.

It never knows what a test means. It keeps everything raw and judges
afterwards from what it kept.
"""
